"""The scripts that set up the stack as root, under the real sh, beside programs that are not real.

Ollama's API is a stub on loopback, docker, apt and systemctl are scripts that note their arguments.
"""

import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.host_root import Done, Root, give
from tests.support.ollama_stub import free_port
from tests.support.ollama_stub import ollama as stub

from apuhost import roles
from apuhost.changes import compose, docker_ce, site_ca
from apuhost.changes import docker as changes
from apuhost.steps import docker, ollama, packages, units

HERE = "127.0.0.1"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "run").mkdir()
    (tmp_path / "bin").mkdir()
    return Root(tmp_path)


VERSION = {"/api/version": b'{"version":"0.34.4"}'}


def answers(root: Root, port: int, *, within: str = "180") -> Done:
    root.program("docker", "echo 'no GPU here' >&2")
    replaced = {"timeout 180": f"timeout {within}"}
    script = f'{ollama.ANSWERS}answers "$@"'
    return root.run(script, HERE, str(port), "ollama", replaced=replaced)


def test_connections_that_are_reset_are_no_answer_yet(root: Root) -> None:
    """Docker's own proxy takes connections before Ollama listens, and resets them."""
    with socket.create_server((HERE, 0)) as listening:
        threading.Thread(target=_reset_then_answer, args=(listening,), daemon=True).start()
        done = answers(root, listening.getsockname()[1], within="20")
    assert (done.returncode, done.stderr) == (0, "")


def _reset_then_answer(listening: socket.socket) -> None:
    for number in range(4):
        connection, _ = listening.accept()
        if number == 3:
            connection.sendall(b'HTTP/1.0 200 OK\r\n\r\n{"version":"0.34.4"}')
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1024)
        else:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def test_an_ollama_that_answers_is_waited_for(root: Root) -> None:
    port, found = free_port(), []
    waiting = threading.Thread(target=lambda: found.append(answers(root, port)))
    waiting.start()
    time.sleep(2)
    with stub({}, port) as server:
        while not server.requests:  # open, but without an answer yet
            time.sleep(0.1)
        server.answers.update(VERSION)
        waiting.join(20)
    assert (found[0].returncode, found[0].stderr) == (0, "")
    assert root.said == []


@pytest.mark.parametrize("reply", [None, b"some other program"], ids=["nobody", "another program"])
def test_an_ollama_that_never_answers_fails_with_its_last_words(
    root: Root, reply: bytes | None
) -> None:
    with stub({"/api/version": reply} if reply else {}) as server:
        port = server.port if reply else free_port()
        done = answers(root, port, within="3")
    assert done.returncode == 1
    assert f"does not answer on {HERE}:{port}" in done.stderr
    assert "no GPU here" in done.stderr
    assert root.said == ["docker logs --tail 20 -- ollama"]


# An engine whose containers are files: their name, and in them who made them and how they are.
# `docker compose up` makes one, and ends as the test says.
ENGINE = """
cd {folder}
for last in "$@"; do :; done
is() {{ echo "$(cut -d' ' -f1 "$1") $2" >"$1"; }}
case "$1 $2" in
  "container inspect") [ -e "$last" ] ;;
  "inspect -f") echo "{run_with}" ;;
  "stop -t") [ -z "{goes}" ] || rm "$last"; [ ! -e "$last" ] ||
    is "$last" stopped ;;
  "start --") is "$last" running ;;
  "rename --") [ ! -e "$4" ] && mv "$3" "$4" ;;
  "rm --" | "rm --force") rm "$last" ;;
  "compose -p") echo "theirs running" >ollama ;;
  "compose -f") [ -z "{fails}" ] || {{ echo "{fails}" >&2; exit 1; }}
    echo "ours running" >ollama ;;
  "logs --tail") echo "no GPU here" ;;
esac
"""
BEFORE = "ollama-before-apuhost"


def run(  # noqa: PLR0913  (each is one thing that an engine may do)
    root: Root,
    containers: dict[str, str],
    whose: str,
    *,
    fails: str = "",
    answers: bool = True,
    goes: str = "",
    run_with: str = "false ollama",
    back: tuple[str, ...] = (),
) -> tuple[Done, dict[str, str]]:
    """What RUN says, and the containers that there are after it."""
    folder = root.folder / "containers"
    folder.mkdir()
    give(folder, containers)
    said = {"fails": fails, "goes": goes, "run_with": run_with}
    root.program("docker", ENGINE.format(folder=folder, **said))
    with stub(VERSION if answers else {}) as server:
        port = str(server.port)
        words = ("--force-recreate", HERE, port, "ollama", BEFORE, whose, *back)
        done = root.run(ollama.RUN, *words, replaced={"timeout 180": "timeout 3"})
    return done, {path.name: path.read_text().strip() for path in sorted(folder.iterdir())}


OURS = {"ollama": "ours running"}
THEIRS = {"ollama": "theirs running"}


def test_our_container_is_made_by_compose_alone(root: Root) -> None:
    done, after = run(root, {}, "ours")
    assert (done.returncode, done.stderr, after) == (0, "", OURS)
    up = f"docker compose -f {compose.PATH} up --detach --no-build --pull never"
    assert f"{up} --force-recreate" in root.said


def test_a_container_of_somebody_else_makes_room(root: Root) -> None:
    done, after = run(root, THEIRS, "foreign")
    assert (done.returncode, done.stderr, after) == (0, "", OURS)
    assert "docker stop -t 30 -- ollama" in root.said


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        pytest.param({"fails": "port is taken"}, "port is taken", id="compose fails"),
        pytest.param({"answers": False}, "no GPU here", id="Ollama does not answer"),
    ],
)
@pytest.mark.parametrize(
    ("containers", "whose"),
    [
        pytest.param(THEIRS, "foreign", id="at once"),
        pytest.param({BEFORE: "theirs stopped"}, "ours", id="after a run that ended between"),
        pytest.param({BEFORE: "theirs running"}, "ours", id="and a boot that started it"),
        pytest.param({BEFORE: "theirs stopped", **OURS}, "ours", id="before it answered"),
    ],
)
def test_the_container_of_somebody_else_comes_back_when_ours_fails(
    root: Root, containers: dict[str, str], whose: str, fault: dict[str, Any], says: str
) -> None:
    done, after = run(root, containers, whose, **fault)
    assert (done.returncode, after) == (1, THEIRS)
    assert says in done.stdout + done.stderr
    assert "the container before runs again" in done.stderr


def test_one_of_our_project_comes_back_from_its_own_file(root: Root) -> None:
    """Compose knows it by its labels, whatever its name: it is not put aside."""
    back = ("-p", "ollama", "--project-directory", "/home/a b", "-f", "/home/a b/compose.yaml")
    done, after = run(root, THEIRS, "ours", answers=False, back=back)
    assert (done.returncode, after) == (1, THEIRS)
    assert root.said[-1] == (
        f"docker compose {' '.join(back)} up --detach --no-build --pull never --no-deps ollama"
    )


@pytest.mark.parametrize("state", ["stopped", "running"])
def test_what_an_earlier_run_put_aside_goes_when_ours_answers(root: Root, state: str) -> None:
    done, after = run(root, {BEFORE: f"theirs {state}", **OURS}, "ours")
    assert (done.returncode, after) == (0, OURS)


def test_a_container_that_was_made_again_meanwhile_is_put_aside_too(root: Root) -> None:
    done, after = run(root, {BEFORE: "older stopped", **THEIRS}, "foreign", fails="no")
    assert (done.returncode, after) == (1, THEIRS)


@pytest.mark.parametrize(
    ("mounts", "refused"), [(f"{'0a' * 32}", True), ("ollama", False)], ids=["nameless", "named"]
)
def test_a_container_that_takes_its_models_along_is_left(
    root: Root, mounts: str, refused: bool
) -> None:
    done, after = run(root, THEIRS, "foreign", run_with=f"true {mounts}")
    assert (done.returncode == 1) == refused
    assert after == (THEIRS if refused else OURS)


def test_a_container_that_goes_by_itself_is_in_nobodys_way(root: Root) -> None:
    done, after = run(root, THEIRS, "foreign", run_with="true ollama", goes="yes")
    assert (done.returncode, after) == (0, OURS)


def test_what_compose_says_is_told_when_it_fails(root: Root) -> None:
    done, after = run(root, OURS, "ours", fails="no such device")
    assert (done.returncode, after) == (1, OURS)
    assert "no such device" in done.stdout


def test_a_volume_is_made_by_its_name(root: Root) -> None:
    root.program("docker")
    assert root.run(ollama.VOLUME, "ollama_ollama").returncode == 0
    assert root.said == ["docker volume create -- ollama_ollama"]


IMAGE = "docker.io/ollama/ollama:0.34.4@sha256:" + "ab" * 32
QUICK = {"5 20 0": "0.1 0.1 0", "while sleep 1;": "while sleep 0.1;"}


def test_an_image_is_pulled_once_when_that_works(root: Root) -> None:
    root.program("docker")
    assert root.run(ollama.PULL, IMAGE, replaced=QUICK).returncode == 0
    assert root.said == [f"docker pull -- {IMAGE}"]
    assert list(root.path("/run/apuhost").iterdir()) == []


def test_a_pull_says_how_many_layers_are_here(root: Root) -> None:
    said = "\\n".join([*[f"{name}: Pulling fs layer" for name in "abc"], "a: Pull complete"])
    root.program("docker", f"printf '{said}\\n'; sleep 2")
    done = root.run(ollama.PULL, IMAGE, replaced=QUICK)
    assert (done.returncode, done.stdout) == (0, "1 of 3 layers\n")


def test_a_broken_connection_is_tried_thrice(root: Root) -> None:
    root.program("docker", f"[ $(grep -c pull {root.folder}/said) = 3 ]")
    assert root.run(ollama.PULL, IMAGE, replaced=QUICK).returncode == 0
    assert len(root.said) == 3


def test_a_registry_that_never_answers_fails(root: Root) -> None:
    root.program("docker", "echo 'connection reset' >&2; exit 1")
    done = root.run(ollama.PULL, IMAGE, replaced=QUICK)
    assert done.returncode == 1
    assert "connection reset" in done.stderr
    assert len(root.said) == 3


APT = "-q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 " + (
    "-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
)


UPDATE = "update -o APT::Update::Error-Mode=any"


def test_packages_are_installed_in_one_run_and_nothing_is_removed(root: Root) -> None:
    for name in ("dpkg", "apt-get"):
        root.program(name)
    assert root.run(packages.INSTALL, "docker.io", "docker-cli").returncode == 0
    install = "install -y --no-install-recommends --no-remove -- docker.io docker-cli"
    assert root.said == ["dpkg --audit", f"apt-get {APT} {UPDATE}", f"apt-get {APT} {install}"]


@pytest.mark.parametrize("changes", [False, True])
def test_lists_that_were_fetched_just_now_do_for_the_next_package(
    root: Root, changes: bool
) -> None:
    root.program("apt-get")
    root.program("dpkg")
    sources = root.path("/etc/apt/sources.list")
    give(sources.parent, {sources.name: "deb http://deb.example/debian trixie main\n"})
    os.utime(sources, (1, 1))
    os.utime(sources.parent, (1, 1))
    led = {"/etc/apt/": f"{sources.parent}/"}
    assert root.run(packages.INSTALL, "one", replaced=led).returncode == 0
    if changes:
        os.utime(sources, (time.time() + 5, time.time() + 5))
    assert root.run(packages.INSTALL, "two", replaced=led).returncode == 0
    updates = [line for line in root.said if line.endswith(UPDATE)]
    assert len(updates) == (2 if changes else 1)


def test_a_broken_dpkg_is_finished_first(root: Root) -> None:
    root.program("dpkg", 'case "$1" in --audit) echo "half" ;; esac')
    root.program("apt-get")
    assert root.run(packages.INSTALL, "docker.io").returncode == 0
    assert root.said[1] == "dpkg --force-confdef --force-confold --configure -a"


def test_lists_that_cannot_be_fetched_are_said_and_gone_on_without(root: Root) -> None:
    root.program("dpkg")
    # By itself apt-get ends well where it reached nothing.
    root.program("apt-get", 'case "$*" in *Error-Mode=any) exit 100 ;; esac')
    done = root.run(packages.INSTALL, "docker.io")
    assert done.returncode == 0
    assert "apt-get update failed" in done.stderr


def test_a_package_that_cannot_be_installed_fails(root: Root) -> None:
    root.program("dpkg")
    root.program("apt-get", 'case "$*" in *install*) exit 100 ;; esac')
    assert root.run(packages.INSTALL, "docker.io").returncode == 100


def test_a_user_joins_a_group_and_leaves_none(root: Root) -> None:
    root.program("usermod")
    assert root.run(packages.JOIN, "admin", "render").returncode == 0
    assert root.said == ["usermod -aG render -- admin"]


KEYRING = "/etc/apt/keyrings/apuhost-docker.asc"


def armoured(root: Root, *names: str) -> str:
    """New keys in one file, as a vendor publishes them."""
    home = root.folder / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    for name in names:
        subprocess.run([*gpg, "--quick-generate-key", name, "ed25519", "sign"], check=True)
    exported = subprocess.run([*gpg, "--armor", "--export"], capture_output=True, check=True)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True)
    return exported.stdout.decode()


def fingerprints(root: Root) -> list[str]:
    listing = ["gpg", "--homedir", str(root.folder / "gnupg"), "--with-colons", "--list-keys"]
    said = subprocess.run(listing, capture_output=True, check=True, text=True).stdout
    return re.findall(r"^fpr:+([0-9A-F]+):$", said, re.MULTILINE)


def take_key(root: Root, published: str, fingerprint: str) -> Done:
    for name in ("dpkg", "apt-get"):
        root.program(name)
    (root.folder / "published").write_text(published)
    root.program(
        "/usr/lib/apt/apt-helper", f'for file; do :; done; cp {root.folder}/published "$file"'
    )
    return root.run(docker.KEY, fingerprint, str(root.path(KEYRING)))


needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg is not here")


@needs_gpg
def test_dockers_key_is_taken_by_its_fingerprint(root: Root) -> None:
    published = armoured(root, "docker")
    done = take_key(root, published, *fingerprints(root))
    assert done.returncode == 0
    assert root.path(KEYRING).read_text() == published
    assert root.path(KEYRING).stat().st_mode & 0o777 == 0o644
    assert [path.name for path in root.path(KEYRING).parent.iterdir()] == ["apuhost-docker.asc"]


@needs_gpg
@pytest.mark.parametrize("names", [("another",), ("docker", "another")])
def test_another_key_and_a_second_one_are_not_trusted(root: Root, names: tuple[str, ...]) -> None:
    published = armoured(root, *names)
    right = fingerprints(root)[0] if len(names) > 1 else docker_ce.FINGERPRINT
    done = take_key(root, published, right)
    assert done.returncode == 1
    assert "not trusted" in done.stderr
    assert not root.path(KEYRING).exists()


@needs_gpg
@pytest.mark.parametrize("published", ["", "<html>407 Proxy Authentication Required</html>"])
def test_what_is_no_key_is_not_trusted(root: Root, published: str) -> None:
    done = take_key(root, published, docker_ce.FINGERPRINT)
    assert done.returncode == 1
    assert not root.path(KEYRING).exists()


def replaced(root: Root, *going: str) -> Done:
    """Docker's packages in the place of two others, where apt would remove these."""
    root.program("dpkg")
    lines = "".join(f"Remv {name} [1.0]\\n" for name in going)
    root.program("apt-get", f'case "$*" in *" -s "*) printf "{lines}" ;; esac')
    return root.run(docker.REPLACE, "docker.io runc", "docker-ce", "docker.io-", "runc-")


def test_what_cannot_stand_beside_dockers_packages_goes_with_their_coming(root: Root) -> None:
    assert replaced(root, "docker.io", "runc").returncode == 0
    install = "install -y --no-install-recommends -- docker-ce docker.io- runc-"
    assert root.said[-1] == f"apt-get {APT} {install}"


def test_nothing_else_goes(root: Root) -> None:
    done = replaced(root, "docker.io", "cockpit-docker")
    assert (done.returncode, done.stderr) == (
        1,
        "apt would remove cockpit-docker, too: not begun\n",
    )
    assert not any("-y" in line for line in root.said)


HOSTS = ["a-b.example", "192.0.2.1"]
needs_apt = pytest.mark.skipif(not shutil.which("apt-config"), reason="apt is not here")


@needs_apt
def test_apt_reads_the_proxys_file_as_it_is_meant(tmp_path: Path) -> None:
    proxy = "http://[2001:db8::1]:3128"
    values = {"docker_proxy": proxy, "docker_direct_hosts": HOSTS}
    file = tmp_path / "apt.conf"
    file.write_text(roles.render("docker", changes.APT_PROXY, values))
    said = subprocess.run(
        ["apt-config", "dump", "Acquire"],
        env={**os.environ, "APT_CONFIG": str(file)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert said.stderr == ""
    for scheme in ("http", "https"):
        assert f'Acquire::{scheme}::Proxy "{proxy}";' in said.stdout.splitlines()
        for host in HOSTS:
            assert f'Acquire::{scheme}::Proxy::{host} "DIRECT";' in said.stdout.splitlines()


@pytest.mark.parametrize(("there", "option"), [(True, ""), (False, "--fresh")])
def test_certificates_are_made_known(root: Root, there: bool, option: str) -> None:
    """Debian leaves a dangling link of what is gone, unless it is told to begin afresh."""
    root.program("update-ca-certificates")
    certificate = root.folder / "site.crt"
    if there:
        certificate.write_text("PEM")
    replaced = {site_ca.PATH: str(certificate)}
    assert root.run(docker.TRUST, replaced=replaced).returncode == 0
    assert root.said == [f"update-ca-certificates {option}"]


def test_certificates_are_made_known_by_one_run_at_a_time(root: Root) -> None:
    root.program("update-ca-certificates")
    root.program("flock", "exit 1")
    done = root.run(docker.TRUST)
    assert (done.returncode, root.said) == (1, ["flock -w 300 9"])
    assert "another apuhost run" in done.stderr


SERVICE = "systemctl {} docker.service"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(docker.RELOAD, [SERVICE.format("reload")], id="reload"),
        pytest.param(
            docker.START,
            ["systemctl daemon-reload", "systemctl enable --now docker.service"],
            id="start",
        ),
        pytest.param(
            docker.RESTART,
            [
                "systemctl daemon-reload",
                SERVICE.format("reload"),
                "docker info -f {{.LiveRestoreEnabled}}",
                SERVICE.format("restart"),
                "docker info",
            ],
            id="restart: live-restore is taken up before",
        ),
    ],
)
def test_the_engine_is_told_through_systemd(root: Root, script: str, said: list[str]) -> None:
    root.program("systemctl")
    root.program("docker", "echo true")
    assert root.run(script).returncode == 0
    assert root.said == said
    assert root.path("/run/apuhost/docker-reloaded").exists() == (script == docker.RELOAD)


def engine(root: Root, *, live_after: int, containers: str = "echo 1a", back: str = "") -> None:
    """A dockerd that has live-restore after some questions; `back` is what it says restarted."""
    root.program("systemctl")
    asked = f"$(grep -c LiveRestore {root.folder}/said)"
    live = f"[ {asked} -gt {live_after} ] && echo true || echo false"
    root.program("docker", f'case "$*" in ps*) {containers} ;; *-f*) {live} ;; *) {back} ;; esac')


def test_a_restart_waits_until_containers_survive_it(root: Root) -> None:
    engine(root, live_after=2)
    assert root.run(docker.RESTART).returncode == 0
    asked = "docker info -f {{.LiveRestoreEnabled}}"
    assert root.said[1:] == [
        SERVICE.format("reload"), *[asked] * 3, SERVICE.format("restart"), "docker info",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("containers", "restarted"),
    [
        pytest.param("echo 1a", False, id="a container would end"),
        pytest.param("exit 1", False, id="an engine that does not tell"),
        pytest.param("", True, id="no container: a restart ends none"),
    ],
)
def test_a_restart_that_would_end_containers_is_not_begun(
    root: Root, containers: str, restarted: bool
) -> None:
    engine(root, live_after=99, containers=containers)
    done = root.run(docker.RESTART, replaced={"timeout 30": "timeout 1"})
    assert (SERVICE.format("restart") in root.said) == restarted == (done.returncode == 0)
    assert ("a restart would end its containers" in done.stderr) != restarted


def test_an_engine_that_does_not_come_back_fails(root: Root) -> None:
    engine(root, live_after=0, back="echo 'cannot connect' >&2; exit 1")
    done = root.run(docker.RESTART)
    assert done.returncode == 1
    assert "cannot connect" in done.stderr


def test_a_daemon_json_is_asked_of_dockerd_where_there_is_one(root: Root) -> None:
    root.program("dockerd", "echo 'unable to configure' >&2; exit 1")
    new = root.folder / "daemon.json.apuhost-new"
    done = root.run(docker.VALID, str(new))
    assert done.returncode == 1
    assert "unable to configure" in done.stdout
    assert root.said == [f"dockerd --validate --config-file {new}"]


def test_a_daemon_json_is_judged_beside_the_flags_of_the_running_dockerd(root: Root) -> None:
    """Dockerd does not start where a flag and the file say the same key."""
    with subprocess.Popen(["sleep", "60"]) as running:
        root.program("dockerd")
        root.program("systemctl", f"echo MainPID={running.pid}")
        done = root.run(docker.VALID, "/etc/docker/new")
        running.kill()
    assert (done.returncode, done.stderr) == (0, "")
    assert root.said[-1] == "dockerd 60 --validate --config-file /etc/docker/new"


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        pytest.param(
            "-H fd:// --log-driver=journald", "-H fd:// --log-driver=journald", id="flags"
        ),
        pytest.param("-H fd:// $OPTS", "-H fd:// --log-driver local --debug", id="a file's words"),
        pytest.param("${LEVEL}", "--log-level=warn", id="a line of the unit"),
        pytest.param("--debug $NONE *", "--debug *", id="a variable that nobody sets"),
    ],
)
def test_a_stopped_dockerd_would_have_the_flags_of_its_unit(
    root: Root, words: str, flags: str
) -> None:
    """Docker's own units, and what an operator's drop-in makes of them."""
    defaults = root.folder / "default"
    defaults.write_text("# OPTS=--no\nOPTS=--old\nOPTS='--log-driver local --debug'\n")
    start = f"{{ path=/usr/bin/dockerd ; argv[]=/usr/bin/dockerd {words} ; ignore_errors=no ;"
    root.program("dockerd")
    root.program(
        "systemctl",
        f"""case "$*" in
*MainPID) echo MainPID=0 ;;
*ExecStart) echo 'ExecStart={start} start_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }}' ;;
*EnvironmentFiles) printf 'EnvironmentFiles=%s (ignore_errors=yes)\\n' /none {defaults} ;;
*Environment) echo 'Environment=A=b "LEVEL=--log-level=warn"' ;;
esac""",
    )
    done = root.run(docker.VALID, "/etc/docker/new")
    assert (done.returncode, done.stderr) == (0, "")
    assert root.said[-1] == f"dockerd {flags} --validate --config-file /etc/docker/new"


def test_a_stopped_dockerd_without_flags_is_asked_without(root: Root) -> None:
    root.program("dockerd")
    start = "{ path=/x ; argv[]=/x ; ignore_errors=no ; }"
    root.program("systemctl", f"case $* in *ExecStart) echo 'ExecStart={start}' ;; esac")
    assert root.run(docker.VALID, "/etc/docker/new").returncode == 0
    assert root.said[-1] == "dockerd --validate --config-file /etc/docker/new"


UNITS = {
    "/etc/systemd/system/apuhost-ollama.service": "ollama",
    "/etc/systemd/system/apuhost-firewall.service": "ollama",
    "/etc/systemd/system/apuhost-models.service": "models",
    "/etc/systemd/system/apuhost-boot.service": "boot",
    "/etc/systemd/system/apuhost-boot.timer": "boot",
    "/etc/systemd/system/apuhost-files.service": "mirror",
    "/etc/systemd/system/apuhost-registry.service": "mirror",
}
MIRROR = {"mirror_authority": "/var/lib/apuhost/mirror/ca", "mirror_privileged": True}
SERVERS = re.compile(r"ExecStart=(?:docker|/usr/bin/docker-registry|/usr/sbin/nginx)")
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")


def verified(root: Root, path: str, text: str) -> Done:
    new = root.folder / f"{Path(path).name}.apuhost-new"
    new.write_text(text)
    there = root.folder / "units"  # a host that has Docker, whether this machine has it or not
    there.mkdir()
    (there / "docker.service").write_text("[Service]\nExecStart=true\n")
    quoted = units.VERIFIED.replace("'", "'\\''")
    return root.run(f"SYSTEMD_UNIT_PATH={there}: sh -c '{quoted}' check \"$1\"", str(new))


@needs_systemd
@pytest.mark.parametrize("path", UNITS)
def test_our_units_are_right_for_systemd(root: Root, path: str) -> None:
    text = roles.render(UNITS[path], path, {"boot_every_h": 24, **MIRROR})
    done = verified(root, path, SERVERS.sub("ExecStart=true", text))
    assert (done.returncode, done.stdout) == (0, "\n")


@needs_systemd
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("ExecStart=/bin/bash", "ExecStart=/bin/no-such-shell", id="no such program"),
        pytest.param("RemainAfterExit", "RemainAfterExti", id="an unknown key"),
        pytest.param("[Service]", "[Servcie]", id="an unknown section"),
    ],
)
def test_a_unit_that_systemd_would_not_take_is_refused(root: Root, right: str, wrong: str) -> None:
    path = "/etc/systemd/system/apuhost-models.service"
    done = verified(root, path, roles.render("models", path, {}).replace(right, wrong))
    assert done.returncode != 0
    assert re.search("no-such-shell|RemainAfterExti|Servcie", done.stdout)


def test_a_unit_is_enabled_and_started_anew(root: Root) -> None:
    root.program("systemctl")
    assert root.run(units.ENABLE, "apuhost-models.service").returncode == 0
    assert root.said == [
        "systemctl daemon-reload",
        "systemctl enable --quiet -- apuhost-models.service",
        "systemctl restart -- apuhost-models.service",
    ]


def test_a_unit_that_fails_tells_its_journal(root: Root) -> None:
    root.program("systemctl", 'case "$1" in restart) exit 1 ;; esac')
    root.program("journalctl", "echo 'qwen3.6:35b-a3b has 0 of 9 bytes on the GPU'")
    done = root.run(units.ENABLE, "apuhost-models.service")
    assert done.returncode == 1
    assert "0 of 9 bytes on the GPU" in done.stderr
