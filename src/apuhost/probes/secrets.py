"""What hides secrets in sh text, before anything is printed: nothing secret leaves the host."""

HIDDEN = "***"


def hide_userinfo(head: str) -> str:
    """Return a `sed -E` command that hides the login in the URL which follows `head` in a line.

    A password may hold any character, so all up to the last @ goes; Go takes USER:PASSWORD@HOST
    without a scheme for a proxy too.

    Args:
        head: a regular expression without groups and without `~`.
    """
    return f"s~^({head})([A-Za-z][A-Za-z0-9+.-]*://)?.*@~\\1\\2{HIDDEN}@~"
