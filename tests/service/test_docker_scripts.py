"""What tells of Docker's files, and what sets them, under the real sh and the real apt."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.host_root import Root

from apuhost import roles
from apuhost.changes import docker as changes
from apuhost.probes import apt_sources, daemon_json, docker
from apuhost.steps import docker as steps
from apuhost.steps.files import INSTALL

FOLDER = "etc/docker"
FILE = f"{FOLDER}/daemon.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that stands in for /."""
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / "run").mkdir()
    return tmp_path


def read(root: Path, probe: ModuleType) -> str:
    """What a probe prints with its paths led into the folder, and without a docker."""
    command = re.sub(r'(?<=[\s"])/etc/', f"{root}/etc/", probe.COMMAND)
    command = command.replace("command -v docker >", "false >")
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, check=True, env=os.environ | {"LC_ALL": "C"}
    )
    return re.sub(rf"^(==> \d+ ){root}/", r"\1/", done.stdout.decode(), flags=re.MULTILINE)


@pytest.mark.parametrize(
    "text",
    [
        '{{"data-root": "{0}"}}',
        '{{\n\t"data-root"\t:  "{0}",\n\t"dns": []\n}}\n',
        '{{\n"data-root": "/srv",\n"data-root": "{0}"\n}}\n',
    ],
)
def test_a_data_root_is_told_with_what_its_links_lead_to(root: Path, text: str) -> None:
    (root / "big").mkdir()
    (root / "link").symlink_to("big")
    named = f"{root}/link/docker"
    (root / FILE).write_text(text.format(named))
    assert docker.parse(read(root, docker)).linked_roots == {named: f"{root}/big/docker"}


@pytest.mark.parametrize("text", ["", "{}", '{"data-root": 5}', '{"data-root": "rel"}', "{,"])
def test_without_a_data_root_none_is_told(root: Path, text: str) -> None:
    (root / FILE).write_text(text)
    assert docker.parse(read(root, docker)).linked_roots == {}
    (root / FILE).unlink()
    assert docker.parse(read(root, docker)).linked_roots == {}


def test_a_daemon_json_that_is_no_file_is_told(root: Path) -> None:
    def found() -> tuple[str | None, str]:
        told = daemon_json.parse_files_of(read(root, daemon_json))
        return told.daemon_json, told.in_its_place

    path = root / FILE
    assert found() == (None, "")
    path.mkdir()
    assert found() == (None, "directory")
    path.rmdir()
    path.symlink_to("/dev/null")
    assert found() == (None, "character special file")
    path.unlink()
    path.symlink_to("site.json")
    assert found() == (None, "")
    (root / FOLDER / "site.json").write_text("")
    assert found() == ("", "")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("kind", ["a link to nothing", "a link to a file", "a link to itself"])
def test_a_daemon_json_behind_a_link_is_written(root: Path, kind: str) -> None:
    path, target = root / FILE, root / "site.json"
    path.symlink_to(path if kind.endswith("itself") else target)
    if kind.endswith("file"):
        target.write_text("")
    before = daemon_json.parse_files_of(read(root, daemon_json)).daemon_json
    was, keep = ("-", "replace") if before is None else (sha256(before), "keep")
    arguments = (str(path), was, ":", keep, sha256("{}\n"))
    content = base64.b64encode(b"{}\n").decode()
    done = Root(root).run(INSTALL, *arguments, stdin=content)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.read_text() == "{}\n"


def test_lists_of_mirrors_and_our_key_are_read(root: Path) -> None:
    files = {
        "etc/apt/sources.list.d/debian.list": "deb mirror+file:/etc/apt/mirrors/d.list sid main\n",
        "etc/apt/mirrors/d.list": "http://a.example/debian\n",
        "etc/apt/keyrings/apuhost-docker.asc": "KEY\n",
        "etc/apt/keyrings/other.asc": "OTHER\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    found = apt_sources.parse(read(root, apt_sources))
    assert [file.path for file in found.files] == [f"/{path}" for path in [*files][:3]]
    assert found.addresses(found.sources[0]) == ("http://a.example/debian",)


def test_a_certificate_that_goes_leaves_word_for_the_run_that_restarts_dockerd(root: Path) -> None:
    folder = root / "etc/systemd/system/docker.service.d"
    began = time.time()
    replaced = {daemon_json.DROP_INS: str(folder)}
    for _ in range(2):
        done = Root(root).run(steps.OUTDATE, replaced=replaced)
        assert (done.returncode, done.stderr) == (0, "")
    assert folder.stat().st_ctime >= began - 1


class Server(BaseHTTPRequestHandler):
    """A web server and a proxy in one: an address with a scheme was asked of the proxy."""

    def do_GET(self) -> None:
        """Say who was asked."""
        content = b"proxy" if self.path.startswith("http:") else b"host"
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


@pytest.mark.skipif(not Path("/usr/lib/apt/apt-helper").exists(), reason="apt is not here")
@pytest.mark.parametrize(
    ("hosts", "asked"),
    [
        pytest.param([], "proxy", id="nobody"),
        pytest.param(["localhost"], "host", id="the host"),
        pytest.param(["LOCALHOST"], "host", id="in capitals"),
        pytest.param([".localhost", "host"], "proxy", id="apt knows no ends of names"),
    ],
)
def test_apt_goes_past_the_proxy_for_the_hosts_of_its_file(
    tmp_path: Path, port: int, hosts: list[str], asked: str
) -> None:
    values = {"docker_proxy": f"http://127.0.0.1:{port}", "docker_direct_hosts": hosts}
    settings = tmp_path / "apt.conf"
    settings.write_text(roles.render("docker", changes.APT_PROXY, values))
    helper = shutil.which("/usr/lib/apt/apt-helper") or ""
    bare = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    said = ("download-file", f"http://localhost:{port}/x", str(tmp_path / "got"))
    subprocess.run(
        [helper, "-o", "APT::Sandbox::User=root", *said],
        env={**bare, "APT_CONFIG": str(settings)},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert (tmp_path / "got").read_text() == asked
