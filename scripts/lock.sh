#!/bin/sh
# Writes requirements.lock: the release of each package that `dev` takes on Linux x86-64 with Python 3.11, and the hashes
# of its files. It names no index: uv, which it needs on the path, reads its own settings (UV_DEFAULT_INDEX …).
#
#     scripts/lock.sh
#     python -m pip install --no-deps --require-hashes -r requirements.lock
#     python -m pip install -c constraints.txt -e '.[dev]'    # adds PyTorch and what it alone needs
#
# PyTorch is left out: its wheels for processors and for each version of CUDA have different hashes under one release, and
# which of them is wanted is a choice of the machine.
set -eu
cd "$(dirname "$0")/.."
without=$(mktemp)
trap 'rm -f "$without"' EXIT
echo "torch; python_version < '0'" >"$without"
uv pip compile --quiet pyproject.toml --extra dev --generate-hashes --no-emit-index-url --no-annotate \
    --custom-compile-command scripts/lock.sh --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
    --constraints constraints.txt --override "$without" --output-file requirements.lock
