"""Proxies and certificates by Go's rules, and what a pull does with them: facts section 5.2."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from apuhost.rehearsal.standin import proxies, trust


def proxy(url: str, **environ: str) -> str | None:
    chosen = proxies.choose(urlsplit(url), environ)
    return chosen.netloc if chosen else None


def test_the_scheme_decides_and_upper_case_wins() -> None:
    environ = {"HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:1"}
    assert proxy("https://registry.lan/", **environ) == "upper:1"
    assert proxy("http://registry.lan/", **environ) is None
    assert proxy("http://registry.lan/", http_proxy="plain:8080") == "plain:8080"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:5000", "[::1]:5000"])
def test_loopback_never_goes_through_a_proxy(host: str) -> None:
    assert proxy(f"https://{host}/", HTTPS_PROXY="http://p:1") is None


@pytest.mark.parametrize(
    ("rule", "straight"),
    [
        ("registry.lan", True), ("lan", True), (".lan", True), ("*.lan", True), ("*", True),
        ("registry.lan:443", True), ("registry.lan:5000", False), ("other.lan", False),
        ("x, registry.lan", True), ("egistry.lan", False), ("", False),
    ],
)  # fmt: skip
def test_no_proxy_names(rule: str, straight: bool) -> None:
    found = proxy("https://registry.lan/", HTTPS_PROXY="http://p:1", NO_PROXY=rule)
    assert (found is None) is straight


@pytest.mark.parametrize(
    ("rule", "straight"), [("10.0.0.0/8", True), ("10.1.2.3", True), ("192.168.0.0/16", False)]
)
def test_no_proxy_addresses(rule: str, straight: bool) -> None:
    found = proxy("https://10.1.2.3/", HTTPS_PROXY="http://p:1", NO_PROXY=rule)
    assert (found is None) is straight


def test_every_file_of_the_folder_counts_but_no_link_to_a_neighbour(tmp_path: Path) -> None:
    bundle, folder, elsewhere = tmp_path / "bundle", tmp_path / "certs", tmp_path / "ca"
    folder.mkdir()
    for path in (bundle, folder / "site.crt", folder / "odd name", elsewhere):
        path.touch()
    (folder / "hash.0").symlink_to("site.crt")
    (folder / "named.pem").symlink_to(elsewhere)
    environ = {"SSL_CERT_FILE": str(bundle), "SSL_CERT_DIR": str(folder)}
    assert list(trust.certificate_files(environ)) == [
        bundle, folder / "named.pem", folder / "odd name", folder / "site.crt",
    ]  # fmt: skip


def test_files_without_a_certificate_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nonsense")
    (tmp_path / "y").write_bytes(b"\xff\xfe")
    assert trust.context({"SSL_CERT_DIR": str(tmp_path), "SSL_CERT_FILE": "/nowhere"})
