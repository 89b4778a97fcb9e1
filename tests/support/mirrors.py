"""A mirror's host as its probes print it, and the bundle that it serves."""

from collections.abc import Mapping
from dataclasses import dataclass

from apuhost import lockfile
from apuhost.changes import serving
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Blob, Deb, Image, Lock, Target
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, LOCK
from apuhost.probes.mirror_serving import FILES, REGISTRY
from apuhost.settings import Settings
from tests.support import stack
from tests.support.hosts import NOW, host_facts, settings, unit_files
from tests.support.stack import PACKAGES, framed, sha256
from tests.support.verdicts import also

ADDRESS = "192.0.2.2"
DAY_S = 86_400
AUTHORITY = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
NAMES = ("docker-registry", "nginx", "openssl")


def digest(text: str) -> str:
    """A digest that is not another text's."""
    return f"sha256:{sha256(text)}"


def blob(text: str) -> Blob:
    """Bytes of a digest of their own."""
    return Blob(digest(text), len(text))


def image(name: str = "docker.io/ollama/ollama:1", of: str = "") -> Image:
    """An image of two layers, pinned by its index; another one `of` another text."""
    index, manifest, config, *layers = (
        blob(f"{of}{part}") for part in ("index", "manifest", "config", "layer 1", "layer 2")
    )
    reference = f"{name}@{index.digest}"
    kind = "application/vnd.oci.image.index.v1+json"
    return Image(reference, kind, (index, manifest), config, tuple(layers))


def lock(*images: Image, serial: int = 7, lacking: str = "") -> Lock:
    """A lock with these images, or with one, and what serves them."""
    debs = tuple(
        Deb(name, "1", "amd64", f"https://example.org/{name}.deb", blob(name), digest("release"))
        for name in NAMES
        if name != lacking
    )
    target = Target("debian", "trixie", "amd64", "3.13")
    created = "2026-11-29T09:00:00+00:00"
    return Lock(serial, created, "0.1.0", target, images=images or (image(),), debs=debs)


def asked(**data: object) -> Settings:
    """Settings of a mirror's host."""
    return settings(**{"mirror_address": ADDRESS, "mirror_serve": True, **data})


@dataclass(frozen=True)
class Kept:
    """What `mirror_serving` prints of a mirror; "" where there is nothing of it."""

    lock: Lock
    whole: bool = True
    current: str = "bundles/7"
    trees: tuple[str, ...] = ()
    names: str = f"IP Address:{ADDRESS}"
    days: int = 3000
    since: int = NOW - 365 * DAY_S
    certified: bool = True
    signed: bool = True
    authority: str = AUTHORITY
    newer: str = ""

    def text(self) -> str:
        """The probe's lines."""
        text = lockfile.as_text(self.lock)
        bundle = f"bundle {self.lock.serial} {sha256(text)}\n" if self.whole else ""
        current = f"current {self.current}\n" if self.current else ""
        trees = "".join(f"tree {name}\n" for name in self.trees)
        return f"{bundle}{current}{trees}{self._certificates()}{self.newer}end\n"

    def _certificates(self) -> str:
        if not self.certified:
            return ""
        until = NOW + self.days * DAY_S
        return (
            f"certificate ca {self.since} {until + 3650 * DAY_S}\n"
            f"certificate server {self.since} {until}\nnames {self.names}\n"
            f"{'signed yes' if self.signed else ''}\nauthority {sha256(self.authority)}\n"
        )


def mirror(
    kept: Kept,
    *,
    files: Mapping[str, str] | None = None,
    listening: tuple[str, ...] = (f"{ADDRESS}:5000", f"{ADDRESS}:8443"),
    lacking: str = "",
    changed: Mapping[str, Mapping[str, str]] | None = None,
    **texts: str,
) -> HostFacts:
    """A host that has this, and of what it serves by these files."""
    written = dict(files or {})
    configured = {path: text for path, text in written.items() if path.startswith("/etc/apuhost")}
    there = {path: text for path, text in written.items() if path not in configured}
    site = {CERTIFICATE: AUTHORITY, APT_KEY: "KEY", LOCK: lockfile.as_text(kept.lock)}
    versions = {**PACKAGES, **{name: "1" for name in NAMES if name != lacking}}
    listed = "".join(f"ii |{name}|{version}|amd64\n" for name, version in versions.items())
    return also(
        host_facts(),
        **{
            "mirror": framed({**site, **configured}),
            "mirror_serving": kept.text(),
            "units": stack.units({**unit_files(), **there}, changed=changed),
            "packages": f"native amd64\n{listed}end\n",
            "firewall": stack.firewall("0.0.0.0:22", "127.0.0.1:11434", *listening),
            **texts,
        },
    )


def rendered(settings: Settings, kept: Kept) -> dict[str, str]:
    """The files of a mirror's host as a deploy writes them."""
    facts = mirror(kept)
    return {change.path: change.after for change in serving.files(derive(settings, facts), facts)}


def served(settings: Settings | None = None, **texts: str) -> HostFacts:
    """A mirror's host after a deploy."""
    locked = lock()
    kept = Kept(locked, trees=(serving.tree(locked),))
    return mirror(kept, files=rendered(settings or asked(), kept), **texts)  # type: ignore[arg-type]


UNITS = (REGISTRY, FILES)
