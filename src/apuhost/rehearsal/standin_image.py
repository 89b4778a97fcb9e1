"""The container image that a rehearsal runs in Ollama's place, as an OCI image layout.

Two layers: Debian's packages, which change when their list does, and the stand-in's own files.
The same packages and files give the same digest.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from apuhost.debian import debian_mirror
from apuhost.locks import exclusive
from apuhost.rehearsal import image, process, standin_packages
from apuhost.rehearsal.process import Heartbeat
from apuhost.rehearsal.standin import VERSION
from apuhost.rehearsal.standin_packages import EPOCH

PROGRAM = Path(__file__).parent / "standin"
LABEL = "apuhost.standin"
_HOME = "usr/share/ollama"
_STARTER = f"""#!/usr/bin/python3 -I
import sys

sys.path.append("/{_HOME}")
from standin.commands import main

sys.exit(main(sys.argv[1:]))
"""
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
_CREATED = "2026-01-01T00:00:00Z"
_KEPT_UNUSED_SECONDS = 14 * 24 * 3600  # another checkout may still use it


@dataclass(frozen=True)
class Layer:
    """A compressed tar: sha256 of it and of the tar (hex), its size in bytes."""

    digest: str
    diff_id: str
    size: int


@dataclass(frozen=True)
class StandinImage:
    """A finished image; for skopeo it is `oci:DIRECTORY`."""

    directory: Path

    @property
    def digest(self) -> str:
        """`sha256:…` of the image's manifest, as a registry names it and a pin takes it."""
        index = json.loads((self.directory / "index.json").read_bytes())
        return str(index["manifests"][0]["digest"])

    @property
    def layers(self) -> list[Path]:
        """The compressed layers, the lowest first."""
        manifest = json.loads(self._blob(self.digest).read_bytes())
        return [self._blob(layer["digest"]) for layer in manifest["layers"]]

    def _blob(self, digest: str) -> Path:
        return self.directory / "blobs" / Path(*digest.split(":"))


def cached(cache: Path) -> StandinImage | None:
    """The image that this recipe makes, if it is there already."""
    packages = _place(cache, "packages", standin_packages.key(debian_mirror()))
    if not packages.is_dir():
        return None
    place = _place(cache, "image", _key(packages))
    return StandinImage(place) if place.is_dir() else None


def ensure(cache: Path, heartbeat: Heartbeat = process.silent) -> StandinImage:
    """The image, built if need be; a second caller waits for the first and shares it.

    Raises:
        RehearsalError: a step of the build failed; its `log` holds all output.
        NoMirrorError: this machine's apt sources name no Debian mirror.
    """
    mirror = debian_mirror()
    with exclusive(cache / "standin.lock"):
        packages = _place(cache, "packages", standin_packages.key(mirror))
        if not packages.is_dir():
            _build_packages(packages, mirror, heartbeat)
        place = _place(cache, "image", _key(packages))
        if not place.is_dir():
            _build(place, packages)
        for folder in (packages, place):
            os.utime(folder)
        _remove_unused(cache)
    return StandinImage(place)


def _place(cache: Path, kind: str, key: str) -> Path:
    return cache / f"standin-{kind}-{key}"


def _key(packages: Path) -> str:
    """All that makes the image: the lower layer's sums, this module, the stand-in's files."""
    digest = hashlib.sha256((packages / "layer.json").read_bytes())
    for path in (Path(__file__), *_program_files()):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _program_files() -> list[Path]:
    return sorted(PROGRAM.glob("*.py"))


def _build_packages(place: Path, mirror: str, heartbeat: Heartbeat) -> None:
    """Under a temporary name until complete: an interrupted build never looks finished."""
    work, log = _work_folder(place.parent)
    log.unlink(missing_ok=True)
    tarball = work / "layer.tar"
    process.run(standin_packages.command(tarball, mirror), log=log, heartbeat=heartbeat)
    layer = _compress(tarball, log)
    (work / "layer.json").write_text(json.dumps(asdict(layer)))
    work.rename(place)


def _build(place: Path, packages: Path) -> None:
    work, log = _work_folder(place.parent)
    tarball = work / "program.tar"
    tarball.write_bytes(program_layer())
    lower, upper = (
        Layer(**json.loads((packages / "layer.json").read_bytes())),
        _compress(tarball, log),
    )
    blobs = work / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    (blobs / lower.digest).hardlink_to(packages / "layer.tar.zst")
    (work / "program.tar.zst").rename(blobs / upper.digest)
    write_layout(work, [lower, upper])
    work.rename(place)


def _work_folder(cache: Path) -> tuple[Path, Path]:
    """A folder to build in and the log; what a killed build left is removed."""
    for folder in cache.glob("standin-unfinished-*"):
        subprocess.run([*image.as_root(), "rm", "-rf", str(folder)], check=False)
    return Path(tempfile.mkdtemp(prefix="standin-unfinished-", dir=cache)), cache / "standin.log"


def _compress(tarball: Path, log: Path) -> Layer:
    """The tar gives way to `NAME.zst`, which an emulated guest unpacks in half of gzip's time."""
    packed = tarball.with_name(f"{tarball.name}.zst")
    process.run(["zstd", "-q", "-T0", "-12", "-o", str(packed), str(tarball)], log=log)
    layer = Layer(_sha256(packed), _sha256(tarball), packed.stat().st_size)
    tarball.unlink()
    return layer


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_layout(folder: Path, layers: Sequence[Layer]) -> None:
    """Configuration, manifest and index of an image whose layers are in `blobs` already."""
    blobs = folder / "blobs" / "sha256"
    manifest = {
        "schemaVersion": 2, "mediaType": _MANIFEST,
        "config": _blob(blobs, _CONFIG, _json(configuration(layers))),
        "layers": [{"mediaType": _LAYER, "digest": f"sha256:{layer.digest}", "size": layer.size}
                   for layer in layers],
    }  # fmt: skip
    index = {"schemaVersion": 2, "manifests": [_blob(blobs, _MANIFEST, _json(manifest))]}
    (folder / "index.json").write_bytes(_json(index))
    (folder / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))


def _blob(folder: Path, media_type: str, data: bytes) -> dict[str, object]:
    digest = hashlib.sha256(data).hexdigest()
    (folder / digest).write_bytes(data)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def configuration(layers: Sequence[Layer]) -> dict[str, object]:
    """The image's configuration, in the shape of Ollama's (facts/ollama.md section 6)."""
    return {
        "architecture": "amd64", "os": "linux", "created": _CREATED,
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "OLLAMA_HOST=0.0.0.0:11434"],
            "ExposedPorts": {"11434/tcp": {}}, "Entrypoint": ["/bin/ollama"], "Cmd": ["serve"],
            "Labels": {LABEL: "true", "org.opencontainers.image.version": VERSION},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.diff_id}" for layer in layers]},
    }  # fmt: skip


def program_layer() -> bytes:
    """A tar of the stand-in's files and of /bin/ollama, which starts it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in (_HOME, f"{_HOME}/standin"):
            _add(tar, folder, None)
        for path in _program_files():
            _add(tar, f"{_HOME}/standin/{path.name}", path.read_bytes())
        _add(tar, "usr/bin/ollama", _STARTER.encode(), mode=0o755)
    return packed.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes | None, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.mtime = EPOCH
    if data is None:
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
    else:
        entry.size, entry.mode = len(data), mode
        tar.addfile(entry, io.BytesIO(data))


def _remove_unused(cache: Path) -> None:
    for folder in cache.glob("standin-*-*"):
        if time.time() - folder.stat().st_mtime > _KEPT_UNUSED_SECONDS:
            shutil.rmtree(folder)
