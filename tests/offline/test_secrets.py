"""Text that leaves for a file or a terminal holds no login, and is as long as before."""

import time

import pytest

from apuhost.probes.secrets import without_boot_passwords, without_logins

DIGEST = f"sha256:{'82' * 32}"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param(
            "deb https://u:p@h/x trixie main", "deb https://xxx@h/x trixie main", id="apt"
        ),
        pytest.param("URIs: https://token@h/x", "URIs: https://xxxxx@h/x", id="no password"),
        pytest.param("https://a:b@h https://c:d@h", "https://xxx@h https://xxx@h", id="two"),
        pytest.param("http://u:p/w@x@h:1", "http://xxxxxxx@h:1", id="odd letters"),
        pytest.param("http://u:pä@h", "http://xxxxx@h", id="not ASCII"),
        pytest.param("http://u:\udcff@h", "http://xxx@h", id="no text"),
        pytest.param(
            '{"http-proxy":"http://u:p@h","mail":"a@b"}',
            '{"http-proxy":"http://xxx@h","mail":"a@b"}',
            id="JSON on one line",
        ),
        pytest.param('"http:\\/\\/u:p@h"', '"http:\\/\\/xxx@h"', id="JSON with \\/"),
        pytest.param('"http://u:p\\"w@h"', '"http://xxxxxx@h"', id="JSON with an escaped quote"),
        pytest.param('"https-proxy": "u:p@h:1"', '"https-proxy": "xxx@h:1"', id="no scheme, JSON"),
        pytest.param(
            'Environment="HTTP_PROXY=u:p@h:1" "A=b@c"',
            'Environment="HTTP_PROXY=xxx@h:1" "A=b@c"',
            id="no scheme, a drop-in",
        ),
        pytest.param("https_proxy='u:p@h'", "https_proxy='xxx@h'", id="no scheme, a shell"),
        pytest.param(
            'Acquire::http::Proxy "http://u:p@h:1";',
            'Acquire::http::Proxy "http://xxx@h:1";',
            id="apt.conf",
        ),
        pytest.param('"splunk-token": "a\\"b"', '"splunk-token": "xxxx"', id="a token"),
        pytest.param('"Password" : "a b"', '"Password" : "xxx"', id="a password"),
    ],
)
def test_a_login_is_made_unreadable_in_as_many_bytes(text: str, hidden: str) -> None:
    assert without_logins(text) == hidden
    sizes = {len(each.encode("utf-8", "surrogateescape")) for each in (text, hidden)}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"docker.io/ollama/ollama:0.34.4@{DIGEST}",
        "https://deb.example/debian me@example.org",
        "HTTP_PROXY=http://proxy.example:3128 NO_PROXY=localhost",
        '{"HttpProxy":"http://***@proxy.example:3128"}',
        '"tokens": "a", "token": 7',
        "a proxy and an @ of nobody's",
    ],
)
def test_what_is_no_login_stays(text: str) -> None:
    assert without_logins(text) == text


def test_boot_passwords_keep_their_length() -> None:
    assert without_boot_passwords("password root pä") == "password xxxxxxxx"


@pytest.mark.parametrize("part", ["://", "proxy ", "proxy", "\\", "@", '"a', "a@", '"token" '])
def test_a_long_line_is_read_once(part: str) -> None:
    began = time.monotonic()
    without_logins(part * 300_000)
    assert time.monotonic() - began < 5  # seconds; going back over it would take hours
