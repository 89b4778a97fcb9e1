#!/bin/sh
# mmdebstrap customize hook: apt as the guest finds it. $1 is the tree; the other words are packages
# to download, which a deploy will install. Runs this machine's apt on the tree.
set -eu
tree=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
shift
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
apt() { apt-get -q -y --no-install-recommends "$@"; }

# The GPU shim calls itself phoenix only from Mesa 26 on, and Mesa and shim must be of one version:
# exactly Mesa comes from backports, which otherwise stay as shy as Debian makes them (priority 100).
cat > "$tree/etc/apt/preferences.d/mesa" <<'END'
Package: src:mesa
Pin: release n=trixie-backports
Pin-Priority: 600
END

# Only the library, outside dpkg's view: the guest is a bare Debian, where a deploy installs Mesa.
shim=$(mktemp -d)
trap 'rm -r "$shim"' EXIT
chmod 0755 "$shim" # apt downloads as _apt
(cd "$shim" && apt download mesa-drm-shim && dpkg-deb -x mesa-drm-shim_*.deb .)
install -m 0644 "$shim/usr/lib/x86_64-linux-gnu/libamdgpu_noop_drm_shim.so" "$tree/usr/local/lib/"

apt clean # what is installed already
apt --download-only install "$@"

# A bare Debian as its installer leaves it, with main alone; and backports for Mesa.
sources="$tree/etc/apt/sources.list"
main=$(sed -n 's/^deb \[[^]]*\] \(.*[^/]\)\/* trixie main.*/deb \1\/ trixie main/p' "$sources")
backports=$(grep -- -backports "$sources")
echo "$main" > "$sources"
echo "$backports" > "$tree/etc/apt/sources.list.d/backports.list"
rm -f "$tree"/var/lib/apt/lists/*non-free* "$tree"/var/cache/apt/*.bin

# The lists stay, in the newer form that the guest's own apt makes of them.
unset APT_CONFIG
chroot "$tree" apt-cache gencaches
