#!/bin/sh
# PgBouncer in front of one PostgreSQL, in transaction mode: however many instances there are, the server has 20 connections at most.
set -eu
umask 077
folder=$(mktemp -d)
password=$(cat "${DATABASE_PASSWORD_FILE:-/run/secrets/database-password}")
echo "\"petstore\" \"$password\"" > "$folder/users"
cat > "$folder/pgbouncer.ini" <<END
[databases]
petstore = host=$SERVER port=${SERVER_PORT:-5432}
[pgbouncer]
listen_addr = *
listen_port = ${PORT:-6432}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users
pool_mode = transaction
default_pool_size = 20
max_client_conn = 1000
; As soon as a server is back it is used again; 15 seconds otherwise.
server_login_retry = 1
END
exec pgbouncer "$folder/pgbouncer.ini"
