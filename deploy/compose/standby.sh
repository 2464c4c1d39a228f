#!/bin/sh
# Copies the primary if there is nothing here yet, and follows it.
set -eu
umask 077
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(cat "${REPLICATION_PASSWORD_FILE:-/run/secrets/replication-password}")
  # In a folder of its own, so that half a copy is never taken for a whole one.
  copy="$PGDATA/copy"
  find "$PGDATA" -mindepth 1 -delete
  until
    rm -rf "$copy"
    pg_basebackup --pgdata="$copy" --write-recovery-conf --wal-method=stream --checkpoint=fast --slot=db_2 \
      --dbname="host=$PRIMARY port=${PRIMARY_PORT:-5432} user=replicator password=$password application_name=db_2"
  do sleep 1; done
  # What says that there is something comes last.
  for entry in "$copy"/*; do
    [ "${entry##*/}" = PG_VERSION ] || mv "$entry" "$PGDATA/"
  done
  mv "$copy/PG_VERSION" "$PGDATA/"
  rmdir "$copy"
fi
chmod 700 "$PGDATA"
# The copy has the primary's wish for a standby, which nobody would meet once this one is promoted.
exec postgres -c synchronous_standby_names= "$@"
