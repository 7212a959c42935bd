#!/usr/bin/env bash
# Builds the image `cinnabar` from this checkout, with podman, docker or buildah.
#
#     scripts/container.sh [--build-arg TORCH=cuda --build-arg BASE=python:3.11-bookworm] [-t NAME]
#
# BUILDER names the program. Reads pip's own settings, as setup.sh does: the build gets them as a secret, with the files
# and folders that they name (not with docker), and nothing of them stays in the image.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra builder <<<"${BUILDER:-}"
for name in podman docker buildah; do
    if [ ${#builder[@]} -eq 0 ] && command -v "$name" >/dev/null; then builder=("$name"); fi
done
if [ ${#builder[@]} -eq 0 ]; then
    echo "container: expected podman, docker or buildah, found none; install one, or name it: BUILDER=…" >&2
    exit 2
fi

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
settings=$(mktemp)
trap 'rm -f "$settings"' EXIT
mapfile -t mounts < <("${PYTHON:-python3}" - "$settings" <<'PYTHON'
import ast, pathlib, subprocess, sys
from urllib.parse import urlsplit

kept = {"index-url", "extra-index-url", "find-links", "trusted-host", "cert", "proxy", "timeout", "default-timeout"}
listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
found = {}
for line in listed.stdout.splitlines():
    name, _, value = line.partition("=")
    name = name.split(".", 1)[-1]
    if name in kept:
        found[name] = ast.literal_eval(value).split()
lines = [f"{name} = {' '.join(words)}\n" for name, words in found.items()]
pathlib.Path(sys.argv[1]).write_text("[global]\n" + "".join(lines))
places = [urlsplit(word) for words in found.values() for word in words]
named = {pathlib.Path(place.path) for place in places if place.scheme in ("", "file")}
print("\n".join(f"--volume={path}:{path}:ro" for path in sorted(named) if path.is_absolute() and path.exists()))
PYTHON
)
if [ "${builder[0]##*/}" = docker ] || [ -z "${mounts[*]}" ]; then mounts=(); fi

"${builder[@]}" build --file Containerfile --secret "id=pip,src=$settings" "${mounts[@]}" -t "cinnabar:$version" "$@" .
