#!/bin/sh
# Makes .venv once, and again when pyproject.toml, constraints.txt, setup.py or the folder's path changes.
#
#     PYTHON=python3.12 scripts/setup.sh
#
# Reads pip's own settings (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS …) and names no index itself.
set -eu
cd "$(dirname "$0")/.."

stamp=.venv/.cinnabar-setup
wanted="$(cat pyproject.toml constraints.txt setup.py scripts/setup.sh | cksum) $(pwd)"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && [ -e src/cinnabar/engine ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

fits() { command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
python=
for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    if fits "$name"; then python=$name; break; fi
done
if [ -z "$python" ]; then
    echo "setup: expected Python 3.11 or newer with its venv module as ${PYTHON:-python3.11 or python3}," \
         "found none; install one, or name it: make setup PYTHON=…" >&2
    exit 2
fi

# The scripts of an environment hold its path, so a moved one is made anew.
if [ -f "$stamp" ] && ! grep -qF " $(pwd)" "$stamp"; then rm -rf .venv; fi
if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv
fi

echo "setup: installing into .venv; this takes some minutes the first time" >&2
install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" -e '.[dev]'; }
if ! install -c constraints.txt; then
    echo "setup: the tested releases are not to be had here; trying the ranges of pyproject.toml" >&2
    install
fi
echo "$wanted" >"$stamp"
