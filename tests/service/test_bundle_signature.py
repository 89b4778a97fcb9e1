"""Signatures by the system's ssh-keygen: what it is asked, and what is made of its answers."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.bundles import IDENTITY, public

from apuhost.bundle import signature
from apuhost.bundle.item import BundleError
from apuhost.bundle.refusal import RefusedError
from apuhost.bundle.signature import check_key, sign, verify

MOST = 1000


@pytest.fixture
def file(tmp_path: Path, keys: Path) -> Path:
    """Signed by ours."""
    (tmp_path / "bundle").mkdir()
    path = tmp_path / "bundle" / "manifest.json"
    path.write_bytes(b"{\n}\n")
    sign(path, keys / "ours")
    return path


@pytest.fixture
def signers(tmp_path: Path, keys: Path) -> Path:
    path = tmp_path / "signers"
    path.write_text(f'{IDENTITY} namespaces="apuhost-bundle" {public(keys / "ours")}\n')
    return path


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An agent without keys."""
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    words = ["ssh-agent", "-D", "-a", str(tmp_path / "agent")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.terminate()


@pytest.fixture
def unhandy(tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys that cannot be used as they are, and a program that would ask for a passphrase."""
    monkeypatch.setenv("SSH_ASKPASS", "/bin/false")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    for name, origin in (("locked", "locked"), ("open", "ours"), ("alone.pub", "other.pub")):
        (tmp_path / name).write_bytes((keys / origin).read_bytes())
        (tmp_path / name).chmod(0o644 if name == "open" else 0o600)
    (tmp_path / "words").write_text("no key\n")
    (tmp_path / "cut").write_bytes((keys / "ours").read_bytes()[:200])
    os.mkfifo(tmp_path / "waits")
    return tmp_path


def test_the_signed_bytes_and_their_signer_come_back(file: Path, signers: Path, keys: Path) -> None:
    found = verify(file, signers, MOST)
    words = ["ssh-keygen", "-l", "-f", str(keys / "ours.pub")]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert found.content == file.read_bytes()
    assert (found.signer.identity, found.signer.fingerprint) == (IDENTITY, listed[1])


def test_the_same_file_gets_the_same_signature_again(file: Path, keys: Path) -> None:
    first = signature.path_of(file).read_bytes()
    sign(file, keys / "ours")
    assert signature.path_of(file).read_bytes() == first


def test_ssh_keygen_alone_says_the_same(file: Path, signers: Path) -> None:
    words = ["ssh-keygen", "-Y", "verify", "-n", "apuhost-bundle", "-I", IDENTITY,
             "-f", str(signers), "-s", f"{file}.sig"]  # fmt: skip
    with file.open("rb") as content:
        assert subprocess.run(words, stdin=content, check=False).returncode == 0


def test_who_swaps_the_files_meanwhile_does_not_change_what_is_used(
    file: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = signature._ssh_keygen

    def swapping(*arguments: object) -> object:
        file.write_bytes(b"swapped")
        signature.path_of(file).write_bytes(b"swapped")
        return asked(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(signature, "_ssh_keygen", swapping)
    assert verify(file, signers, MOST).content == b"{\n}\n"


def by_other(file: Path, keys: Path) -> None:
    sign(file, keys / "other")


def for_git(file: Path, keys: Path) -> None:
    signature.path_of(file).unlink()
    words = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(keys / "ours"), str(file)]
    subprocess.run(words, check=True)


def unsigned(file: Path, keys: Path) -> None:
    signature.path_of(file).unlink()


def cut(file: Path, keys: Path) -> None:
    os.truncate(signature.path_of(file), 150)


def empty(file: Path, keys: Path) -> None:
    os.truncate(signature.path_of(file), 0)


def noise(file: Path, keys: Path) -> None:
    signature.path_of(file).write_bytes(os.urandom(400))


def huge(file: Path, keys: Path) -> None:
    os.truncate(signature.path_of(file), 1 << 20)


def changed(file: Path, keys: Path) -> None:
    file.write_bytes(b"{ }\n")


def grown(file: Path, keys: Path) -> None:
    file.write_bytes(b" " * (MOST + 1))


def no_file(file: Path, keys: Path) -> None:
    file.unlink()


def linked(file: Path, keys: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def waiting(file: Path, keys: Path) -> None:
    signature.path_of(file).unlink()
    os.mkfifo(signature.path_of(file))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (by_other, r"signed by SHA256:\S+, which is not in .*/signers"),
        (for_git, "signed for another purpose, not as apuhost-bundle"),
        (unsigned, "missing: the bundle is not signed"),
        (cut, "cut or damaged, no SSH signature"),
        (empty, "cut or damaged, no SSH signature"),
        (noise, "cut or damaged, no SSH signature"),
        (huge, "has more than 65536 bytes"),
        (changed, "another file than this one was signed, or this one was changed since"),
        (grown, r"manifest\.json: has more than 1000 bytes"),
        (no_file, r"manifest\.json: missing"),
        (linked, r"manifest\.json: is a symbolic link, no plain file"),
        (waiting, r"manifest\.json\.sig: is a FIFO, no plain file"),
    ],
)
def test_what_is_not_rightly_signed_is_refused(
    file: Path, signers: Path, keys: Path, spoil: Callable[[Path, Path], None], told: str
) -> None:
    spoil(file, keys)
    with pytest.raises(RefusedError, match=told) as caught:
        verify(file, signers, MOST)
    assert caught.value.exit_status == 1
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('a@b valid-before="20200101" {key}', "whose time in .*/signers is over"),
        ('a@b valid-after="29990101" {key}', "whose time in .*/signers is to come"),
        ('a@b namespaces="git" {key}', "which .*/signers allows for other namespaces only"),
        ("", "which is not in .*/signers"),
        ("a@b ssh-ed25519 nonsense", "which is not in .*/signers"),
        ("a@b cert-authority {key}", "which is not in .*/signers"),
    ],
)
def test_a_list_that_does_not_allow_the_key_refuses_it(
    file: Path, signers: Path, keys: Path, line: str, told: str
) -> None:
    signers.write_text(line.format(key=public(keys / "ours")) + "\n")
    with pytest.raises(RefusedError, match=rf"signed by SHA256:\S+, {told}"):
        verify(file, signers, MOST)


def test_a_list_may_have_patterns_and_other_lines(file: Path, signers: Path, keys: Path) -> None:
    ours, other = public(keys / "ours"), public(keys / "other")
    signers.write_text(f"# ours\n\nx@y {other}\n!z@site,*@site {ours}\n")
    assert verify(file, signers, MOST).signer.identity == "*@site"


def test_a_list_within_the_bundle_is_none(file: Path, signers: Path) -> None:
    inside = file.parent / "toolkit" / "signers"
    inside.parent.mkdir()
    signers.rename(inside)
    signers.symlink_to(inside)
    for each in (inside, signers):
        with pytest.raises(BundleError, match="lies within the bundle"):
            verify(file, each, MOST)
    signers.unlink()
    with pytest.raises(BundleError, match="signers: No such file"):
        verify(file, signers, MOST)
    with pytest.raises(BundleError, match="no file of allowed signers"):
        verify(file, file.parent.parent, MOST)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("locked", "locked: has a passphrase: let an agent sign"),
        ("none", "none: No such file"),
        ("words", "words: no key in OpenSSH's form"),
        ("cut", "cut: no key in OpenSSH's form"),
        ("waits", "waits: no plain file"),
        (".", "no plain file"),
        ("open", "open: others can read this key"),
        ("alone.pub", "alone.pub: no private key here and none in an agent"),
    ],
)
def test_a_key_that_cannot_sign_unasked_is_one_line(
    file: Path, unhandy: Path, key: str, told: str
) -> None:
    with pytest.raises(BundleError, match=told) as caught:
        sign(file, unhandy / key)
    assert "\n" not in str(caught.value)
    assert not signature.path_of(file).exists()


@pytest.mark.parametrize("key", ["locked", "none", "words", "cut", "waits", "open", "alone.pub"])
def test_a_key_is_tried_before_the_work(unhandy: Path, key: str) -> None:
    with pytest.raises(BundleError, match=key):
        check_key(unhandy / key)


def test_a_key_of_a_kind_that_hosts_do_not_know_any_more_is_told_before(tmp_path: Path) -> None:
    words = ["ssh-keygen", "-q", "-t", "dsa", "-N", "", "-f", str(tmp_path / "dsa")]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("this OpenSSH makes none either")
    with pytest.raises(BundleError, match="dsa: hosts do not take its signature"):
        check_key(tmp_path / "dsa")


SIGN = """
import sys
from pathlib import Path
from apuhost.bundle import signature
signature.sign(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_nothing_is_asked_on_a_terminal_either(file: Path, unhandy: Path) -> None:
    words = [sys.executable, "-c", SIGN, str(file), str(unhandy / "locked")]
    on_a_terminal = ["script", "-qec", shlex.join(words), "/dev/null"]
    done = subprocess.run(
        on_a_terminal, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
    )
    assert b"has a passphrase" in done.stdout
    assert b"Enter" not in done.stdout


@pytest.mark.usefixtures("agent")
def test_an_agent_that_lacks_the_key_is_told_before(tmp_path: Path, keys: Path) -> None:
    alone = tmp_path / "alone.pub"
    alone.write_text(public(keys / "ours"))
    with pytest.raises(BundleError, match="no private key here and none in an agent"):
        check_key(alone)


@pytest.mark.usefixtures("agent")
def test_an_agent_signs_for_the_public_key(
    file: Path, tmp_path: Path, keys: Path, signers: Path
) -> None:
    subprocess.run(["ssh-add", "-q", str(keys / "ours")], check=True)
    alone = tmp_path / "alone.pub"
    alone.write_text(public(keys / "ours"))
    check_key(alone)
    sign(file, alone)
    assert verify(file, signers, MOST).signer.identity == IDENTITY


def test_a_machine_without_ssh_keygen_is_told(
    file: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BundleError, match="install openssh-client"):
        verify(file, signers, MOST)
