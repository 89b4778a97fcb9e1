"""The script that takes a model's files from the mirror into Ollama's store."""

import shlex

from apuhost.changes.scripts import LOCK

# A script that fails takes the offer's folder, its $1, with it.
CLEAN = """folder=$1
trap '[ "$?" = 0 ] || rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM"""

# $1 folder of the offer, $2 what the blobs' addresses begin with, $3 the store's folder, $4 where
# its manifest goes; lines of digest and size are standard input.
#
# The server runs on: it reads manifests and blobs anew for each request. When it starts, it removes
# blobs that no manifest names: those older than an hour, and what has another name (Ollama's
# server/images.go). So all is loaded beside the models, on their disk, and moved to them together,
# the manifest last.
#
# The container is root there, and can put a link or a device in the place of anything at any time,
# also between a look and a write. So all of it is done in a mount that this script alone sees, in
# which the kernel follows no link and opens no device (mount(8), nosymfollow: Linux 5.10). A disk
# that begins below the store is a mount of its own there, too.
#
# apt's downloader compares the digest as the bytes pass, and takes up a file that has the time of
# the mirror's: where it was killed it could not set that, so its own log tells it. A mirror that is
# at work for others (503) is asked until it is not. Says how far it is every ten seconds.
_APART = f"""set -e
{CLEAN}
{LOCK}
offer=$1 from=$2 view=/run/apuhost/store loading=
trap '[ "$?" = 0 ] || rm -rf "$offer"; [ -z "$loading" ] || kill "$loading" 2>/dev/null' EXIT
mkdir -p "$view"
mount --rbind -- "$3" "$view"
open() {{
  awk -v at="$view" '($5 == at || index($5, at "/") == 1) && $6 !~ /nosymfollow/ {{ print $5 }}' \
    /proc/self/mountinfo
}}
open | while read -r place; do
  mount -o remount,bind,nosymfollow,nodev,nosuid,noexec -- "$place" || exit 1
done
[ -z "$(open)" ] || {{
  echo "links in $3 would be followed, which Linux 5.10 can prevent: not touched" >&2; exit 1; }}
store=$view/models stage=$view/apuhost-fetch manifest=$view${{4#"$3"}}
for place in "$store" "$store/blobs" "$(dirname "$manifest")"; do
  [ "$(readlink -m "$place")" = "$place" ] ||
    {{ echo "$3${{place#"$view"}} leads elsewhere: not touched" >&2; exit 1; }}
done
leading=$(find "$stage" -type l 2>/dev/null | head -n 1)
[ -z "$leading" ] || {{ echo "$3${{leading#"$view"}} leads elsewhere: not touched" >&2; exit 1; }}
mkdir -p "$store/blobs" "$stage"; chmod 0700 "$stage"
owner=$(stat -c %u:%g "$store")
cat >"$offer/blobs"
all=$(awk '{{ all += $2 }} END {{ print all }}' "$offer/blobs") had=0 slept=0
right() {{ [ "$(stat -c %s "$1" 2>/dev/null)" = "$3" ] && echo "$2  $1" | sha256sum -c --status; }}
far() {{
  slept=$((slept + 1)); [ $((slept % 10)) = 0 ] || return 0
  have=$((had + $(stat -c %s "$stage/$1" 2>/dev/null || echo 0)))
  awk -v have="$have" -v all="$all" 'BEGIN {{ printf "%.1f of %.1f GB\\n", have / 1e9, all / 1e9 }}'
}}
load() {{ # $1 digest
  part=$stage/$1
  time=$(sed -n 's/^ *Last-Modified: //p' "$part.said" 2>/dev/null | tail -n 1)
  [ ! -e "$part" ] || touch -d "$time" "$part"
  /usr/lib/apt/apt-helper -q -o APT::Sandbox::User=root -o Acquire::http::SendAccept=false \\
    -o Debug::Acquire::https=true -o Debug::Acquire::http=true \\
    download-file "$from$1" "$part" "SHA256:$1" >>"$part.said" 2>&1 &
  loading=$!
  while kill -0 "$loading" 2>/dev/null; do sleep 1; far "$1"; done
  wait "$loading" || {{ loading=; return 1; }}
  loading=
}}
fetch() {{ # $1 digest; a mirror that is at work for others is asked until it is not
  left=5
  until load "$1"; do
    rm -f "$stage/$1.FAILED"
    if tail -n 3 "$stage/$1.said" | grep -q ' 503 '; then wait=20
    else left=$((left - 1)) wait=5
    fi
    [ "$left" != 0 ] || {{ grep -v '^ *$' "$stage/$1.said" | tail -n 3 >&2; exit 1; }}
    while [ "$wait" -gt 0 ]; do sleep 1; far "$1"; wait=$((wait - 1)); done
  done
}}
while read -r digest size; do
  right "$store/blobs/sha256-$digest" "$digest" "$size" || fetch "$digest"
  had=$((had + size))
done <"$offer/blobs"
while read -r digest size; do
  [ -e "$stage/$digest" ] || continue
  chown "$owner" "$stage/$digest"; chmod 0644 "$stage/$digest"; touch "$stage/$digest"
  sync "$stage/$digest"; mv -T "$stage/$digest" "$store/blobs/sha256-$digest"
done <"$offer/blobs"
sync "$store/blobs"
place=$(dirname "$manifest"); mkdir -p "$place"
cp "$offer/manifest" "$stage/manifest"; chown "$owner" "$stage/manifest"
sync "$stage/manifest"; mv -T "$stage/manifest" "$manifest"; sync "$place"
while [ "$place" != "$store" ]; do chown "$owner" "$place"; place=$(dirname "$place"); done
rm -rf "$stage"
"""

FETCH = f'exec unshare --mount -- sh -c {shlex.quote(_APART)} apuhost "$@"'
