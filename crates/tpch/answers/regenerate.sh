#!/usr/bin/env bash
# Writes scale-0.01.txt from PostgreSQL's answers. The arguments are those of psql for a PostgreSQL 15 that has the
# tables, which `weft-bench tpch --scale 0.01 --repeats 1 --keep --server NAME=CONNECTION` leaves there.
set -euo pipefail
cd "$(dirname "$0")"

for number in $(seq 1 22); do
  echo "query $number"
  # Query 11 has the scale in its text: see `text` in src/queries.rs.
  sed 's/{fraction}/0.01/' "../src/queries/$(printf '%02d' "$number").sql" |
    psql -X -A -t -F '|' -P 'null=\N' "$@" -f -
done >scale-0.01.txt
