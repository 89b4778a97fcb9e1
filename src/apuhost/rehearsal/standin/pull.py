"""Pulling a model from a registry: the manifest, then each blob, then the manifest's bytes.

facts/ollama.md section 5.2. Parts are fetched one after the other, not sixteen at a time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

from . import sizes, store
from .names import Name
from .slog import Log
from .store import Layer, Manifest, Store
from .transport import RequestError, Transport, read

_PARTS, _SMALLEST, _LARGEST = 16, 100 * 10**6, 1000 * 10**6
_TRIES = 6
_CHUNK = 1 << 16
_OK, _NOT_FOUND, _BAD_REQUEST = 200, 404, 400

Progress = Callable[[Mapping[str, object]], None]


class PullError(Exception):
    """A pull that ended, in Ollama's words."""


@dataclass(frozen=True)
class Puller:
    """Pulls into one store through one transport."""

    store: Store
    transport: Transport
    log: Log
    prune: bool = True
    pause: Callable[[float], None] = time.sleep

    def pull(self, name: Name, *, insecure: bool, tell: Progress) -> None:
        """Fetch what is missing, check what was fetched, write the manifest.

        Raises:
            PullError: the pull did not come to its end; what is there already stays there.
        """
        scheme = "http" if insecure else name.scheme
        if name.scheme == "http" and not insecure:
            raise PullError("insecure protocol http")
        base = f"{scheme}://{name.host}/v2/{name.repository}"
        before = self._blobs_before(name)
        tell({"status": "pulling manifest"})
        data, manifest = self._manifest(f"{base}/manifests/{name.tag}")
        fetched = [blob for blob in manifest.blobs if self._fetch(base, blob, tell)]
        tell({"status": "verifying sha256 digest"})
        for blob in fetched:
            self._verify(blob)
        tell({"status": "writing manifest"})
        self.store.write_manifest(name, data)
        unused = before - {blob.digest for blob in manifest.blobs}
        if unused and self.prune:
            tell({"status": "removing unused layers"})
            self.store.remove_unused(unused)
        tell({"status": "success"})

    def _blobs_before(self, name: Name) -> set[str]:
        try:
            return {blob.digest for blob in self.store.manifest(name).blobs}
        except (OSError, ValueError):
            return set()

    def _manifest(self, url: str) -> tuple[bytes, Manifest]:
        try:
            with self.transport.request("GET", url, {"Accept": store.MANIFEST_TYPE}) as answer:
                data = _body(answer)
            return data, store.parse(data)
        except (RequestError, ValueError, PullError) as error:
            if isinstance(error, RequestError):
                self.log.info(f"request failed: {error}", at="images.go")
            raise PullError(f"pull model manifest: {error}") from error

    def _fetch(self, base: str, blob: Layer, tell: Progress) -> bool:
        """Whether it had to be fetched at all."""
        try:
            path = self.store.blob(blob.digest)
            short = blob.digest.removeprefix("sha256:")[:12]
            status: dict[str, object] = {"status": f"pulling {short}", "digest": blob.digest}
            if path.exists():
                size = path.stat().st_size
                tell({**status, "total": size, "completed": size})
                return False
            Download(self, f"{base}/blobs/{blob.digest}", path, short).run(
                lambda done, total: tell({**status, "total": total, "completed": done})
            )
        except (RequestError, ValueError) as error:
            raise PullError(str(error)) from error
        except OSError as error:
            raise PullError(f"write {path}-partial: {_words(error)}") from error
        return True

    def _verify(self, blob: Layer) -> None:
        path = self.store.blob(blob.digest)
        with path.open("rb") as stream:
            found = f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
        if found != blob.digest:
            path.unlink()
            raise PullError(
                f"digest mismatch, file must be downloaded again: want {blob.digest}, got {found}"
            )


@dataclass(frozen=True)
class Download:
    """One blob on its way; a broken one goes on where it stopped."""

    puller: Puller
    url: str
    path: Path
    short: str

    def run(self, tell: Callable[[int, int], None]) -> None:
        """Fetch all parts into `-partial`, then give the blob its name."""
        parts = self._parts()
        total = sum(part["Size"] for part in parts)
        partial = self.path.with_name(f"{self.path.name}-partial")
        if parts:
            size = sizes.decimal(parts[0]["Size"])
            self.puller.log.info(
                f"downloading {self.short} in {len(parts)} {size} part(s)", at="download.go"
            )
        with partial.open("ab"):
            pass
        with partial.open("r+b") as stream:
            stream.truncate(total)
        direct = self.puller.transport.location(self.url)
        for part in parts:
            self._part(
                direct, partial, part, lambda: tell(sum(p["Completed"] for p in parts), total)
            )
        for part in parts:
            self._note(part).unlink()
        partial.rename(self.path)

    def _parts(self) -> list[dict[str, int]]:
        notes = sorted(self.path.parent.glob(f"{self.path.name}-partial-*"))
        if notes:
            return [json.loads(note.read_bytes()) for note in notes]
        with self.puller.transport.request("HEAD", self.url) as answer:
            _body(answer)
            total = int(answer.headers.get("Content-Length") or 0)
        size = max(_SMALLEST, min(total // _PARTS, _LARGEST))
        parts = [
            {"N": number, "Offset": offset, "Size": min(size, total - offset), "Completed": 0}
            for number, offset in enumerate(range(0, total, size))
        ]
        for part in parts:
            self._write_note(part)
        return parts

    def _part(
        self, direct: str, partial: Path, part: dict[str, int], tell: Callable[[], None]
    ) -> None:
        for attempt in range(_TRIES):
            if part["Completed"] == part["Size"]:
                return
            try:
                self._range(direct, partial, part, tell)
            except (RequestError, PullError) as error:
                wait = 2**attempt
                self.puller.log.info(
                    f"{self.short} part {part['N']} attempt {attempt} failed: {error},"
                    f" retrying in {wait}s",
                    at="download.go",
                )
                self.puller.pause(wait)
                reason = str(error)
        if part["Completed"] < part["Size"]:
            raise PullError(f"max retries exceeded: {reason}")

    def _range(
        self, direct: str, partial: Path, part: dict[str, int], tell: Callable[[], None]
    ) -> None:
        start, end = part["Offset"] + part["Completed"], part["Offset"] + part["Size"]
        wanted = {"Range": f"bytes={start}-{end - 1}"}
        try:
            with (
                self.puller.transport.request("GET", direct, wanted) as answer,
                partial.open("r+b") as out,
            ):
                out.seek(start)
                while chunk := read(answer, min(_CHUNK, end - out.tell())):
                    out.write(chunk)
                    part["Completed"] += len(chunk)
                    tell()
        finally:
            self._write_note(part)
        if part["Completed"] < part["Size"]:
            raise PullError("unexpected EOF")

    def _note(self, part: dict[str, int]) -> Path:
        return self.path.with_name(f"{self.path.name}-partial-{part['N']}")

    def _write_note(self, part: dict[str, int]) -> None:
        self._note(part).write_text(f"{json.dumps(part, separators=(',', ':'))}\n")


def _body(answer: HTTPResponse) -> bytes:
    data = b"".join(iter(lambda: read(answer, _CHUNK), b""))
    if answer.status == _NOT_FOUND:
        raise PullError("file does not exist")
    if answer.status >= _BAD_REQUEST:
        raise PullError(f"{answer.status}: {data.decode(errors='replace')}")
    return data


def _words(error: OSError) -> str:
    return "no space left on device" if error.errno == errno.ENOSPC else str(error.strerror)
