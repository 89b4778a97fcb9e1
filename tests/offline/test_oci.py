"""Registries: names, logins, tokens, exact bytes, and every refusal in one line."""

import base64
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.answers import Registry, answer, digest, whole

from apuhost.oci import RegistryError, credentials, reference
from apuhost.oci.credentials import Credentials
from apuhost.oci.manifests import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST
from apuhost.oci.reference import Repository
from apuhost.oci.registry import Given, Registries

HEX = "a" * 64
PLACE = Repository("registry.example", "team/app")
TEXT = json.dumps({"mediaType": OCI_MANIFEST}).encode()
LOGIN = base64.b64encode(b"me:S3CRET").decode()


@pytest.mark.parametrize(
    ("text", "name", "url"),
    [
        ("nginx", "docker.io/library/nginx", "registry-1.docker.io/v2/library/nginx"),
        ("nginx:1.27", "docker.io/library/nginx:1.27", "registry-1.docker.io/v2/library/nginx"),
        ("docker.io/nginx:1", "docker.io/library/nginx:1", "registry-1.docker.io/v2/library/nginx"),
        (
            "ollama/ollama:0.34.4",
            "docker.io/ollama/ollama:0.34.4",
            "registry-1.docker.io/v2/ollama/ollama",
        ),
        ("index.docker.io/a/b", "docker.io/a/b", "registry-1.docker.io/v2/a/b"),
        ("ghcr.io/a:1", "ghcr.io/a:1", "ghcr.io/v2/a"),
        ("localhost/a:1", "localhost/a:1", "localhost/v2/a"),
        ("localhost:5000", "docker.io/library/localhost:5000", "registry-1.docker.io/v2/library"),
        ("127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1", "127.0.0.1:5000/v2/a/b"),
    ],
)
def test_a_name_in_full_and_where_it_is_asked(text: str, name: str, url: str) -> None:
    found = reference.parse(f"{text}@sha256:{HEX}")
    assert (found.name, found.digest) == (name, f"sha256:{HEX}")
    assert found.repository.url("blobs", "x").startswith(f"https://{url}")
    assert reference.parse(text).digest == ""


@pytest.mark.parametrize(
    "text",
    [
        "", ":1", "a:", "a@", "a@sha256:abc", "Ollama/ollama", "a//b:1", "a b", "../a", "a/../b",
        f"a@sha256:{HEX.upper()}", "a:../1", "https://a.example/b", "-.example/a", "a/", "\n",
    ],
)  # fmt: skip
def test_what_is_no_name_is_told(text: str) -> None:
    with pytest.raises(RegistryError, match="no image's name: write REGISTRY/"):
        reference.parse(text)


def logins(folder: Path, **content: Any) -> Credentials:  # noqa: ANN401
    """Docker's file."""
    path = folder / "config.json"
    path.write_text(json.dumps(content))
    return credentials.read(path)


def test_logins_are_those_of_docker_login(tmp_path: Path) -> None:
    padded = base64.b64encode(b"me:S3CRET\0\0").decode()
    found = logins(
        tmp_path,
        auths={
            "https://index.docker.io/v1/": {"auth": LOGIN},
            "ghcr.io": {"auth": padded},
            "127.0.0.1:5000": {"username": "me", "password": "S3CRET"},
            "empty.example": {},
        },
    )
    assert found.basic == dict.fromkeys(["docker.io", "ghcr.io", "127.0.0.1:5000"], LOGIN)
    assert "S3CRET" not in repr(found)
    assert LOGIN not in repr(found)


def test_the_file_is_where_docker_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    assert credentials.read() == Credentials(tmp_path / ".docker" / "config.json")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    logins(tmp_path, auths={"ghcr.io": {"auth": LOGIN}})
    assert credentials.read().basic == {"ghcr.io": LOGIN}


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", '{"auths": [1]}', '{"auths": {"a": "S3CRET"}}',
        '{"auths": {"a": {"auth": "S3CRET!"}}}', '{"auths": {"a": {"auth": "S3CRETS3"}}}',
    ],
)  # fmt: skip
def test_a_broken_file_is_told_without_what_it_holds(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(RegistryError, match=r"not docker's config\.json") as caught:
        credentials.read(tmp_path / "config.json")
    assert "S3CRET" not in str(caught.value)


def test_a_folder_in_the_files_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="Is a directory: the logins of registries"):
        credentials.read(tmp_path)


@pytest.fixture
def server() -> Registry:
    found = Registry()
    found.put(PLACE.path, "1", TEXT, OCI_MANIFEST)
    found.put(PLACE.path, digest(TEXT), TEXT, OCI_MANIFEST)
    return found


def ask(server: Registry, known: Credentials | None = None, name: str = "1") -> Given:
    """A manifest of the one place."""
    with Registries(known or Credentials(Path("/x")), transport=server.transport) as registries:
        return registries.manifest(PLACE, name)


def refused(server: Registry, known: Credentials | None = None, name: str = "1") -> str:
    """The one line."""
    with pytest.raises(RegistryError) as caught:
        ask(server, known, name)
    assert "\n" not in str(caught.value)
    assert "S3CRET" not in str(caught.value)
    assert LOGIN not in str(caught.value)
    return str(caught.value)


def test_a_manifest_keeps_its_bytes(server: Registry) -> None:
    for name in ("1", digest(TEXT)):
        found = ask(server, name=name)
        assert found == Given(TEXT, OCI_MANIFEST)
        assert found.digest == digest(TEXT)
    accepted = server.asked[0].headers["Accept"].split(", ")
    assert accepted == [OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST, "*/*;q=0.1"]
    assert server.asked[0].headers["Accept-Encoding"] == "identity"


def test_a_manifest_is_what_its_registry_says_and_what_was_asked(server: Registry) -> None:
    server.refuse = lambda _: whole(TEXT, Docker_Content_Digest=f"sha256:{HEX}")
    assert f"{digest(TEXT)} came, sha256:{HEX} was asked for" in refused(server)
    server.refuse = lambda _: whole(TEXT + b" ")
    assert f"came, {digest(TEXT)} was asked for" in refused(server, name=digest(TEXT))
    server.refuse = lambda _: whole(TEXT)
    assert ask(server, name=digest(TEXT)).content == TEXT


def test_a_blob_is_what_was_asked(server: Registry) -> None:
    content = server.blob(PLACE.path, b"{}", "x")["digest"]
    with Registries(Credentials(Path("/x")), transport=server.transport) as registries:
        assert registries.blob(PLACE, content) == b"{}"
        server.refuse = lambda _: whole(b"[]")
        with pytest.raises(RegistryError, match=r"came, sha256:.* was asked for"):
            registries.blob(PLACE, content)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "refused (401): is the name right? if it is private: docker login registry.example"),
        (403, "refused (403): is the name right? if it is private: docker login registry.example"),
        (404, "answered 404: it is not there: is the name right"),
        (429, "answered 429: it was asked too often"),
        (500, "answered 500: the server is in trouble"),
        (418, "answered 418: nothing can be made of that"),
    ],
)
def test_a_refusal_is_told_in_one_line(server: Registry, status: int, told: str) -> None:
    server.refuse = lambda _: answer(status)
    assert refused(server).startswith("https://registry.example/v2/team/app/manifests/1: ")
    assert told in refused(server)


def test_a_web_page_is_no_manifest(server: Registry) -> None:
    server.refuse = lambda _: answer(200, b"<html>", Content_Type="text/html")
    assert "a web page came in its place" in refused(server)


def test_no_end_of_a_manifest_is_waited_for(server: Registry) -> None:
    server.refuse = lambda _: answer(200, (b" " * (1 << 20) for _ in iter(int, 1)))
    assert "longer than any manifest" in refused(server)


def test_no_answer_is_told_in_one_line(server: Registry) -> None:
    def fails(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Name or service not known")

    server.refuse = fails
    assert "no answer (Name or service not known)" in refused(server)


def test_an_address_that_none_can_have_is_told(server: Registry) -> None:
    def fails(_: httpx.Request) -> httpx.Response:
        raise UnicodeError("label empty or too long")

    server.refuse = fails
    assert "no address (label empty or too long): write the name anew" in refused(server)


def bearer(
    server: Registry, challenge: str, token: Callable[[httpx.Request], httpx.Response]
) -> None:
    """Ask for a token, as the challenge says."""

    def refuse(request: httpx.Request) -> httpx.Response | None:
        if request.url.path == "/token":
            return token(request)
        if request.headers.get("Authorization") == "Bearer T0KEN":
            return None
        return answer(401, WWW_Authenticate=challenge)

    server.refuse = refuse


CHALLENGE = 'Bearer realm="https://auth.example/token?a=1",service="registry.example"'
SCOPE = "repository:team/app:pull"


def gives(content: Mapping[str, str]) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: answer(200, json.dumps(content).encode())


@pytest.mark.parametrize("member", ["token", "access_token"])
@pytest.mark.parametrize("scope", [f',scope="{SCOPE},push"', f',scope="{SCOPE}"', ""])
def test_an_anonymous_token_is_asked_for_once(server: Registry, member: str, scope: str) -> None:
    bearer(server, CHALLENGE + scope, gives({member: "T0KEN"}))
    with Registries(Credentials(Path("/x")), transport=server.transport) as registries:
        for _ in range(2):
            assert registries.manifest(PLACE, "1").content == TEXT
    asked = [request for request in server.asked if request.url.path == "/token"]
    (token,) = asked
    expected = {"a": "1", "service": "registry.example", "scope": scope[8:-1] or SCOPE}
    assert dict(token.url.params) == expected
    assert "Authorization" not in token.headers
    assert token.extensions["timeout"]["read"] == 30
    assert len(server.asked) == 4


def test_a_token_that_ran_out_is_asked_for_again(server: Registry) -> None:
    bearer(server, CHALLENGE, gives({"token": "T0KEN"}))
    with Registries(Credentials(Path("/x")), transport=server.transport) as registries:
        registries.manifest(PLACE, "1")
        valid = server.refuse
        server.refuse = lambda request: (
            answer(401, WWW_Authenticate=CHALLENGE) if len(server.asked) == 4 else valid(request)
        )
        assert registries.manifest(PLACE, "1").content == TEXT
    assert len([each for each in server.asked if each.url.path == "/token"]) == 2


def test_a_login_goes_to_the_tokens_server_only(
    server: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    known = logins(tmp_path, auths={"registry.example": {"auth": LOGIN}})
    bearer(server, CHALLENGE, gives({"token": "T0KEN"}))
    assert ask(server, known).content == TEXT
    sent = [request.headers.get("Authorization") for request in server.asked]
    assert sent == ["Bearer T0KEN", f"Basic {LOGIN}", "Bearer T0KEN"]
    assert not any(secret in caplog.text for secret in (LOGIN, "T0KEN", "S3CRET"))


def test_a_login_is_sent_where_it_is_asked_for(server: Registry, tmp_path: Path) -> None:
    known = logins(tmp_path, auths={"registry.example": {"auth": LOGIN}})
    server.refuse = lambda request: (
        None
        if request.headers.get("Authorization") == f"Basic {LOGIN}"
        else answer(401, WWW_Authenticate='Basic realm="x"')
    )
    assert ask(server, known).content == TEXT
    assert "private: docker login registry.example" in refused(server)


def test_no_login_goes_where_a_redirect_leads(server: Registry, tmp_path: Path) -> None:
    known = logins(tmp_path, auths={"registry.example": {"auth": LOGIN}})

    def refuse(request: httpx.Request) -> httpx.Response | None:
        if request.url.host == "cdn.example":
            return answer(401, WWW_Authenticate='Basic realm="x"')
        if "Authorization" not in request.headers:
            return answer(401, WWW_Authenticate='Basic realm="x"')
        return answer(307, Location="https://cdn.example/data")

    server.refuse = refuse
    assert "refused (401)" in refused(server, known)
    sent = [each.headers.get("Authorization") for each in server.asked]
    assert [each.url.host for each in server.asked][-1] == "cdn.example"
    assert sent[-1] is None
    assert len(sent) == 3


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (lambda _: answer(401), "refused (401)"),
        (lambda _: answer(500), "answered 500"),
        (lambda _: answer(429), "answered 429"),
        (lambda _: answer(200, b"<html>"), "no token came"),
        (lambda _: answer(200, b"[]"), "no token came"),
        (lambda _: answer(200, b"{}"), "no token came"),
        (lambda _: answer(302, Location="http://other.example/token"), "plain HTTP"),
    ],
)
def test_no_token_is_told_in_one_line(
    server: Registry, token: Callable[[httpx.Request], httpx.Response], told: str
) -> None:
    bearer(server, CHALLENGE, token)
    assert told in refused(server)


@pytest.mark.parametrize(
    ("challenge", "told"),
    [
        ("", "refused (401)"),
        ("Bearer", "names no server of such"),
        ('Bearer realm="https://x:y"', "names no server of such"),
        ('Bearer realm="http://auth.example/token"', "plain HTTP"),
        ('Bearer realm="/token"', "names no server of such"),
        ("Bearer realm=", "names no server of such"),
        ("Negotiate", "refused (401)"),
    ],
)
def test_a_challenge_that_cannot_be_answered(server: Registry, challenge: str, told: str) -> None:
    bearer(server, challenge, gives({"token": "T0KEN"}))
    assert told in refused(server)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({}, "docker login registry.example"),
        ({"credsStore": "desktop"}, "logins kept by credsStore (desktop) are not supported"),
        ({"credHelpers": {"registry.example": "pass"}}, "kept by credHelpers (pass)"),
        ({"credHelpers": {"other.example": "pass"}}, "if it is private: docker login"),
        ({"auths": {"registry.example": {"auth": LOGIN}}}, "is refused, or may not read this"),
        (
            {"auths": {"registry.example": {"auth": "", "identitytoken": "S3CRET"}}},
            'kept by an "identitytoken" are not supported',
        ),
    ],
)
def test_a_refusal_says_what_is_known_of_a_login(
    server: Registry, tmp_path: Path, content: Mapping[str, Any], told: str
) -> None:
    server.refuse = lambda _: answer(401, WWW_Authenticate='Basic realm="x"')
    assert told in refused(server, logins(tmp_path, **content))


def test_docker_hub_is_logged_in_to_without_a_name() -> None:
    assert "private: docker login (/x" in Credentials(Path("/x")).hint("docker.io")


def loopback(server: Registry, host: str = "127.0.0.1:5000") -> list[str]:
    """The schemes that were asked."""
    with Registries(Credentials(Path("/x")), transport=server.transport) as registries:
        for _ in range(2):
            registries.manifest(Repository(host, PLACE.path), "1")
    return [request.url.scheme for request in server.asked]


def no_tls(request: httpx.Request) -> httpx.Response | None:
    if request.url.scheme == "https":
        raise httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER]")
    return None


def untrusted(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed")


@pytest.mark.parametrize("host", ["127.0.0.1:5000", "localhost:5000", "127.1.2.3:5000"])
def test_plain_http_is_for_this_machine_alone(server: Registry, host: str) -> None:
    server.refuse = no_tls
    assert loopback(server, host) == ["https", "http", "http"]
    assert "WRONG_VERSION_NUMBER" in refused(server)


def test_tls_is_kept_where_it_is_spoken(server: Registry) -> None:
    assert loopback(server) == ["https", "https", "https"]
    server.refuse = untrusted
    with pytest.raises(RegistryError, match="certificate is not trusted: name the site's CA"):
        loopback(server)


def test_a_redirect_to_plain_http_is_not_followed(server: Registry) -> None:
    server.refuse = lambda _: answer(307, Location="http://registry.example/x?signature=S3CRET")
    assert "http://registry.example/x: plain HTTP" in refused(server)
