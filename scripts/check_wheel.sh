#!/usr/bin/env bash
# Builds the wheel, installs it without extras into new environments, and runs the first example of docs/index.md in each.
#
#     scripts/check_wheel.sh [newest] [lowest]
#
# newest: the releases of constraints.txt. lowest: the lowest Python and the lowest releases that pyproject.toml allows
# (scripts/lowest_versions.py). PYTHON and LOWEST_PYTHON name the interpreters, WHEEL_CHECK a folder for all of it
# (build/wheel_check), TORCH another range of PyTorch for the lowest. Reads pip's own settings, as setup.sh does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
place=${WHEEL_CHECK:-$here/build/wheel_check}
least=$(sed -n 's/^requires-python = ">=\([0-9.]*\)"$/\1/p' pyproject.toml)
# A wheel is made from a copy, so that no folder of an earlier build gets into it.
rm -rf "$place"
mkdir -p "$place/source"
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$place/source"
"${PYTHON:-python$least}" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$place" "$place/source"
wheel=$(ls "$place"/*.whl)
echo "wheel-check: $(basename "$wheel"), $(($(stat -c %s "$wheel") / 1000000)) MB"

check() {  # NAME PYTHON CONSTRAINTS
    local began=$SECONDS env="$place/$1"
    "$2" -m venv "$env"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --constraint "$3" "$wheel"
    "$env/bin/python" -m pip check --disable-pip-version-check
    local packages size
    # Without pip, which is not ours.
    packages=$("$env/bin/python" -m pip list --disable-pip-version-check --format=freeze --exclude pip | wc -l)
    size=$(du --apparent-size --block-size=1000000 --summarize --exclude=pip --exclude='*.pyc' "$env" | cut -f1)
    echo "wheel-check: $1: $("$env/bin/python" --version), $packages packages, $size MB, installed in $((SECONDS - began)) s"
    mkdir "$place/$1-example"
    # -I and another folder: the wheel is tried, not the checkout.
    # Models that were fetched on this machine are none of its business.
    XDG_DATA_HOME="$place/$1-data" PATH="$env/bin:$PATH" "$env/bin/python" -I "$here/scripts/first_example.py" "$place/$1-example"
    echo "wheel-check: $1: the first example of docs/index.md runs, $((SECONDS - began)) s in all"
}

for name in ${@:-newest lowest}; do
    case $name in
    newest) check newest "${PYTHON:-python$least}" constraints.txt ;;
    lowest)
        "${LOWEST_PYTHON:-python$least}" scripts/lowest_versions.py >"$place/lowest.txt"
        if [ -n "${TORCH:-}" ]; then echo "$TORCH" >>"$place/lowest.txt"; fi
        check lowest "${LOWEST_PYTHON:-python$least}" "$place/lowest.txt"
        ;;
    *) echo "wheel-check: expected newest or lowest, got $name" >&2; exit 2 ;;
    esac
done
