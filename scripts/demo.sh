#!/bin/sh
# Extracts every sample set with its schema of the library into demo/, from nothing each time.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

rm -rf demo
began=$(date +%s)
echo "demo: 54 documents of five kinds; the first table takes some seconds, all of them about a minute"
for kind in receipt invoice insurance_mail contract event; do
    folder=data/samples/$kind/docs
    echo
    echo "$kind: cinnabar extract $folder --schema $kind --out demo --model reader"
    cinnabar extract "$folder" --schema "$kind" --out demo --model reader
done

unsorted=$(cinnabar sql "select string_agg(split_part(path, '/', -1), ', ' order by path) as mails
    from insurance_mail where intent is null" --out demo --json | sed -n 's/^\[{"mails": "\(.*\)"}\]$/\1/p')
echo
echo "Mails that nobody could sort (their intent is null): ${unsorted:-none}"
echo
echo "What could not be read, and why: cinnabar sql \"select path, code, detail from quarantine\" --out demo"
cinnabar sql "select path, code, detail from quarantine" --out demo
echo
echo "demo: all tables in $(($(date +%s) - began)) s. They are in demo/: cinnabar.duckdb has a view for each kind, data/ the Parquet files behind them."
echo "Ask them anything: .venv/bin/cinnabar sql \"select path, number, gross_total from invoice\" --out demo"
