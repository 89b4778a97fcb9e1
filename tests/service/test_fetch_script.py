"""Apt's own downloader takes a model from a mirror's file server over TLS into Ollama's store."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.file_server import HERE, Files, serving
from tests.support.host_root import Done, Root

from apuhost import roles
from apuhost.changes.store import blobs
from apuhost.changes.supply import APT_CONF
from apuhost.probes.files import TextFile, frame
from apuhost.probes.model_store import parse_offer
from apuhost.steps import models
from apuhost.steps.fetch import FETCH

HELPER = "/usr/lib/apt/apt-helper"
pytestmark = [
    pytest.mark.skipif(
        not Path(HELPER).exists() or not shutil.which("openssl"), reason="apt is not here"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="files change their owner"),
]

KIND = "application/vnd.ollama.image."
WEIGHTS = random.Random(1).randbytes(3 * 1024 * 1024)
SMALL = b'{"num_batch":2048}'
CONFIG = b'{"model_format":"gguf"}'
PLACE = "/models/manifests/registry.ollama.ai/library/qwen3.6/35b-a3b"
OFFER = "/run/apuhost/offer-1"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def layer(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{sha256(content)}", "size": len(content)}


MANIFEST = json.dumps(
    {
        "config": layer("application/vnd.docker.container.image.v1+json", CONFIG),
        "layers": [layer(f"{KIND}model", WEIGHTS), layer(f"{KIND}params", SMALL)],
    }
).encode()
CONTENTS = (WEIGHTS, SMALL, CONFIG)
BLOB = "/models/blobs/sha256-"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    """It has the model; this machine's apt knows its certificate by the file of the role."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    with serving(folder) as files:
        files.texts = {PLACE: MANIFEST}
        files.texts |= {f"{BLOB}{sha256(content)}": content for content in CONTENTS}
        values = {"mirror_address": HERE, "mirror_certificate": files.certificate}
        conf = folder / "apt.conf"
        conf.write_text(roles.render("mirror", APT_CONF, values))
        monkeypatch.setenv("APT_CONFIG", str(conf))
        yield files


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """With an empty store in a volume."""
    for folder in ("run", "bin", "volume/_data/models/blobs"):
        (tmp_path / folder).mkdir(parents=True)
    return Root(tmp_path, led=("/run/apuhost",))


def volume(root: Root) -> Path:
    return root.folder / "volume/_data"


def manifest(root: Root) -> Path:
    return volume(root) / "models/manifests/registry.ollama.ai/library/qwen3.6/35b-a3b"


def blob(root: Root, content: bytes) -> Path:
    return volume(root) / f"models/blobs/sha256-{sha256(content)}"


def words(root: Root, mirror: Files) -> tuple[str, ...]:
    begin = f"{mirror.url}{BLOB}"
    return (str(root.path(OFFER)), begin, str(volume(root)), str(manifest(root)))


def offer(root: Root, mirror: Files) -> str:
    """What the mirror offers, as lines of its blobs."""
    shutil.rmtree(root.path(OFFER), ignore_errors=True)
    done = root.run(models.OFFER, OFFER_AT(root), f"{mirror.url}{PLACE}", f"{mirror.url}{BLOB}")
    assert (done.returncode, done.stderr) == (0, "")
    found = sorted(root.path(OFFER).iterdir())
    return blobs(parse_offer(frame(tuple(TextFile(str(p), p.read_text()) for p in found))))


def OFFER_AT(root: Root) -> str:  # noqa: N802
    return str(root.path(OFFER))


SOON = {"wait=20": "wait=1", "wait=5": "wait=1"}


def fetch(root: Root, mirror: Files) -> Done:
    lines = offer(root, mirror)
    mirror.asked.clear()
    return root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON)


def whole(root: Root) -> bool:
    there = all(blob(root, each).read_bytes() == each for each in CONTENTS)
    return there and manifest(root).read_bytes() == MANIFEST


def left_over(root: Root) -> list[str]:
    folders = (volume(root), volume(root).parent)
    return [str(path) for folder in folders for path in folder.glob("apuhost*")]


def test_a_model_comes_whole_and_the_way_there_is_cleared(root: Root, mirror: Files) -> None:
    os.chown(volume(root) / "models", 100000, 100000)
    done = fetch(root, mirror)
    assert (done.returncode, done.stderr) == (0, "")
    assert whole(root)
    assert left_over(root) == []
    assert (
        root.path(
            OFFER,
        )
        .joinpath("manifest")
        .read_bytes()
        == MANIFEST
    )
    for path in (blob(root, WEIGHTS), manifest(root), manifest(root).parent):
        assert (path.stat().st_uid, path.stat().st_gid) == (100000, 100000)
    assert blob(root, WEIGHTS).stat().st_mode & 0o777 == 0o644
    assert time.time() - blob(root, WEIGHTS).stat().st_mtime < 600, "else a start removes it"


def test_blobs_that_are_here_and_right_are_not_asked_for(root: Root, mirror: Files) -> None:
    blob(root, WEIGHTS).write_bytes(WEIGHTS)
    assert fetch(root, mirror).returncode == 0
    assert [path for path, _ in mirror.asked if sha256(WEIGHTS) in path] == []
    assert whole(root)


@pytest.mark.parametrize("content", [WEIGHTS[:-1] + b"x", WEIGHTS[:100]], ids=["flipped", "cut"])
def test_a_blob_that_is_wrong_is_fetched_anew(root: Root, mirror: Files, content: bytes) -> None:
    blob(root, WEIGHTS).write_bytes(content)
    assert fetch(root, mirror).returncode == 0
    assert whole(root)


def test_a_download_that_was_cut_goes_on_where_it_ended(root: Root, mirror: Files) -> None:
    lines = offer(root, mirror)
    mirror.cut = 2 * 1024 * 1024
    done = root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON)
    assert (done.returncode, whole(root)) == (0, True)
    ranges = [wanted for path, wanted in mirror.asked if sha256(WEIGHTS) in path]
    assert [wanted for wanted in ranges if wanted], ranges


def test_a_run_that_was_killed_is_taken_up_by_the_next(root: Root, mirror: Files) -> None:
    lines = offer(root, mirror)
    mirror.pause_s = 0.1
    with root.start(FETCH, *words(root, mirror), replaced=SOON) as process:
        assert process.stdin
        process.stdin.write(lines)
        process.stdin.close()
        stage = volume(root) / "apuhost-fetch" / sha256(WEIGHTS)
        wait_for(lambda: stage.exists() and stage.stat().st_size > 512 * 1024)
        os.killpg(process.pid, signal.SIGKILL)
    mirror.pause_s = 0
    assert not manifest(root).exists()
    done = fetch(root, mirror)
    assert (done.returncode, whole(root), left_over(root)) == (0, True, [])
    ranges = [wanted for path, wanted in mirror.asked if sha256(WEIGHTS) in path]
    assert len(ranges) == 1
    assert int(ranges[0].removeprefix("bytes=").rstrip("-")) > 0


def wait_for(holds: object, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_run_that_is_ended_ends_its_download(root: Root, mirror: Files) -> None:
    """Else two would write into one file."""
    lines = offer(root, mirror)
    mirror.pause_s = 0.1
    with root.start(FETCH, *words(root, mirror), replaced=SOON) as process:
        assert process.stdin
        process.stdin.write(lines)
        process.stdin.close()
        stage = volume(root) / "apuhost-fetch" / sha256(WEIGHTS)
        wait_for(lambda: stage.exists() and stage.stat().st_size > 256 * 1024)
        process.terminate()
    wait_for(
        lambda: (
            sha256(WEIGHTS)
            not in subprocess.run(
                ["ps", "-eo", "args"], capture_output=True, text=True, check=True
            ).stdout
        ),
        10,
    )


def test_a_mirror_that_is_at_work_for_others_is_asked_again(root: Root, mirror: Files) -> None:
    lines = offer(root, mirror)
    mirror.busy = 7
    done = root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON)
    assert (done.returncode, done.stderr, whole(root)) == (0, "", True)


def test_other_bytes_than_the_digest_says_never_reach_the_store(root: Root, mirror: Files) -> None:
    mirror.texts[f"{BLOB}{sha256(WEIGHTS)}"] = WEIGHTS[:-1] + b"x"
    done = fetch(root, mirror)
    assert done.returncode == 1
    assert "Hash Sum mismatch" in done.stderr or "Download Failed" in done.stderr
    assert not manifest(root).exists()
    assert not blob(root, WEIGHTS).exists()
    assert not root.path(OFFER).exists()


def test_a_blob_that_the_mirror_lacks_is_told(root: Root, mirror: Files) -> None:
    lines = offer(root, mirror)
    del mirror.texts[f"{BLOB}{sha256(WEIGHTS)}"]
    done = root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON)
    assert done.returncode == 1
    assert "404" in done.stderr
    assert not manifest(root).exists()


@pytest.mark.parametrize("whose", ["", f"{HERE}::"])
def test_a_server_of_another_certificate_gets_no_word(
    root: Root, mirror: Files, tmp_path: Path, whose: str
) -> None:
    """Also where the host's own settings, which apt reads before ours, check nobody's."""
    lines = offer(root, mirror)
    conf = tmp_path / "mirror" / "apt.conf"
    loose = (f'Acquire::https::{whose}Verify-{of} "false";\n' for of in ("Peer", "Host"))
    conf.write_text("".join((*loose, conf.read_text())))
    other = tmp_path / "other"
    other.mkdir()
    with serving(other) as stranger:
        stranger.texts = mirror.texts
        once = {**SOON, "left=5": "left=1"}
        done = root.run(FETCH, *words(root, stranger), stdin=lines, replaced=once)
    assert done.returncode == 1
    assert stranger.asked == []
    assert not blob(root, WEIGHTS).exists()


@pytest.mark.parametrize("name", ["models", "models/blobs", "models/manifests"])
def test_a_store_that_leads_elsewhere_is_not_written_to(
    root: Root, mirror: Files, tmp_path: Path, name: str
) -> None:
    """The container's root owns what is below the volume."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(volume(root) / name, ignore_errors=True)
    (volume(root) / name).symlink_to(elsewhere)
    done = fetch(root, mirror)
    assert done.returncode == 1
    assert "leads elsewhere" in done.stderr
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["apuhost-fetch", f"apuhost-fetch/{sha256(WEIGHTS)}"])
def test_a_link_where_files_are_loaded_to_is_not_followed(
    root: Root, mirror: Files, tmp_path: Path, name: str
) -> None:
    """The volume is where they are loaded, and there the container is root."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (volume(root) / name).parent.mkdir(exist_ok=True)
    (volume(root) / name).symlink_to(elsewhere)
    lines = offer(root, mirror)
    done = root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON)
    assert done.returncode == 1
    assert f"{volume(root) / name} leads elsewhere: not touched" in done.stderr
    assert (list(elsewhere.iterdir()), elsewhere.stat().st_mode & 0o777) == ([], 0o755)


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("chown", f"apuhost-fetch/{sha256(WEIGHTS)}"),
        ("chown", "models/blobs"),
        ("cp", "models/manifests"),
        ("cp", "apuhost-fetch"),
    ],
)
def test_a_link_that_comes_between_a_look_and_a_write_is_not_followed(
    root: Root, mirror: Files, tmp_path: Path, program: str, place: str
) -> None:
    """The container is root in its volume at every moment: here, while a program is started."""
    lines = offer(root, mirror)
    elsewhere, own = tmp_path / "elsewhere", volume(root) / place
    is_file = place.endswith(sha256(WEIGHTS))
    elsewhere.write_text("secret") if is_file else elsewhere.mkdir()
    elsewhere.chmod(0o700)
    swap = f"[ -h {own} ] || {{ mv {own} {tmp_path}/moved; ln -s {elsewhere} {own}; }}"
    flags = f"grep /run/apuhost/store /proc/self/mountinfo >{tmp_path}/mounted"
    root.program(program, f'{flags}; {swap}; exec /usr/bin/{program} "$@"')
    done = root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON)
    assert done.returncode != 0
    assert "Too many levels of symbolic links" in done.stderr
    state = elsewhere.stat()
    assert (state.st_uid, state.st_mode & 0o777) == (0, 0o700)
    assert elsewhere.read_text() == "secret" if is_file else list(elsewhere.iterdir()) == []
    assert {"nosymfollow", "nodev"} <= {*(tmp_path / "mounted").read_text().split()[5].split(",")}
    assert not os.path.ismount(root.path("/run/apuhost/store"))


def test_a_disk_that_begins_below_the_store_is_kept_from_links_too(
    root: Root, mirror: Files, tmp_path: Path
) -> None:
    disk, place = tmp_path / "disk", volume(root) / "models"
    (disk / "blobs").mkdir(parents=True)
    lines = offer(root, mirror)
    subprocess.run(["mount", "--bind", str(disk), str(place)], check=True)
    try:
        assert root.run(FETCH, *words(root, mirror), stdin=lines, replaced=SOON).returncode == 0
        assert whole(root)
        (disk / "blobs").rename(disk / "moved")
        (disk / "blobs").symlink_to(tmp_path / "disk/moved")
        assert fetch(root, mirror).returncode == 1
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert (disk / f"moved/sha256-{sha256(WEIGHTS)}").read_bytes() == WEIGHTS
