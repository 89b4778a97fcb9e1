"""The program that saves every boot, as the role renders it, under the real sh in a folder."""

import gzip
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import stack
from tests.support.host_root import Done, Root, give
from tests.support.hosts import host_facts, settings

from apuhost import saved_boot
from apuhost.changes import boot
from apuhost.derived import derive
from apuhost.probes import boots
from apuhost.probes.units import SCRIPT
from apuhost.roles import CHECKOUT
from apuhost.round_trip import Reading
from apuhost.saved_boot import SETTINGS

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
PROBES = f"""probe() {{
  printf '{saved_boot.MARK} begin %s\\n' "$1"
  sh -c "$2"
  printf '\\n{saved_boot.MARK} end %s %d\\n' "$1" "$?"
}}
probe kernel 'echo running 6.12'
probe boot 'printf "==apuhost-mark== whole\\0\\377"; exit 3'
"""
LED = ("/run/apuhost", "/run/motd.d", "/var/lib/apuhost", SCRIPT)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = Root(tmp_path, led=LED)
    give(tmp_path, {SCRIPT.lstrip("/"): PROBES, "bin/none": ""})
    return made


def program(**data: object) -> str:
    return rendered(**data)[boot.PROGRAM]


def rendered(**data: object) -> dict[str, str]:
    """Every file of the role on a host that has none."""
    facts = host_facts(units=stack.units({}))
    changes = boot.files(derive(settings(**data), facts), facts)
    return {change.path: change.after for change in changes}


def saves(root: Root, **data: object) -> Done:
    return root.run(program(**data))


def kept(root: Root) -> list[str]:
    return sorted(path.name for path in root.path(boots.FOLDER).iterdir())


def motd(root: Root) -> str:
    return root.path("/run/motd.d/apuhost").read_text()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_the_probes_print_is_saved_for_root_alone(root: Root) -> None:
    done = saves(root)
    assert (done.returncode, done.stderr) == (0, "")
    file = root.path(f"{boots.FOLDER}/{BOOT_ID}.gz")
    assert done.stdout == f"{file}\n"
    facts = saved_boot.read(boots.opened(file.read_bytes()), "box1")
    assert facts.readings == {
        "kernel": Reading("running 6.12\n", 0),
        "boot": Reading(f"{_mark(file)} whole\x00\udcff", 3),
    }
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert motd(root).startswith("apuhost: facts of this boot saved at 2")
    assert mode(root.path("/run/motd.d/apuhost")) == 0o644
    assert kept(root) == [file.name]


def _mark(file: Path) -> str:
    return boots.opened(file.read_bytes()).split(" ")[1]


def test_the_real_script_is_read_back_whole(root: Root) -> None:
    give(root.folder, {SCRIPT.lstrip("/"): rendered()[SCRIPT]})
    assert saves(root).returncode == 0
    file = root.path(f"{boots.FOLDER}/{BOOT_ID}.gz")
    facts = saved_boot.read(boots.opened(file.read_bytes()), "box1")
    assert facts.boot.boot_id == BOOT_ID
    assert "boots" not in facts.readings
    assert facts.kernel.running == os.uname().release


def test_a_later_run_takes_the_place_of_the_earlier_one(root: Root) -> None:
    saves(root)
    first = root.path(f"{boots.FOLDER}/{BOOT_ID}.gz").read_bytes()
    saves(root)
    assert kept(root) == [f"{BOOT_ID}.gz"]
    assert root.path(f"{boots.FOLDER}/{BOOT_ID}.gz").read_bytes() != first


def test_the_newest_boots_stay_and_this_one_whatever_the_clock_says(root: Root) -> None:
    folder = root.path(boots.FOLDER)
    folder.mkdir(parents=True)
    for number in range(1, 6):
        old = folder / f"{number}1111111-2222-4333-8444-555555555555.gz"
        old.write_bytes(b"x")
        os.utime(old, (2_000_000_000 + number,) * 2)  # this boot's clock is far behind
    saves(root, boot_keep=3)
    assert kept(root) == sorted(
        [f"{BOOT_ID}.gz", *(f"{n}1111111-2222-4333-8444-555555555555.gz" for n in (4, 5))]
    )


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("kill -9 $$\n", id="killed"),
        pytest.param("echo 'unfinished\n", id="cut"),
        pytest.param("exit 3\n", id="ended"),
    ],
)
def test_a_run_that_was_cut_off_saves_nothing_and_fails(root: Root, script: str) -> None:
    saves(root)
    before = root.path(f"{boots.FOLDER}/{BOOT_ID}.gz").read_bytes()
    give(root.folder, {SCRIPT.lstrip("/"): script})
    done = saves(root)
    assert done.returncode == 1
    assert "cut off: nothing is saved" in done.stderr
    assert root.path(f"{boots.FOLDER}/{BOOT_ID}.gz").read_bytes() == before
    assert "was not saved" in motd(root)


def test_what_systemd_ends_leaves_nothing_half(root: Root) -> None:
    root.program("gzip", "cat >/dev/null; sleep 60")
    with root.start(program()) as process:
        while not root.said:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(20) != 0
    assert kept(root) == []
    assert "was not saved" in motd(root)


def test_without_a_script_it_fails(root: Root) -> None:
    root.path(SCRIPT).unlink()
    done = saves(root)
    assert done.returncode != 0
    assert "probes: No such file" in done.stderr
    assert "was not saved" in motd(root)


def test_a_disk_that_is_full_fails(root: Root) -> None:
    root.program("gzip", "exit 1")
    done = saves(root)
    assert done.returncode != 0
    assert kept(root) == []
    assert "journalctl -b -u apuhost-boot.service" in motd(root)


CHECKOUT_HERE = "/opt/apuhost"
REPORT = """minipc  Debian 13

FAIL   kernel.gtt            31 GiB

kernel 6/7      6 of 7 good, 1 failed, 8 skipped
"""


def judge(root: Root, said: str, written: str = '{"schema": 1}') -> Root:
    """A root in which apuhost is installed, and says so."""
    led = Root(root.folder, led=(*LED, CHECKOUT_HERE))
    led.program(
        f"{CHECKOUT_HERE}/.venv/bin/apuhost",
        f"""for each in "$@"; do last=$each; done
        printf '%s' '{written}' >"$5"
        printf '%s' '{said}'; exit 1""",
    )
    return led


def test_where_apuhost_is_here_the_boot_is_judged_here(root: Root) -> None:
    here = judge(root, REPORT)
    done = saves(here, boot_checkout=CHECKOUT_HERE, boot_textfile_dir="/var/lib/node")
    assert (done.returncode, done.stderr) == (0, "")
    report = here.path("/var/lib/apuhost/report.txt")
    assert report.read_text() == REPORT
    assert (mode(report), mode(report.with_suffix(".json"))) == (0o600, 0o600)
    (said,) = here.said
    assert said.endswith("/report.json --metrics /var/lib/node/apuhost.prom")
    assert motd(here).startswith("apuhost: 6 of 7 good, 1 failed (kernel.gtt), 8 skipped, 2")
    assert "report.txt" in motd(here)


def test_a_good_boot_is_said_so(root: Root) -> None:
    here = judge(root, "minipc\n\nkernel 7/7      7 of 7 good\n")
    saves(here, boot_checkout=CHECKOUT_HERE)
    assert motd(here).startswith("apuhost: 7 of 7 good, 2")


def test_a_run_that_could_not_judge_fails_and_leaves_no_older_report(root: Root) -> None:
    saves(judge(root, REPORT), boot_checkout=CHECKOUT_HERE)
    here = judge(root, "", written="")
    done = saves(here, boot_checkout=CHECKOUT_HERE)
    assert done.returncode == 1
    assert "judged nothing" in done.stderr
    assert not list(here.path("/var/lib/apuhost").glob("report*"))
    assert f"{BOOT_ID}.gz" in kept(here)


def test_a_checkout_that_is_not_there_is_told(root: Root) -> None:
    done = saves(root, boot_checkout=f"{root.folder}/nowhere")
    assert done.returncode == 1
    assert "make install there" in done.stderr


def test_a_host_that_judges_no_more_has_no_report(root: Root) -> None:
    saves(judge(root, REPORT), boot_checkout=CHECKOUT_HERE)
    saves(root)
    assert not list(root.path("/var/lib/apuhost").glob("report*"))


def test_a_saved_boot_is_judged_by_the_command(root: Root) -> None:
    """The real command, by what this very machine is."""
    files = rendered(boot_checkout=str(CHECKOUT), host_roles=["kernel", "boot"])
    led = Root(root.folder, led=(*LED, "/etc/apuhost/"))
    paths = {path.lstrip("/"): files[path] for path in (SCRIPT, SETTINGS)}
    give(root.folder, {**paths, SCRIPT.lstrip("/"): led.here(files[SCRIPT], {})})
    assert saves(root).returncode == 0
    file = root.path(f"{boots.FOLDER}/{BOOT_ID}.gz")
    text = boots.opened(file.read_bytes())
    here, there = root.path(SETTINGS), SETTINGS
    framed = f"==> {len(files[there])} "
    assert f"{framed}{here}" in text
    told = text.replace(f"{framed}{here}", f"{framed}{there}")
    file.write_bytes(gzip.compress(told.encode("utf-8", "surrogateescape")))
    done = subprocess.run(
        [sys.executable, "-m", "apuhost.cli", "verify", "--from", str(file), "-v"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "boot.reports" in done.stdout, done.stderr
    assert done.stdout.startswith("minipc  ")


def probed(root: Root) -> boots.Boots:
    led = Root(root.folder, led=(boots.FOLDER,))
    done = led.run(boots.COMMAND)
    assert (done.returncode, done.stderr) == (0, "")
    return boots.parse(done.stdout)


def test_verify_reads_when_each_boot_was_saved_and_what_is_in_the_newest_past_ones(
    root: Root,
) -> None:
    assert probed(root).kept == ()
    saves(root)
    folder = root.path(boots.FOLDER)
    whole = (folder / f"{BOOT_ID}.gz").read_bytes()
    for number in range(1, 6):
        old = folder / f"{number}1111111-2222-4333-8444-555555555555.gz"
        old.write_bytes(whole if number != 5 else bytes(7 * 1024 * 1024))
        os.utime(old, (1_700_000_000 + number,) * 2)
    (folder / ".new").write_text("half")
    (folder / "notes.gz").write_text("mine")
    kept_ones = probed(root).kept
    assert [each.boot_id[0] for each in kept_ones[1:]] == ["5", "4", "3", "2", "1"]
    assert kept_ones[0].boot_id == BOOT_ID
    assert [each.text is not None for each in kept_ones] == [False, False, True, True, True, False]
    assert kept_ones[1].saved_at == 1_700_000_005
    assert kept_ones[2].text == boots.opened(whole)


def test_a_file_that_is_gone_meanwhile_is_passed_over(root: Root) -> None:
    saves(root)
    folder = root.path(boots.FOLDER)
    (folder / "11111111-2222-4333-8444-555555555555.gz").symlink_to("nowhere")
    done = Root(root.folder, led=(boots.FOLDER,)).run(boots.COMMAND)
    assert [each.boot_id for each in boots.parse(done.stdout).kept] == [BOOT_ID]


def test_what_judges_itself_tells_the_same_as_the_probe(root: Root) -> None:
    saves(root)
    folder = root.path(boots.FOLDER)
    whole = (folder / f"{BOOT_ID}.gz").read_bytes()
    for number in range(1, 6):
        old = folder / f"{number}1111111-2222-4333-8444-555555555555.gz"
        old.write_bytes(whole)
        os.utime(old, (1_700_000_000 + number,) * 2)
    assert boots.parse(boots.listed(folder.glob("*-*.gz"), BOOT_ID)) == probed(root)
