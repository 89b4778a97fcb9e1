"""What a registry asks for with a 401: a bearer token, or the login itself.

The token's protocol: https://distribution.github.io/distribution/spec/auth/token/.
"""

from collections.abc import Generator
from typing import Any
from urllib.request import parse_http_list, parse_keqv_list

import httpx

from apuhost.oci import RegistryError
from apuhost.oci.credentials import Credentials
from apuhost.oci.reference import registry

_Flow = Generator[httpx.Request, httpx.Response, None]


class Authorization(httpx.Auth):
    """Answers a registry's challenge, and keeps the answer for the repository."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._kept: dict[str, str] = {}

    def sync_auth_flow(self, request: httpx.Request) -> _Flow:
        """Ask as before; after a 401 of the registry itself ask for a token, then once more."""
        place = f"{request.url.netloc.decode()}/{_repository(request.url)}"
        if place in self._kept:
            request.headers["Authorization"] = self._kept[place]
        answer = yield request
        # Where a redirect leads, nobody's login belongs.
        ours = (answer.url.host, answer.url.port) == (request.url.host, request.url.port)
        if answer.status_code == httpx.codes.UNAUTHORIZED and ours:
            header = yield from self._answer(answer, request)
            if header:
                self._kept[place] = request.headers["Authorization"] = header
                yield request

    def _answer(
        self, answer: httpx.Response, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, str]:
        """The header that the challenge asks for; "" without a way to have it."""
        asked = dict(map(_challenge, answer.headers.get_list("WWW-Authenticate")))
        basic = self._credentials.basic.get(registry(request.url.netloc.decode()), "")
        if "bearer" in asked:
            token = yield from _token(asked["bearer"], basic, request)
            return f"Bearer {token}" if token else ""
        return f"Basic {basic}" if basic and "basic" in asked else ""


def _challenge(header: str) -> tuple[str, dict[str, str]]:
    scheme, _, rest = header.partition(" ")
    members = (each for each in parse_http_list(rest) if each.partition("=")[2])
    return scheme.lower(), parse_keqv_list(list(members))


def _token(
    challenge: dict[str, str], basic: str, refused: httpx.Request
) -> Generator[httpx.Request, httpx.Response, str]:
    """Ask for a token; a refusal is httpx's last answer, and so the whole question's."""
    asked = {"scope": f"repository:{_repository(refused.url)}:pull", **challenge}
    parameters = {name: value for name, value in asked.items() if name in ("service", "scope")}
    headers = {"Authorization": f"Basic {basic}"} if basic else {}
    realm = _url(challenge.get("realm", ""))
    if realm is None:
        raise RegistryError(f"{refused.url}: asks for a token, but names no server of such")
    realm = realm.copy_merge_params(parameters)
    # The extensions are the client's timeouts.
    answer = yield httpx.Request("GET", realm, headers=headers, extensions=refused.extensions)
    if not answer.is_success:
        return ""
    answer.read()
    try:
        given: Any = answer.json()
        return str(given.get("token") or given["access_token"])
    except (ValueError, AttributeError, KeyError):
        raise RegistryError(f"{realm}: no token came: is it the registry's own server?") from None


def _url(text: str) -> httpx.URL | None:
    try:
        found = httpx.URL(text)
    except httpx.InvalidURL:
        return None
    return found if found.is_absolute_url else None


def _repository(url: httpx.URL) -> str:
    """The path of a URL of the API without /v2/ and its last two parts."""
    return url.path.removeprefix("/v2/").rsplit("/", 2)[0]
