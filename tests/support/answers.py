"""Servers of the offline tier: answers that httpx reads as from a network, piece by piece."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx

Refuse = Callable[[httpx.Request], httpx.Response | None]


def answer(
    status: int = 200, body: bytes | Iterable[bytes] = b"", **headers: str
) -> httpx.Response:
    """An answer whose body is not read yet; header names with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    pieces = [body] if isinstance(body, bytes) else body
    return httpx.Response(status, headers=named, content=iter(pieces))


def whole(content: bytes, **headers: str) -> httpx.Response:
    """All of a file, with its length."""
    return answer(200, content, Content_Length=str(len(content)), **headers)


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Registry:
    """A registry of images or models; `refuse` may answer in its place."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self.refuse: Refuse = lambda _: None
        self._content: dict[str, tuple[bytes, str]] = {}

    @property
    def transport(self) -> httpx.MockTransport:
        """What a client asks in the network's place."""
        return httpx.MockTransport(self._answer)

    def blob(self, repository: str, content: bytes, media_type: str) -> dict[str, Any]:
        """Keep it; its descriptor."""
        found = digest(content)
        self._content[f"/v2/{repository}/blobs/{found}"] = content, "application/octet-stream"
        return {"mediaType": media_type, "digest": found, "size": len(content)}

    def manifest(
        self, repository: str, content: Mapping[str, Any], tag: str = ""
    ) -> dict[str, Any]:
        """Keep it under its digest, and its tag if any; its descriptor."""
        text = json.dumps(content).encode()
        media_type = str(content.get("mediaType", "application/json"))
        found = digest(text)
        for name in filter(None, (found, tag)):
            self.put(repository, name, text, media_type)
        return {"mediaType": media_type, "digest": found, "size": len(text)}

    def put(self, repository: str, name: str, text: bytes, media_type: str) -> None:
        """Keep any bytes as a manifest."""
        self._content[f"/v2/{repository}/manifests/{name}"] = text, media_type

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if refused := self.refuse(request):
            return refused
        if request.url.path not in self._content:
            return answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
        content, media_type = self._content[request.url.path]
        start = int(request.headers.get("Range", "bytes=0-")[6:-1])
        length = str(len(content) - start)
        if start:
            told = f"bytes {start}-{len(content) - 1}/{len(content)}"
            return answer(206, content[start:], Content_Range=told, Content_Length=length)
        return whole(content, Content_Type=media_type, Docker_Content_Digest=digest(content))
