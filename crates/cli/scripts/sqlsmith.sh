#!/usr/bin/env bash
# SQLsmith's random queries, sent to `weft serve` over its sample database.
#
#   crates/cli/scripts/sqlsmith.sh [PATH/TO/weft]
#
# SQLsmith reads the schema from the server and prints queries; psql sends them, so that each error is
# counted by its SQLSTATE. What is not supported in so many of them that little would be left is taken
# out: TABLESAMPLE, and the schema of functions whose names the grammar knows. The run fails if the server
# ends, or answers a query with an internal error (XX000), which is then shown with it. Settings, with their
# defaults:
#
#   QUERIES=10000 SEED=1 SECONDS_MAX=3600 TIME_LIMIT=1s
#
# Needs sqlsmith and psql (apt install sqlsmith postgresql-client).
set -euo pipefail

weft=$(realpath "${1:-target/release/weft}")
queries=${QUERIES:-10000} seed=${SEED:-1} seconds=${SECONDS_MAX:-3600} time_limit=${TIME_LIMIT:-1s}
[ -x "$weft" ] || { echo "there is no $weft: cargo build --release, or name the program"; exit 2; }
for program in sqlsmith psql; do
    command -v $program >/dev/null || { echo "$program is missing: apt install sqlsmith postgresql-client"; exit 2; }
done

directory=$(mktemp -d)
"$weft" serve --data-dir "$directory/data" --listen 127.0.0.1:0 --sample >"$directory/server.log" 2>&1 &
server=$!
trap 'kill -INT $server 2>/dev/null || true; wait; rm -rf "$directory"' EXIT
until grep -q '^listening on' "$directory/server.log"; do
    kill -0 $server 2>/dev/null || { cat "$directory/server.log"; exit 1; }
    sleep 0.2
done
port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$directory/server.log" | head -n 1)
target="host=127.0.0.1 port=$port dbname=weft user=weft"

sqlsmith --target="$target" --dry-run --seed="$seed" --max-queries="$queries" |
    sed -E -e 's/tablesample (system|bernoulli) \([0-9.]+\)//' \
        -e 's/pg_catalog\.([a-z_0-9]+)\(/\1(/g' -e 's/(current|session)_user\(\)/\1_user/g' \
        >"$directory/queries.sql"
{
    printf '\\set VERBOSITY verbose\n\\set ECHO errors\n\\o /dev/null\n'
    printf "set search_path = shop, public; set statement_timeout = '%s';\n" "$time_limit"
    cat "$directory/queries.sql"
} >"$directory/script.sql"

status=0
timeout "$seconds" psql -X -q -f "$directory/script.sql" "$target" >"$directory/answers" 2>&1 || status=$?
[ "$status" = 124 ] && echo "stopped after $seconds seconds"

echo "errors by SQLSTATE, of $queries queries:"
sed -n 's/.*ERROR:  \([0-9A-Z]\{5\}\): .*/\1/p' "$directory/answers" | sort | uniq -c | sort -rn
echo "the most common of what is refused:"
sed -n 's/.*ERROR:  \(0A000\|42601\|42704\|42883\): //p' "$directory/answers" | sort | uniq -c | sort -rn | head -n 15
failed=0
if [ "$status" != 0 ] && [ "$status" != 124 ]; then
    echo "psql ended with status $status:"
    tail -n 5 "$directory/answers"
    failed=1
fi
if ! [ -s "$directory/queries.sql" ]; then
    echo "SQLsmith has made no queries"
    failed=1
fi
if grep -A 40 'ERROR:  XX000' "$directory/answers" | head -n 200; then
    echo "internal errors: $(grep -c 'ERROR:  XX000' "$directory/answers")"
    failed=1
fi
if ! psql -X -q -At -c 'select 1' "$target" >/dev/null; then
    echo "the server is gone:"
    tail -n 20 "$directory/server.log"
    failed=1
fi
exit $failed
