"""`apuhost bundle` as a user types it: locked and fetched from real sources, built, checked."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

PROGRAMS = ("git", "gpg", "apt-get", "ssh-keygen")
LACKING = [name for name in PROGRAMS if not shutil.which(name)]
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}"),
    pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="no git checkout"),
]

BIOS = b"a BIOS"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def files() -> Iterator[list[dict[str, str]]]:
    """A further file, on a server of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(BIOS)))
            self.end_headers()
            self.wfile.write(BIOS)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/bios.cap"
        yield [{"url": url, "sha256": hashlib.sha256(BIOS).hexdigest()}]
        server.shutdown()


@pytest.fixture(scope="module")
def site(files: list[dict[str, str]]) -> Iterator[Path]:
    """A clean checkout, a key with its signers' list, and hosts that need few things."""
    folder = Path(tempfile.mkdtemp(prefix="bundle-"))  # short: GnuPG's socket lies below it
    try:
        subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(folder / "checkout")], check=True)
        key = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        kind, public, *_ = key.with_suffix(".pub").read_text().split()
        (folder / "signers").write_text(f'me@site namespaces="apuhost-bundle" {kind} {public}\n')
        (folder / "site.py").write_text(
            f'hosts = [("192.0.2.10", {{"host_roles": ["kernel"], "mirror_files": {files}}})]\n'
        )
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def bundle(site: Path) -> Run:
    """Runs the command in that folder."""
    kept = {name: str(site / name) for name in ("config", "state")}

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "apuhost.cli", "bundle", *words],
            cwd=site,
            env={
                **os.environ,
                "PYTHONPATH": str(site / "checkout" / "src"),
                "XDG_CONFIG_HOME": kept["config"],
                "APUHOST_STATE": kept["state"],
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def built(bundle: Run, site: Path) -> Path:
    """The bundle of those hosts."""
    done = bundle("lock", "site.py", "--target", "debian/trixie", "-o", "lock.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "added    python3-venv" in done.stdout
    done = bundle("build", "lock.json", "-o", "out", "--key", "key")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("apuhost bundle verify out --signers FILE\n")
    return site / "out"


def test_it_is_signed_whole_and_listed(built: Path, bundle: Run) -> None:
    done = bundle("verify", "out", "--signers", "signers")
    assert (done.returncode, done.stderr) == (0, "")
    files = [path for path in built.rglob("*") if path.is_file()]
    assert f"hashes     {len(files) - 2} of {len(files) - 2} good" in done.stdout
    listed = bundle("list", "out", "--signers", "signers")
    lines = {line.split("  ", 1)[0] for line in listed.stdout.splitlines()}
    summed = subprocess.run(
        ["sha256sum", *map(str, files)], capture_output=True, text=True, check=True
    )
    assert {line.split()[0] for line in summed.stdout.splitlines()} <= lines


def test_a_further_file_is_in_it(built: Path) -> None:
    assert (built / "files/bios.cap").read_bytes() == BIOS


def test_one_kind_is_asked_for_anew(built: Path, bundle: Run, site: Path) -> None:
    shutil.copyfile(site / "lock.json", site / "next.json")
    done = bundle("lock", "site.py", "--update", "files", "-o", "next.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("serial 1 of ")
    assert "0 B new, 0 B no longer there" in done.stdout


def test_building_it_again_writes_nothing_but_the_signature(built: Path, bundle: Run) -> None:
    def written() -> dict[str, int]:
        found = (path for path in built.rglob("*") if path.is_file())
        return {str(path): path.stat().st_mtime_ns for path in found}

    before = written()
    (built / "apt" / "left-over").write_text("of an older build")
    assert bundle("build", "lock.json", "-o", "out", "--key", "key").returncode == 0
    changed = {path for path, time in written().items() if before.get(path) != time}
    assert changed <= {str(built / name) for name in ("manifest.json", "manifest.json.sig")}


def test_what_is_not_as_it_was_signed_is_refused(built: Path, bundle: Run, site: Path) -> None:
    copy = site / "copy"
    shutil.copytree(built, copy)
    (copy / "toolkit" / "README.md").write_text("another")
    done = bundle("verify", "copy", "--signers", "signers")
    assert done.returncode == 1
    assert "copy: damaged: toolkit/README.md" in done.stderr
    (copy / "manifest.json.sig").unlink()
    done = bundle("verify", "copy", "--signers", "signers")
    assert done.returncode == 1
    assert "hashes" not in done.stdout


def test_a_lock_and_its_bundle_do_not_differ(built: Path, bundle: Run) -> None:
    done = bundle("diff", "lock.json", str(built))
    assert done.returncode == 0
    assert "changed" not in done.stdout
    assert "added" not in done.stdout


def test_it_travels_in_volumes_that_are_joined_one_by_one(
    built: Path, bundle: Run, site: Path
) -> None:
    done = bundle("split", "out", "-o", "volumes", "--size", "40MB")
    assert (done.returncode, done.stderr) == (0, "")
    first, *others = [str(path) for path in sorted((site / "volumes").iterdir())]
    assert len(others) > 1
    done = bundle("join", first, "-o", "joined")
    assert done.returncode == 2
    assert f"missing yet: volume {', '.join(map(str, range(2, len(others) + 2)))}: " in done.stdout
    done = bundle("join", *others, "-o", "joined")
    assert (done.returncode, done.stderr) == (0, "")
    assert bundle("verify", "joined", "--signers", "signers").returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(
            ("lock", "site.py", "--target", "arch/x", "-o", "l"), "not one of", id="target"
        ),
        pytest.param(("lock", "no.py", "--target", "debian/trixie", "-o", "l"), "no.py", id="file"),
        pytest.param(
            ("build", "no.json", "-o", "o", "--key", "key"), "no.json: No such", id="lock"
        ),
        pytest.param(
            ("build", "site.py", "-o", "o", "--key", "key"), "site.py: the file", id="none"
        ),
        pytest.param(("verify", "checkout", "--signers", "signers"), "manifest.json", id="folder"),
        pytest.param(("lock", "site.py", "-o", "l"), "l: no lock yet: say --target", id="no lock"),
        pytest.param(
            ("lock", "site.py", "--update", "debs", "-o", "l"), "l: No such", id="no update"
        ),
        pytest.param(("split", "out", "-o", "v", "--size", "4G"), "4G is no size", id="size"),
        pytest.param(("split", "checkout", "-o", "v"), "manifest.json: missing", id="unsigned"),
        pytest.param(("join", "checkout", "-o", "j"), "neither a volume nor", id="no volume"),
        pytest.param(("diff", "lock.json", "checkout"), "lock.json: No such", id="no bundle"),
    ],
)
def test_what_cannot_be_is_one_line(
    built: Path, bundle: Run, words: tuple[str, ...], told: str
) -> None:
    done = bundle(*words)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_of_somebody_else_stays_as_it_is(built: Path, bundle: Run, site: Path) -> None:
    (site / "mine").mkdir()
    (site / "mine" / "notes").write_text("kept")
    done = bundle("build", "lock.json", "-o", "mine", "--key", "key")
    assert "mine holds other files than a bundle" in done.stderr
    assert [path.name for path in (site / "mine").iterdir()] == ["notes"]
