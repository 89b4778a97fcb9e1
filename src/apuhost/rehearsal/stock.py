"""What the registries hold: the stand-in's models, and its image, known by digests from then on."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from apuhost.rehearsal import process
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import MODEL, REGISTRY_HOST, Machine

_STANDIN = Path(__file__).parent / "standin"
_PUSH_SECONDS = 300
_ASK_SECONDS = 30
_MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


def write_models(folder: Path) -> str:
    """Write the stand-in's models into an empty store; give the digest of the one to deploy.

    Raises:
        RehearsalError: the stand-in did not write it.
    """
    written = subprocess.run(
        [sys.executable, str(_STANDIN), "model", str(folder)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = (line.split(maxsplit=1) for line in written.stdout.splitlines())
    digests = {line[1]: line[0] for line in lines if len(line) > 1}
    name = MODEL.rpartition("/")[2]
    if written.returncode or name not in digests:
        raise RehearsalError(f"the stand-in's models: {written.stderr.strip()[-300:]}")
    return digests[name]


def push(layout: Path, machine: Machine, name: str, tag: str) -> str:
    """Bring an OCI layout's one image into the registry of images, and name it as the guest pulls.

    Raises:
        RehearsalError: the layout holds no image or more than one, or skopeo failed.
    """
    digest = layout_digest(layout)
    if not _holds(machine, name, digest):
        command = push_command(layout, machine, name, tag)
        process.run(command, log=push_log(machine), seconds=_PUSH_SECONDS)
    return f"{REGISTRY_HOST}:{machine.images_port}/{name}:{tag}@{digest}"


def push_command(layout: Path, machine: Machine, name: str, tag: str) -> list[str]:
    """The manifest's own bytes go over, so that the digest is the layout's."""
    return [
        *process.ENDS_WITH_US, "skopeo", "copy", "--preserve-digests",
        "--dest-cert-dir", str(machine.ca.parent),
        f"oci:{layout}", f"docker://127.0.0.1:{machine.images_port}/{name}:{tag}",
    ]  # fmt: skip


def push_log(machine: Machine) -> Path:
    """What skopeo said."""
    return machine.directory / "push.log"


def layout_digest(layout: Path) -> str:
    """The digest of the one image in an OCI layout.

    Raises:
        RehearsalError: it has none, or more than one.
    """
    index = layout / "index.json"
    try:
        (image,) = json.loads(index.read_bytes())["manifests"]
        return str(image["digest"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RehearsalError(f"{index}: one image expected ({error})") from error


def _holds(machine: Machine, name: str, digest: str) -> bool:
    url = f"https://127.0.0.1:{machine.images_port}/v2/{name}/manifests/{digest}"
    request = urllib.request.Request(
        url, method="HEAD", headers={"Accept": ", ".join(_MANIFEST_TYPES)}
    )
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=machine.ca)),
    )
    try:
        with opener.open(request, timeout=_ASK_SECONDS):
            return True
    except urllib.error.HTTPError:
        return False
    except OSError as error:
        raise RehearsalError(f"the registry of images: {error}") from error
