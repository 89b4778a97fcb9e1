"""The toolkit in a bundle is a commit of its checkout, byte by byte."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.repository import NOTHING

from apuhost.bundle import toolkit
from apuhost.bundle.item import BundleError, Text
from apuhost.lockfile import Lock


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of two files, one commit."""
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("words\n")
    (tmp_path / "src/ü.py").write_bytes(b"\xff\r\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def locked(checkout: Path) -> Lock:
    return replace(NOTHING, apuhost=toolkit.version(checkout))


def test_the_commits_files_are_taken_as_they_are(checkout: Path) -> None:
    lock = locked(checkout)
    (checkout / "notes").write_text("of nobody's concern")
    found = tuple(toolkit.texts(lock, checkout))
    assert found == (
        Text("toolkit/README.md", b"words\n"),
        Text("toolkit/src/ü.py", b"\xff\r\n"),
    )
    assert tuple(toolkit.texts(lock, checkout)) == found


def test_changes_that_no_commit_holds_are_refused(checkout: Path) -> None:
    (checkout / "README.md").write_text("other words\n")
    with pytest.raises(BundleError, match=r"README\.md has changes that no commit holds"):
        toolkit.version(checkout)


def test_another_commit_than_the_locks_is_refused(checkout: Path) -> None:
    lock = locked(checkout)
    git(checkout, "commit", "-q", "--allow-empty", "-m", "second")
    with pytest.raises(BundleError, match=f"git checkout {lock.apuhost.partition('+')[2]}"):
        tuple(toolkit.texts(lock, checkout))


def test_a_link_is_refused(checkout: Path) -> None:
    (checkout / "link").symlink_to("/etc/passwd")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "second")
    with pytest.raises(BundleError, match="link is a link"):
        tuple(toolkit.texts(locked(checkout), checkout))


def test_a_folder_that_is_no_checkout_is_told(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="not a git repository"):
        toolkit.version(tmp_path)
