#!/bin/sh
# Runs the petstore command with the passwords from files. They become parts of URLs: make them hexadecimal or percent-encoded.
set -eu
database_password=$(cat /run/secrets/database-password)
redis_password=$(cat /run/secrets/redis-password)
export DATABASE_URL="postgres://petstore:$database_password@pgbouncer:6432/petstore?pool=10"
export RATE_LIMIT_URL="redis://:$redis_password@redis:6379/0"
exec node dist/src/main.js "$@"
