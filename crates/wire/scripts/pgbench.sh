#!/usr/bin/env bash
# The installed pgbench, unpatched, against `weft serve` and PostgreSQL in turns.
#
#   crates/wire/scripts/pgbench.sh [PATH/TO/weft]
#
# Both servers are durable and get directories of their own, removed afterwards. For each run:
# transactions per second, average latency, and the processor time that the server took for a
# transaction; at the end the medians, and Weft's share. Settings, with their defaults:
#
#   SCALE=50 CLIENTS=16 JOBS=2 SECONDS_EACH=5 REPEATS=5 WORKERS=1 POSTGRES=/usr/lib/postgresql/15/bin
#
# Needs pgbench, psql, PostgreSQL's programs, and, for root, the account `postgres`.
set -euo pipefail

weft=$(realpath "${1:-target/release/weft}")
scale=${SCALE:-50} clients=${CLIENTS:-16} jobs=${JOBS:-2}
seconds=${SECONDS_EACH:-5} repeats=${REPEATS:-5} workers=${WORKERS:-1}
programs=${POSTGRES:-/usr/lib/postgresql/15/bin}
[ -x "$weft" ] || { echo "there is no $weft: cargo build --release, or name the program"; exit 2; }
command -v pgbench >/dev/null || { echo "pgbench is missing: apt install postgresql"; exit 2; }

directory=$(mktemp -d)
chmod 755 "$directory"
as_postgres=()
if [ "$(id -u)" = 0 ]; then
    as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
    install -d -o postgres "$directory/postgres"
else
    install -d "$directory/postgres"
fi
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
weft_port=$(free_port) postgres_port=$(free_port)

"$weft" serve --data-dir "$directory/weft" --listen "127.0.0.1:$weft_port" --workers "$workers" \
    >"$directory/weft.log" 2>&1 &
weft_pid=$!
"${as_postgres[@]}" "$programs/initdb" -U postgres -A trust -E UTF8 --locale=C \
    -D "$directory/postgres/data" >/dev/null
"${as_postgres[@]}" "$programs/postgres" -D "$directory/postgres/data" -c port="$postgres_port" \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=on -c synchronous_commit=on \
    -c full_page_writes=on -c shared_buffers=4GB -c max_wal_size=8GB -c max_connections=300 \
    >"$directory/postgres.log" 2>&1 &
postgres_pid=$!
trap 'kill -INT $weft_pid $postgres_pid 2>/dev/null; wait; rm -rf "$directory"' EXIT

weft_at=(-h 127.0.0.1 -p "$weft_port" -U weft)
postgres_at=(-h 127.0.0.1 -p "$postgres_port" -U postgres)
until psql -q "${weft_at[@]}" -c 'select 1' weft >/dev/null 2>&1 &&
    psql -q "${postgres_at[@]}" -c 'select 1' postgres >/dev/null 2>&1; do sleep 0.2; done
pgbench -q -i -s "$scale" "${weft_at[@]}" weft 2>&1 | tail -n 1 >&2
pgbench -q -i -s "$scale" "${postgres_at[@]}" postgres 2>&1 | tail -n 1 >&2

# Hundredths of a second that a process, its children and those of them that have ended took.
taken() {
    cat "/proc/$1/stat" $(pgrep -P "$1" | sed 's|.*|/proc/&/stat|') 2>/dev/null |
        awk -v of="$1" '{ sum += $14 + $15; if ($1 == of) sum += $16 + $17 } END { print sum }'
}

run() { # server, pid, database, what, arguments of pgbench
    local server=$1 pid=$2 database=$3 what=$4 before out after
    shift 4
    local -n at="${server}_at"
    before=$(taken "$pid")
    out=$(pgbench -n -c "$clients" -j "$jobs" -T "$seconds" "$@" "${at[@]}" "$database" 2>&1)
    sleep 0.3
    after=$(taken "$pid")
    awk -v what="$what" -v server="$server" -v ticks=$((after - before)) '
        /actually processed/ { split($NF, part, "/"); count = part[1] }
        /^latency average/ { latency = $4 }
        /^tps/ { tps = $3 }
        END { printf "%s,%s,%.0f,%.3f,%.1f\n", what, server, tps, latency, ticks * 1e4 / count }' <<<"$out"
}

results=$directory/results.csv
echo "workload,server,tps,latency_ms,server_cpu_us" | tee "$results"
for repeat in $(seq "$repeats"); do
    servers=("weft $weft_pid weft" "postgres $postgres_pid postgres")
    [ $((repeat % 2)) = 0 ] && servers=("${servers[1]}" "${servers[0]}")
    for workload in "select-only prepared|-S -M prepared" "tpcb prepared|-M prepared" "tpcb simple|-M simple"; do
        for server in "${servers[@]}"; do
            # shellcheck disable=SC2086
            run $server "${workload%|*}" ${workload#*|} | tee -a "$results"
        done
    done
    for server in "${servers[@]}"; do
        echo 'select 1' >"$directory/one.sql"
        # shellcheck disable=SC2086
        clients=1 jobs=1 run $server "select 1" -M prepared -f "$directory/one.sql" | tee -a "$results"
    done
done
python3 - "$results" <<'PYTHON'
import csv, statistics, sys
runs = list(csv.DictReader(open(sys.argv[1])))
print("\nmedians: tps, latency in ms, server's processor time in us; and ratios in Weft's favour")
for workload in dict.fromkeys(run["workload"] for run in runs):
    of = lambda server, what: statistics.median(
        float(run[what]) for run in runs if run["workload"] == workload and run["server"] == server)
    whats = "tps", "latency_ms", "server_cpu_us"
    weft, postgres = ([of(server, what) for what in whats] for server in ("weft", "postgres"))
    print(f"{workload:22} weft {weft}  postgres {postgres}  "
          f"tps {weft[0] / postgres[0]:.2f}  latency {weft[1] / postgres[1]:.2f}  cpu {postgres[2] / weft[2]:.2f}")
PYTHON
