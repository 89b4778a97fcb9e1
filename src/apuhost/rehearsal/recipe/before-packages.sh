#!/bin/sh
# mmdebstrap essential hook: what must be there BEFORE the kernel is unpacked. $1 is the tree.
set -eu
tree=$1

# A VM has virtio and ext4 only: a small initramfs is built in seconds, also under emulation, and is
# read quickly by GRUB. amdgpu and ttm stay on the disk, as on a real host.
mkdir -p "$tree/etc/initramfs-tools/conf.d"
cat > "$tree/etc/initramfs-tools/conf.d/rehearsal" <<'END'
MODULES=list
COMPRESS=zstd
COMPRESSLEVEL=1
END
printf '%s\n' virtio_pci virtio_blk virtio_net ext4 > "$tree/etc/initramfs-tools/modules"

# Before the initramfs is made, so that it brings fsck along.
cat > "$tree/etc/fstab" <<'END'
LABEL=rootfs / ext4 errors=remount-ro 0 1
LABEL=ESP /boot/efi vfat umask=0077,noauto,x-systemd.automount 0 0
END
