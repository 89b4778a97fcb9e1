#!/bin/sh
# mmdebstrap customize hook: the guest's own settings. $1 is the tree.
set -eu
tree=$1 user=operator recipe=$(dirname "$0")

echo rehearsal > "$tree/etc/hostname"
printf '127.0.0.1 localhost rehearsal\n::1 localhost\n' > "$tree/etc/hosts"
mkdir -p "$tree/boot/efi"

# Network: one DHCP card. No wait-online: nothing here needs it, and it costs seconds of every boot.
cat > "$tree/etc/systemd/network/eth0.network" <<'END'
[Match]
Name=eth0
[Network]
DHCP=ipv4
LinkLocalAddressing=no
IPv6AcceptRA=no
END
# networkd asks for Wi-Fi, which would load a module, and wait for amdgpu's (see its unit). Drivers
# that udev finds for QEMU's devices and processor, and nothing here uses, take as long together.
{
    echo 'alias net-pf-16-proto-16-family-nl80211 off'
    printf 'blacklist %s\n' kvm_amd kvm_intel powernow_k8 acpi_cpufreq iTCO_wdt lpc_ich i2c_i801 \
        psmouse serio_raw pcspkr aesni_intel ghash_clmulni_intel sha1_ssse3 sha256_ssse3 \
        sha512_ssse3 crc32_pclmul crct10dif_pclmul
} > "$tree/usr/lib/modprobe.d/rehearsal.conf"
rm -f "$tree/etc/resolv.conf"
echo nameserver 10.0.2.3 > "$tree/etc/resolv.conf" # QEMU's own resolver

# /etc/default/grub stays as Debian ships it, but for the console, the clock (qemu.py) and the wait.
sed -i -e 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=0/' \
    -e 's/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="console=ttyS0 net.ifnames=0 tsc=unstable"/' "$tree/etc/default/grub"

# A VM has no GPU whose presence would load a driver: its render node is vgem's, its Vulkan device
# the shim's; amdgpu's parameters shall be readable all the same.
cp "$recipe/gpu-stand-in.service" "$tree/etc/systemd/system/"
install -m 0755 "$recipe/vulkaninfo" "$tree/usr/local/bin/"
chroot "$tree" systemctl --quiet enable gpu-stand-in.service systemd-networkd.service

# The group `operator` is Debian's own (base-passwd).
chroot "$tree" useradd --create-home --shell /bin/bash --gid operator "$user"
echo "$user ALL=(ALL:ALL) NOPASSWD: ALL" > "$tree/etc/sudoers.d/$user"
chmod 0440 "$tree/etc/sudoers.d/$user"

# Each authority costs update-ca-certificates a fifth of a second under emulation, and a deploy runs
# it for the site's own: one that the world trusts is left, to be kept.
sed -i '/^mozilla\/ISRG_Root_X1/!s/^mozilla/!&/' "$tree/etc/ca-certificates.conf"
chroot "$tree" update-ca-certificates --fresh > /dev/null

# Keys are made for each machine. Penalties off: all of a test run's logins come from one address.
rm -f "$tree"/etc/ssh/ssh_host_*
cat > "$tree/etc/ssh/sshd_config.d/rehearsal.conf" <<'END'
HostKey /etc/ssh/ssh_host_ed25519_key
PasswordAuthentication no
PermitRootLogin no
PerSourcePenalties no
END

# Work of a long-lived host that would only disturb a short-lived one and its timings; then units
# and generators of which this guest uses nothing: under emulation each costs half a second a boot.
chroot "$tree" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
    e2scrub_all.timer e2scrub_reap.service fstrim.timer \
    systemd-networkd-wait-online.service systemd-networkd-persistent-storage.service \
    systemd-network-generator.service systemd-udev-load-credentials.service systemd-pstore.service \
    systemd-random-seed.service sshd-keygen.service getty@tty1.service \
    sys-kernel-debug.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
    modprobe@configfs.service modprobe@efi_pstore.service modprobe@fuse.service
mkdir -p "$tree/etc/systemd/system-generators"
for generator in ssh gpt-auto hibernate-resume tpm2 rc-local sysv system-update; do
    ln -s /dev/null "$tree/etc/systemd/system-generators/systemd-$generator-generator"
done

: > "$tree/etc/machine-id" # empty: each machine makes its own
install -m 0755 "$recipe/first-boot.sh" "$tree/usr/local/sbin/first-boot"
touch "$tree/etc/.updated" "$tree/var/.updated" # newer than /usr: no hwdb or catalog work at boot
