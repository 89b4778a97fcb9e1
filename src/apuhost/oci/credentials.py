"""Logins as `docker login` writes them: the "auths" of docker's config.json.

What a program keeps for docker (credsStore, credHelpers) is not read: it would have to be run.
"""

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apuhost import places
from apuhost.oci import RegistryError
from apuhost.oci.reference import HUB, registry


@dataclass(frozen=True)
class Credentials:
    """Logins of one file, by registry; none of them is ever shown.

    Attributes:
        path: the file.
        basic: USER:PASSWORD in base64, as the header Authorization takes it.
        elsewhere: who keeps a registry's login in the file's place; "" stands for all others.
    """

    path: Path
    basic: Mapping[str, str] = field(default_factory=dict, repr=False)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def hint(self, host: str) -> str:
        """What to do about a registry that refuses."""
        if host in self.basic:
            return f"is the name right? its login in {self.path} is refused, or may not read this"
        keeper = self.elsewhere.get(host) or self.elsewhere.get("")
        login = f"docker login{'' if host == HUB else f' {host}'}"
        if keeper:
            return (
                f"is the name right? logins kept by {keeper} are not supported: take that out of"
                f" {self.path}, then {login}"
            )
        return f"is the name right? if it is private: {login} ({self.path} has none)"


def read(path: Path | None = None) -> Credentials:
    """Read docker's file, $DOCKER_CONFIG/config.json or ~/.docker/config.json; it may be missing.

    Raises:
        RegistryError: it cannot be read, or is of another form.
    """
    path = (
        path or Path(os.environ.get("DOCKER_CONFIG") or places.home() / ".docker") / "config.json"
    )
    try:
        return _parse(path, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return Credentials(path)
    except OSError as error:
        raise RegistryError(
            f"{path}: {error.strerror}: the logins of registries are there"
        ) from error
    except (ValueError, TypeError, AttributeError):
        # The error's own words may hold what the file holds.
        raise RegistryError(
            f"{path}: not docker's config.json: repair it, or log in anew"
        ) from None


def _parse(path: Path, content: Any) -> Credentials:  # noqa: ANN401
    auths: Mapping[str, Mapping[str, str]] = content.get("auths") or {}
    stored = {_host(key): basic for key, auth in auths.items() if (basic := _basic(auth))}
    tokens = {
        _host(key): 'an "identitytoken"' for key, auth in auths.items() if auth.get("identitytoken")
    }
    helpers = {
        _host(key): f"credHelpers ({name})"
        for key, name in (content.get("credHelpers") or {}).items()
    }
    store = content.get("credsStore")
    everything = {"": f"credsStore ({store})"} if store else {}
    return Credentials(path, stored, {**everything, **helpers, **tokens})


def _basic(auth: Mapping[str, str]) -> str:
    """The login of one entry, "" for an entry that has none (docker leaves such)."""
    if auth.get("identitytoken"):
        return ""
    if given := auth.get("auth"):
        # docker itself pads the password with NUL (cli/config/configfile).
        login = base64.b64decode(given, validate=True).rstrip(b"\0")
    else:
        login = f"{auth.get('username', '')}:{auth.get('password', '')}".encode()
    name, colon, _ = login.partition(b":")
    if not colon:
        raise binascii.Error("no colon")
    return base64.b64encode(login).decode() if name else ""


def _host(key: str) -> str:
    """The registry that an entry is for: older ones are URLs, Docker Hub's still is."""
    return registry(key.rpartition("://")[2].partition("/")[0])
