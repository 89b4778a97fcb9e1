"""Site-wide settings: what every host in this folder shares. A host's own value wins."""

# Log in as this user's own account and become root by sudo (NOPASSWD, or _sudo_password).
_sudo = True

# A host whose key is not in known_hosts is not talked to.
ssh_strict_host_key_checking = "yes"
