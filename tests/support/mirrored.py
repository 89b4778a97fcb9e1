"""A host of a site with a mirror: what its bundle's lock holds, and what its probes print then."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apuhost import lockfile
from apuhost.changes import supply
from apuhost.derived import Derived, derive
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Blob, Deb, Image, Lock, Model, Target
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, LOCK, NEWEST, SOURCE
from tests.support import stack
from tests.support.hosts import host_facts, settings
from tests.support.stack import framed

ADDRESS = "192.0.2.1"
REGISTRY = f"{ADDRESS}:5000"
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
IMAGE = f"docker.io/ollama/ollama:0.34.4@{stack.IMAGE_DIGEST}"
CREATED = "2026-11-01T09:00:00+00:00"
PACKAGES = (
    "ca-certificates", "docker-cli", "docker-compose", "docker.io", "firmware-amd-graphics",
    "mesa-vulkan-drivers", "vulkan-tools",
)  # fmt: skip


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def lock(**changed: Any) -> Lock:  # noqa: ANN401
    """Of the reference host's packages, image and model."""
    debs = (
        Deb(name, "1", "amd64", f"https://deb.example/{name}", Blob(digest(name), 1), digest("r"))
        for name in PACKAGES
    )
    one = Blob(digest("x"), 1)
    found = Lock(
        5, CREATED, "0.1.0", Target("debian", "trixie", "amd64", "3.13"),
        images=(Image(IMAGE, "application/x", (one,), one, (one,)),),
        debs=tuple(debs),
        models=(model(),),
    )  # fmt: skip
    return replace(found, **changed)


def model() -> Model:
    """The reference model as its registry gave it."""
    text = json.loads(stack.QWEN.pulled)
    layers = tuple(Blob(each["digest"], each["size"]) for each in (*text["layers"], text["config"]))
    return Model(stack.QWEN.name, Blob(f"sha256:{stack.sha256(stack.QWEN.pulled)}", 1), layers)


def files(found: Lock | None = None, newest: str = "") -> dict[str, str]:
    """What the install of a bundle puts on a host, and the highest serial that was there."""
    texts = {CERTIFICATE: CA, APT_KEY: "key\n", LOCK: lockfile.as_text(found or lock())}
    return {**texts, NEWEST: newest} if newest else texts


def asked(facts: HostFacts, **data: object) -> Derived:
    """The reference inventory with the mirror."""
    return derive(settings(**{"mirror_address": ADDRESS, **data}), facts)


def client(parts: Mapping[str, str] | None = None, /, **found: Any) -> HostFacts:  # noqa: ANN401
    """A host that knows the mirror; `parts` are the files that the probe of the mirror reads."""
    return host_facts(mirror=framed(parts or files()), **found)


def supplied(parts: Mapping[str, str] | None = None, /, **found: Any) -> HostFacts:  # noqa: ANN401
    """The same after the deploy wrote what leads to the mirror."""
    bare = client(parts, **found)
    written = {each.path: each.after for each in supply.files(asked(bare), bare)}
    docker = {path: text for path, text in written.items() if path.startswith("/etc/docker/")}
    reading = bare.readings
    source = framed({SOURCE: written[SOURCE]})
    conf = framed({supply.APT_CONF: written[supply.APT_CONF]})
    changed: dict[str, Any] = {
        "mirror": framed({**(parts or files()), **docker}),
        "apt_sources": reading["apt_sources"].text + source,
        "units": reading["units"].text + conf,
        "mirror_answers": answers(),
        **found,
    }
    return host_facts(**changed)


TLS = f"tls {ADDRESS}::CAInfo {CERTIFICATE}\ntls {ADDRESS}::Verify-Peer true\n"


def answers(image: str = "there", version: str = "1", tls: str = TLS) -> str:
    """What apt and Docker answer of it."""
    source = f"source https://{ADDRESS}:8443/apt trixie/main amd64 Packages\n"
    candidates = "".join(f"candidate {name} {version}\n" for name in PACKAGES)
    name = f"{REGISTRY}/docker.io/ollama/ollama@{stack.IMAGE_DIGEST}"
    return f"{tls}{source}{candidates}image {name} {image}\nend\n"
