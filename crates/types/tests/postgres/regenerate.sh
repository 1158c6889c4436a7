#!/bin/sh
# Asks PostgreSQL 15 for what is expected, which is kept in the files beside this one. New inputs
# are lines with their first columns. Connection as psql's variables say (PGHOST, PGPORT, ...);
# the database should have the collation C. Fails if answers are not as they were.
set -eu
cd "$(dirname "$0")"
psql -X -v ON_ERROR_STOP=1 -f regenerate.sql
git diff --exit-code -- .
