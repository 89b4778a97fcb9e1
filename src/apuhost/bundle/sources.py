"""Where a target's packages come from: sources in the deb822 form of sources.list(5).

Each names the key that signs it; an operator may bring a text of his own (Ubuntu's, Docker's).
"""

import re
from dataclasses import dataclass

from apuhost import debian
from apuhost.bundle.item import BundleError
from apuhost.lockfile import Target

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
COMPONENTS = "main non-free-firmware"

_UNSIGNED = re.compile(
    r"^(Trusted|Allow-(?:Insecure|Weak|Downgrade-To-Insecure))\s*:(?!\s*no\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_LOGIN = re.compile(r"://[^/\s@]*@")


@dataclass(frozen=True)
class Sources:
    """Where apt finds packages, and which it takes where several have one.

    Attributes:
        text: in the deb822 form; "" for those of the target's own archives.
        preferences: as apt_preferences(5) has them; "" for apt's own.
    """

    text: str = ""
    preferences: str = ""


def of_target(target: Target) -> str:
    """Debian's archives as this machine's apt sources name them: release, updates, security.

    Raises:
        BundleError: the target is no Debian.
        NoMirrorError: this machine's apt sources name no Debian.
    """
    if target.distribution != "debian":
        raise BundleError(
            f"{target.distribution} {target.suite}: its package sources are not known here: give"
            " them as a file in the form of sources.list.d/*.sources, each with Signed-By"
        )
    mirror, security = debian.debian_mirror(), debian.security_mirror()
    suite = target.suite
    return "\n".join(
        f"Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: {COMPONENTS}\n"
        f"Signed-By: {KEYRING}\n"
        for uri, suites in ((mirror, f"{suite} {suite}-updates"), (security, f"{suite}-security"))
    )


def checked(text: str) -> str:
    """The text, if apt verifies everything that comes from it, and no address has a login.

    Raises:
        BundleError: a field switches that off, or a login would come into the lock.
    """
    if found := _UNSIGNED.search(text):
        raise BundleError(
            f"package sources: {found[1]} switches off that signatures are checked: take it out,"
            " and name the key by Signed-By"
        )
    if _LOGIN.search(text):
        raise BundleError("package sources: an address has a login, which a lock would tell")
    return text
