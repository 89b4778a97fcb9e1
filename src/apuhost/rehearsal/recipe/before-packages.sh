#!/bin/sh
# mmdebstrap essential hook: what must be there BEFORE the kernel is unpacked. $1 is the tree.
set -eu
tree=$1 initramfs=/usr/share/initramfs-tools

# A VM has virtio and ext4 only: a small initramfs is built in seconds, also under emulation, and is
# read quickly by GRUB. amdgpu and ttm stay on the disk, as on a real host.
mkdir -p "$tree/etc/initramfs-tools/conf.d" "$tree/etc/initramfs-tools/hooks"
cat > "$tree/etc/initramfs-tools/conf.d/rehearsal" <<'END'
MODULES=list
COMPRESS=zstd
COMPRESSLEVEL=1
END
printf '%s\n' virtio_pci virtio_blk virtio_net ext4 > "$tree/etc/initramfs-tools/modules"

# Finding each library of each program takes most of the time (40 s of 55 s under emulation): udev
# and the rest are left to the system, blkid finds the disk. Not executable is left out.
for script in hooks/dmsetup hooks/fsck hooks/keymap hooks/resume hooks/thermal hooks/udev \
    scripts/init-top/udev scripts/init-bottom/udev; do
    chroot "$tree" dpkg-statoverride --add root root 0644 "$initramfs/$script"
done
cat > "$tree/etc/initramfs-tools/hooks/blkid" <<'END'
#!/bin/sh
test "$1" = prereqs && exit
. /usr/share/initramfs-tools/hook-functions
copy_exec /usr/sbin/blkid
END
chmod 0755 "$tree/etc/initramfs-tools/hooks/blkid"

cat > "$tree/etc/fstab" <<'END'
LABEL=rootfs / ext4 errors=remount-ro 0 1
LABEL=ESP /boot/efi vfat umask=0077,noauto,x-systemd.automount 0 0
END
