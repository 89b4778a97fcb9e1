"""A client of registries: manifests and small blobs by their digests, and big ones as they arrive.

TLS always, but with this machine itself, where it is tried first (as Docker does).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import httpx

from apuhost import web
from apuhost.oci import RegistryError, manifests
from apuhost.oci.authorization import Authorization
from apuhost.oci.credentials import Credentials
from apuhost.oci.reference import Repository, registry

_MOST_BYTES = 4 << 20  # of a manifest or configuration: as much as registries take
_REFUSED = frozenset({httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN})


@dataclass(frozen=True)
class Given:
    """A manifest as a registry gave it."""

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """What pins it."""
        return manifests.digest_of(self.content)


class Registries:
    """All registries, over one HTTP client and with the logins of one file."""

    def __init__(
        self,
        credentials: Credentials,
        accept: str = manifests.ACCEPT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`accept` are the forms of manifests to be given; `transport` is httpx's own else."""
        self._client = web.client(transport)
        self._client.event_hooks["request"].append(_secure)  # redirects and tokens pass it too
        self._credentials = credentials
        self._authorization = Authorization(credentials)
        self._accept = f"{accept}, */*;q=0.1"
        self._schemes: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def manifest(self, repository: Repository, name: str) -> Given:
        """A manifest by its tag or digest.

        Raises:
            RegistryError: there is none, or another one than was asked for.
        """
        url = repository.url("manifests", name)
        headers, content = self._small(url)
        found = Given(content, headers.get("Content-Type", ""))
        _is_asked(url, found.digest, headers.get("Docker-Content-Digest", found.digest))
        if ":" in name:
            _is_asked(url, found.digest, name)
        return found

    def blob(self, repository: Repository, digest: str) -> bytes:
        """A small blob, as a configuration is.

        Raises:
            RegistryError: there is none, or another one than was asked for.
        """
        url = repository.url("blobs", digest)
        _, content = self._small(url)
        _is_asked(url, manifests.digest_of(content), digest)
        return content

    @contextmanager
    def get(self, url: str, offset: int) -> Iterator[httpx.Response]:
        """Ask for a manifest or blob from an offset on.

        Raises:
            RegistryError: the registry refuses, or plain HTTP would be needed.
            httpx.RequestError: there is no answer.
        """
        asked = httpx.URL(url)
        with self._client.stream(
            "GET",
            asked.copy_with(scheme=self._scheme(asked)),
            headers={"Accept": self._accept, **web.from_offset(offset)},
            auth=self._authorization,
        ) as answer:
            if answer.status_code in _REFUSED:
                hint = self._credentials.hint(registry(asked.netloc.decode()))
                raise RegistryError(f"{url}: refused ({answer.status_code}): {hint}")
            yield answer

    def _small(self, url: str) -> tuple[httpx.Headers, bytes]:
        """A whole answer, of few bytes."""
        try:
            with self.get(url, 0) as answer:
                if fault := web.fault(answer, url):
                    raise RegistryError(fault)
                return answer.headers, _bounded(answer, url)
        except httpx.RequestError as error:
            raise RegistryError(web.no_answer(error, url)) from error
        except web.NO_ADDRESS as error:
            raise RegistryError(f"{url}: no address ({error}): write the name anew") from error

    def _scheme(self, url: httpx.URL) -> str:
        if not web.is_loopback(url.host):
            return url.scheme
        where = url.netloc.decode()
        if where not in self._schemes:
            self._schemes[where] = "https" if self._speaks_tls(where) else "http"
        return self._schemes[where]

    def _speaks_tls(self, where: str) -> bool:
        try:
            self._client.get(f"https://{where}/v2/")
        except httpx.TransportError as error:
            return not web.may_pass(error)  # an untrusted certificate is TLS
        return True


def _secure(request: httpx.Request) -> None:
    if request.url.scheme != "https" and not web.is_loopback(request.url.host):
        raise RegistryError(
            f"{request.url.copy_with(query=None)}: plain HTTP, which apuhost speaks only with"
            " 127.0.0.1: give the registry a certificate, and name the site's CA in SSL_CERT_FILE"
        )


def _bounded(answer: httpx.Response, url: str) -> bytes:
    content = bytearray()
    for chunk in answer.iter_raw():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise RegistryError(f"{url}: longer than any manifest: is it a registry?")
    return bytes(content)


def _is_asked(url: str, found: str, asked: str) -> None:
    if found != asked:
        raise RegistryError(f"{url}: {found} came, {asked} was asked for: do not use this source")
