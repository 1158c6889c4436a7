#!/bin/sh
# Has PostgreSQL 15 answer the cases of all files here again: the left sides stay, what is behind
# ` => ` is replaced. Afterwards `git diff` shows what was not PostgreSQL's answer.
#
# usage: regenerate.sh [psql options, such as -h 127.0.0.1 -p 5432 -U postgres]
set -eu
cd "$(dirname "$0")"
# The database's collation must be C.UTF-8: under C, letters beyond ASCII have no case.
for file in *.txt; do
    sed 's/ => .*$//' "$file" >"$file.cases"
    {
        cat answer.sql
        echo 'create temporary table cases (number serial, line text);'
        # Quote and delimiter are bytes that no case has.
        printf '\\copy cases (line) from %s with (format csv, delimiter E'"'"'\\x01'"'"', quote E'"'"'\\x02'"'"', null E'"'"'\\x03'"'"')\n' "'$file.cases'"
        echo 'select pg_temp.answer(line) from cases order by number;'
    } | psql -X -q -A -t -v ON_ERROR_STOP=1 "$@" >"$file.answers"
    mv "$file.answers" "$file"
    rm "$file.cases"
done
