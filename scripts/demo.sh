#!/bin/sh
# Extracts every sample set with its schema of the library into demo/, from nothing each time.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

rm -rf demo
began=$(date +%s)
# Receipts, few and short, give the first table.
set -- receipt
for folder in data/samples/*/docs; do
    kind=$(basename "$(dirname "$folder")")
    [ "$kind" = receipt ] || set -- "$@" "$kind"
done
documents=$(find data/samples/*/docs -type f | wc -l)
echo "demo: $documents documents of $# kinds; the first table takes some seconds, all of them about a minute"
# The commands run in one process, since Python and PyTorch take two seconds to start.
python -c '
import sys

from cinnabar.apps.cli.main import run

for kind in sys.argv[1:]:
    command = f"extract data/samples/{kind}/docs --schema {kind} --out demo --model reader"
    print(f"\n{kind}: cinnabar {command}", flush=True)
    if status := run(command.split()):
        sys.exit(status)
' "$@"

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
