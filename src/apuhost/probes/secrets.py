"""What hides secrets: in sh text, so that they do not leave the host, and in text that did."""

import re

HIDDEN = "***"

# `password USER WORD` and `password_pbkdf2 USER HASH` of a grub.cfg, wherever on a line.
_PASSWORD = re.compile(r"(\bpassword(?:_pbkdf2)?[ \t]+)([^\n]*)", re.ASCII)
# What comes after :// (JSON may write :\/\/) or a proxy's name, up to a blank or a quote: Go takes
# USER:PASSWORD@HOST without a scheme for a proxy, too.
_SCHEME = r":(?:\\?/){2}"
_PLACE = re.compile(
    rf"""((?i:proxy)["']?[ \t]*[=:\x20\t][ \t]*["']?(?:[A-Za-z0-9+.-]*{_SCHEME})?|{_SCHEME})"""
    r"""((?:[^\s"\\]|\\.)*+)""",
    re.ASCII,
)
# A log driver's own, in daemon.json: splunk-token and its like.
_MEMBER = re.compile(r'("[\w.-]*(?i:token|password|secret)"\s*:\s*")((?:[^"\\\n]|\\.)*+)', re.ASCII)


def hide_userinfo(head: str) -> str:
    """Return a `sed -E` command that hides the login in the URL which follows `head` in a line.

    A password may hold any character, so all up to the last @ goes; Go takes USER:PASSWORD@HOST
    without a scheme for a proxy too.

    Args:
        head: a regular expression without groups and without `~`.
    """
    return f"s~^({head})([A-Za-z][A-Za-z0-9+.-]*://)?.*@~\\1\\2{HIDDEN}@~"


def without_boot_passwords(text: str) -> str:
    """The text with GRUB's passwords made unreadable, in as many bytes as before: frames count."""
    return _PASSWORD.sub(_without_value, text)


def without_logins(text: str) -> str:
    """The text with logins in URLs and tokens in JSON unreadable, in as many bytes as before."""
    return _MEMBER.sub(_without_value, _PLACE.sub(_without_login, text))


def _without_value(found: re.Match[str]) -> str:
    return f"{found[1]}{_crossed_out(found[2])}"


def _without_login(found: re.Match[str]) -> str:
    login, at, place = found[2].rpartition("@")
    return f"{found[1]}{_crossed_out(login)}{at}{place}"


def _crossed_out(secret: str) -> str:
    """As many bytes; what the host has hidden already stays as it is."""
    size = len(secret.encode("utf-8", "surrogateescape"))
    return secret if secret == HIDDEN else "x" * size
