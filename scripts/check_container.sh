#!/usr/bin/env bash
# Runs the image as it is meant to run: not root, its root read-only, no network. Needs root and buildah.
#
#     scripts/check_container.sh [IMAGE]
#
# It checks `cinnabar doctor`, an extraction of the samples, and an answer of `cinnabar serve`, and prints what each took.
# BUILDAH names the program with its options; the image is `cinnabar` of this version, built by scripts/container.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
read -ra buildah <<<"${BUILDAH:-buildah}"
image=${1:-cinnabar:$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)}
samples=$PWD/data/samples

container=$("${buildah[@]}" from --pull-never "$image")
root=$("${buildah[@]}" mount "$container")
place=$(mktemp -d)
trap '"${buildah[@]}" rm "$container" >/dev/null; rm -rf "$place"' EXIT
mkdir -p "$place/data" "$place/samples"
chown 10001:10001 "$place/data"
"${buildah[@]}" inspect --type image --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$image" | grep . >"$place/env"
[ "$("${buildah[@]}" inspect --type image --format '{{.OCIv1.Config.User}}' "$image")" = 10001:10001 ]
size=$(du --summarize --apparent-size --block-size=1M --one-file-system "$root" | cut -f1)
echo "check-container: $image: $size MB, $(find "$root/opt/cinnabar/lib" -name '*.dist-info' | wc -l) packages"
# What the build was told about places of packages is not in the image.
if find "$root" -xdev \( -name pip.conf -o -path '*/run/secrets/*' -o -path "$root/opt/*" -prune ! -name cinnabar \) | grep .; then
    echo "check-container: the image keeps something of its build" >&2
    exit 1
fi
[ "$(stat -c %u "$root/data")" = 10001 ]

inside() {  # COMMAND, in new namespaces of mounts, processes and network
    # shellcheck disable=SC2016
    unshare --mount --pid --net --ipc --uts --fork bash -euc '
        root=$1 place=$2 samples=$3; shift 3
        ip link set lo up 2>/dev/null || true
        mount --bind "$root" "$root"
        mkdir -p "$root/documents"
        mount --bind "$place/data" "$root/data"
        mount --bind -o ro "$samples" "$root/documents"
        mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -o remount,bind,ro "$root"
        mapfile -t variables <"$place/env"
        exec setpriv --no-new-privs chroot --userspec=10001:10001 "$root" \
            /usr/bin/env -i "${variables[@]}" sh -euc "cd /data; $*"
    ' inside "$root" "$place" "$samples" "$@"
}

timed() {  # NAME COMMAND
    local began=$SECONDS
    inside "$2"
    echo "check-container: $1: ok, $((SECONDS - began)) s"
}

timed 'not root, read-only, no network' '
    [ "$(id -u)" = 10001 ]
    if touch "$(dirname "$(command -v cinnabar)")/x" 2>/dev/null || touch /x 2>/dev/null; then echo "the root can be written" >&2; exit 1; fi
    python -c "import socket
try: socket.create_connection((\"192.0.2.1\", 443), 2)
except OSError as error: print(\"no network:\", error)
else: raise SystemExit(1)"'
timed 'cinnabar doctor' 'cinnabar doctor'
for schema in "$samples"/*/schema.json; do
    name=$(basename "$(dirname "$schema")")
    timed "cinnabar extract of $name" \
        "cinnabar extract /documents/$name/docs --schema /documents/$name/schema.json --out tables-$name --quiet
         cinnabar status --out tables-$name | grep -E 'documents|records|quarantine'"
done
timed 'cinnabar serve' '
    echo a-key >key
    cinnabar serve --host 0.0.0.0 --port 8000 --api-key-file key & server=$!
    python - <<PYTHON
import json, time
from urllib.request import Request, urlopen
for _ in range(120):
    try: urlopen("http://127.0.0.1:8000/health"); break
    except OSError: time.sleep(1)
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
asked = {"messages": [{"role": "user", "content": "The meeting is in Hamburg. Which city?"}],
         "response_format": {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}}
headers = {"Content-Type": "application/json", "Authorization": "Bearer a-key"}
models = json.load(urlopen(Request("http://127.0.0.1:8000/v1/models", headers=headers)))
asked["model"] = models["data"][0]["id"]
answer = json.load(urlopen(Request("http://127.0.0.1:8000/v1/chat/completions", json.dumps(asked).encode(), headers)))
print("answered:", answer["choices"][0]["message"]["content"])
PYTHON
    kill $server; wait $server'
