#!/bin/sh
# Run by the image of PostgreSQL when it has made the database, and only then.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$(cat "${REPLICATION_PASSWORD_FILE:-/run/secrets/replication-password}")" \
  --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'END'
CREATE ROLE replicator WITH REPLICATION LOGIN PASSWORD :'password';
SELECT pg_create_physical_replication_slot('db_2', true);
-- Behind this size the standby must be made anew; before it, nothing that the standby lacks is thrown away.
ALTER SYSTEM SET max_slot_wal_keep_size = '4GB';
-- In force from the restart that follows: given on the command line, the making of the database would wait for a standby already.
ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (db_2)';
END
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
