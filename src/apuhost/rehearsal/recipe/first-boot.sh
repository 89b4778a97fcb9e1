#!/bin/sh
# Runs once, as PID 1 (init=), while the base image is built: the boot loader can only be installed
# where the disk is a real block device. The last word is said only when all of it worked.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
set -eu
if [ "$0" != /run/first-boot ]; then # not from the disk, which is to be left clean and read-only
    mv "$0" /run/first-boot
    exec sh /run/first-boot
fi
trap 'sync; echo o > /proc/sysrq-trigger; sleep 60' EXIT
# The initramfs has no udev. update-grub names the root file system by UUID only where udev does.
mount -t devtmpfs devtmpfs /dev
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger --settle --subsystem-match=block
mount LABEL=ESP /boot/efi
grub-install --target=x86_64-efi --efi-directory=/boot/efi --removable --no-nvram
update-grub
grub-script-check /boot/grub/grub.cfg
umount /boot/efi
mount -o remount,ro /
echo apuhost-first-boot-complete
