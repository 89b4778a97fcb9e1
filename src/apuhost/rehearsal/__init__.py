"""The rehearsal: a throw-away Debian 13 VM on which the whole way is tried before a real host.

Built from Debian packages, booted by real UEFI firmware and its own GRUB, reached over the system's
ssh as an unprivileged user with sudo. Nothing is imported here: the inventory needs only `state`.
"""
