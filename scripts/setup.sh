#!/bin/sh
# Makes .venv: with `demo` for that target alone, else with all extras and the tools for tests. What is there is kept.
# Either is done once, and again when pyproject.toml, constraints.txt, setup.py or the folder's path changes.
#
#     PYTHON=python3.12 scripts/setup.sh [demo]
#
# Reads pip's own settings (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS …) and names no index itself. A call that
# was cut off says what is missing, and the next one goes on: what was installed stays.
set -eu
cd "$(dirname "$0")/.."

part=${1:-all}
wanted="$(cat pyproject.toml constraints.txt setup.py scripts/setup.sh | cksum) $(pwd)"
stamp() { cat ".venv/.cinnabar-$1" 2>/dev/null; }
if [ "$(stamp all)" = "$wanted" ] || { [ "$part" = demo ] && [ "$(stamp demo)" = "$wanted" ]; }; then
    if [ -e src/cinnabar/engine ] && .venv/bin/python -c '' 2>/dev/null; then exit 0; fi
fi

say() { echo "setup: $*" >&2; }
fits() { command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
python=
for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    if fits "$name"; then python=$name; break; fi
done
if [ -z "$python" ]; then
    say "expected Python 3.11 or newer with its venv module as ${PYTHON:-python3.11 or python3}," \
        "found none; install one, or name it: make setup PYTHON=…"
    exit 2
fi

# Shows of pip's words the big downloads and what fails; all of them are in .venv/setup.log.
pip() {
    status=$({
        { PYTHONUNBUFFERED=1 .venv/bin/python -m pip --disable-pip-version-check "$@" 2>&1 && echo 0 >&3 || echo $? >&3; } |
            tee .venv/setup.log |
            grep --line-buffered -E '^ *Downloading .*\(([0-9]{2,}\.[0-9]+ M|[0-9.]+ G)B\)|^WARNING: Retrying \(Retry\(total=4|^ERROR|^error' >&2
    } 3>&1) || :
    return "$status"
}
said() { grep -qsE "$1" .venv/setup.log; }
away='Retry\(total=0|problem confirming the ssl|from versions: none'
give_up() {
    if said "No space left"; then
        say "the disk is full: for the demo 1.5 GB are needed, with all extras 4 GB, and several more for PyTorch with CUDA;" \
            "free here: $(df -h . | awk 'END { print $(NF-2) }')"
    elif said "$away"; then
        say "the package index is out of reach, or lacks a package: see the network, a proxy, or pip's settings" \
            "(\`$python -m pip config list\`)"
    fi
    say "cut off; what was installed stays, and the next call goes on from there (what pip said: .venv/setup.log)"
    exit 1
}
trap give_up INT TERM

began=$(date +%s)
# Pip unpacks 4 GB here rather than in a small /tmp, where a call that was killed would leave them.
export TMPDIR="$PWD/.venv/tmp"
# The scripts of an environment hold its path, so a moved one is made anew; so is one whose pip was cut off.
case "$(stamp demo || stamp all)" in "" | *" $(pwd)") moved= ;; *) moved=yes ;; esac
if [ -n "$moved" ] || [ -e .venv/.cinnabar-begun ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    mkdir .venv
    : >.venv/.cinnabar-begun
    "$python" -m venv .venv
    mkdir "$TMPDIR"
    # The pip of Python 3.11 takes twice as long as a new one.
    pip install --upgrade -c constraints.txt pip setuptools || give_up
    rm .venv/.cinnabar-begun
fi

rm -rf "$TMPDIR"
mkdir "$TMPDIR"
# A package is whole once pip has written who installed it; pip takes one that was cut off for whole.
for package in .venv/lib/python*/site-packages/*.dist-info; do
    [ -e "$package/INSTALLER" ] || rm -rf "$package"
done
case $part in
demo) needs='.[ocr]' size="1.5 GB: half a minute" ;;
*) needs='.[dev]' size="4 GB: a minute" ;;
esac
say "installing into .venv ($size of work, beside downloads)"
# Modules are compiled when they are first imported, which are one in ten.
install() { pip install --no-compile "$@" -e "$needs"; }
if ! install -c constraints.txt; then
    # An index may lack the releases of constraints.txt. If it is out of reach, another try gains nothing.
    if said "$away" || ! said "ResolutionImpossible|from versions"; then give_up; fi
    say "the tested releases are not to be had here; trying the ranges of pyproject.toml"
    install || give_up
fi
rm -rf "$TMPDIR"
echo "$wanted" >".venv/.cinnabar-$part"
say "done in $(($(date +%s) - began)) s"
