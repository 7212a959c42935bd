#!/bin/sh
# Builds what a release holds into dist/: wheel, source distribution, the pages as a site, and the skill for agents.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
python=$PWD/.venv/bin/python
place=build/release
rm -rf "$place" dist
mkdir -p "$place" dist
# From a copy, so that no folder of an earlier build gets into it.
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$place"
"$python" -m pip install --quiet --disable-pip-version-check -c constraints.txt 'build>=1.3,<2' -e '.[docs]'
"$python" -m build --outdir dist "$place"
"$python" scripts/agent_pages.py "$place/docs" dist
(cd "$place" && "$python" -m mkdocs build --quiet --strict --site-dir site && tar --create --gzip --file "../../dist/cinnabar-docs-$version.tar.gz" site)
ls -l dist
