"""Facts on disk give the same verdicts later and elsewhere; secrets are never among them."""

import errno
import gzip
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import (
    GATHERED,
    LINE,
    PARAMETERS,
    PARTS,
    REFERENCE,
    host_facts,
    menu,
    settings,
    unit_files,
)
from tests.support.rights import ordinary_user
from tests.support.stack import framed
from tests.support.verdicts import unread

from apuhost import evidence
from apuhost.changes import boot
from apuhost.derived import derive
from apuhost.evidence import INDEX, EvidenceError, files
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.inventory import Host
from apuhost.round_trip import PROBES, Reading
from apuhost.saved_boot import SETTINGS
from apuhost.settings import as_data
from apuhost.verdicts.host import verdicts

DATA = {
    "kernel_gtt_gib": 48,
    "host_simulated": None,
    "models_list": [REFERENCE],
    "ssh_user": "operator",
    "_sudo_password": "secret",
    "ssh_key_password": "secret",
}
BOX = Host("box1", (), DATA)


def saved(folder: Path, facts: HostFacts, host: Host = BOX) -> Path:
    return evidence.save(folder, host, facts)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(host_facts(), id="healthy"),
        pytest.param(host_facts(cmdline=f"{LINE} quiet\n"), id="not rebooted"),
        pytest.param(host_facts(grub={"/etc/default/grub": "A='\udcff'\r\n"}), id="odd bytes"),
        pytest.param(
            HostFacts("minipc", GATHERED, {"kernel": Reading("running 6.12", 0)}), id="hardly any"
        ),
    ],
)
def test_saved_facts_give_the_same_verdicts(tmp_path: Path, facts: HostFacts) -> None:
    saved(tmp_path, facts)
    asked, loaded = evidence.load(tmp_path).hosts["box1"]
    assert loaded.readings == facts.readings
    assert loaded.gathered == facts.gathered
    here = replace(facts, saved=True)  # what was not read is called by its file
    assert verdicts(asked, loaded) == verdicts(settings(kernel_gtt_gib=48), here)


def test_secrets_are_not_saved(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    texts = "".join(file.read_text() for file in folder.iterdir())
    assert "secret" not in texts
    assert "operator" not in texts


HASH = "grub.pbkdf2.sha512.10000.C0FFEE.BEEF"


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        pytest.param(f"password_pbkdf2 root {HASH}", HASH, id="a hash"),
        pytest.param("\tpassword root s3cr3t", "s3cr3t", id="a plain word"),
        pytest.param('password "the admin" "my s3cr3t"', "s3cr3t", id="quoted"),
        pytest.param("if true; then password root pässwort; fi", "pässwort", id="not ASCII"),
    ],
)
def test_boot_passwords_are_masked_and_the_menu_stays_readable(
    tmp_path: Path, line: str, secret: str
) -> None:
    facts = host_facts(grub_cfg=f"{line}\n{menu(f'quiet {PARAMETERS}')}")
    folder = saved(tmp_path, facts)
    assert secret not in (folder / "grub_cfg.txt").read_text()
    _, loaded = evidence.load(tmp_path).hosts["box1"]
    assert loaded.grub_cfg == facts.grub_cfg


PROXIES = '{"log-driver": "json-file", "proxies": {"http-proxy": "http://joe:s3cr3t@proxy:3128"}}'
DROP_IN = "/etc/systemd/system/docker.service.d/proxy.conf"
URIS = "Types: deb\nURIs: https://joe:s3cr3t@mirror.example/debian\nSuites: trixie\n"


@pytest.mark.parametrize(
    ("probe", "text"),
    [
        pytest.param("daemon_json", framed({"/etc/docker/daemon.json": PROXIES}), id="daemon.json"),
        pytest.param(
            "daemon_json",
            framed({DROP_IN: '[Service]\nEnvironment="HTTPS_PROXY=joe:s3cr3t@proxy:3128"\n'}),
            id="a drop-in of docker.service",
        ),
        pytest.param(
            "apt_sources",
            f"candidate firmware-amd-graphics 1\n{framed({'/etc/apt/sources.list': URIS})}",
            id="package sources",
        ),
        pytest.param(
            "units",
            stack.units({"/etc/apt/apt.conf.d/9apuhost": 'X::Proxy "https://joe:s3cr3t@p:1";\n'}),
            id="apt.conf",
        ),
        pytest.param("cmdline", f"{LINE} url=http://joe:s3cr3t@h/x {PARAMETERS}\n", id="a line"),
    ],
)
def test_logins_are_masked_and_the_rest_stays_readable(
    tmp_path: Path, probe: str, text: str
) -> None:
    facts = HostFacts("minipc", GATHERED, {**host_facts().readings, probe: Reading(text, 0)})
    folder = saved(tmp_path, facts)
    kept = (folder / f"{probe}.txt").read_text()
    assert kept == text.replace("joe:s3cr3t", "x" * len("joe:s3cr3t"))
    asked, loaded = evidence.load(tmp_path).hosts["box1"]
    assert getattr(loaded, probe)
    assert verdicts(asked, loaded) == verdicts(settings(kernel_gtt_gib=48), facts)


def test_a_login_in_a_setting_is_masked_as_on_the_host(tmp_path: Path) -> None:
    argument = "url=http://joe:s3cr3t@h/x"
    facts = host_facts(cmdline=f"{LINE} {argument} {PARAMETERS}\n")
    box = Host("box1", (), {**DATA, "kernel_extra_args": [argument]})
    folder = saved(tmp_path, facts, box)
    assert "s3cr3t" not in "".join(file.read_text() for file in folder.iterdir())
    asked, loaded = evidence.load(tmp_path).hosts["box1"]
    (kept,) = asked.kernel.kernel_extra_args
    assert kept == f"url={loaded.cmdline.effective('url')}"


def test_only_the_owner_reads_what_root_read(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_a_folder_of_somebody_else_is_refused_and_stays(tmp_path: Path) -> None:
    notes = tmp_path / "box1" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("kept")
    with pytest.raises(EvidenceError, match="holds other files than facts"):
        saved(tmp_path, host_facts())
    assert [path.name for path in tmp_path.rglob("*")] == ["box1", "notes.txt"]
    assert notes.read_text() == "kept"


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        pytest.param((), ["box1", "box2", "nuc"], id="none"),
        pytest.param(("box1",), ["box1"], id="a name"),
        pytest.param(("box*",), ["box1", "box2"], id="a pattern"),
        pytest.param(("nuc", "box1"), ["box1", "nuc"], id="two"),
        pytest.param(("box[1:3]",), ["box1", "box2"], id="a range"),
    ],
)
def test_limits_choose_among_saved_hosts(
    tmp_path: Path, limits: tuple[str, ...], found: list[str]
) -> None:
    for name in ("box1", "box2", "nuc"):
        saved(tmp_path, host_facts(), Host(name, (), {}))
    assert list(evidence.load(tmp_path, limits).hosts) == found
    with pytest.raises(EvidenceError, match="--limit box9 matches no host"):
        evidence.load(tmp_path, (*limits, "box9"))


def test_saving_again_replaces_the_older_facts(tmp_path: Path) -> None:
    saved(tmp_path, host_facts())
    few = HostFacts("box1", GATHERED, {"kernel": Reading("running 6.12", 0)})
    folder = saved(tmp_path, few)
    assert sorted(file.name for file in folder.iterdir()) == [INDEX, "kernel.txt"]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


@pytest.mark.parametrize("name", ["@local", "box 1", "a/../../b", ".", "..", ".hidden", "bøx"])
def test_any_host_name_is_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "facts"
    bystander = inside / "box9" / "notes.txt"
    bystander.parent.mkdir(parents=True)
    bystander.write_text("kept")
    folder = saved(inside, host_facts(), Host(name, (), {}))
    assert folder.resolve().parent == inside.resolve()
    assert bystander.read_text() == "kept"
    assert list(evidence.load(inside).hosts) == [name]


def test_a_folder_without_facts_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no facts in it"):
        evidence.load(tmp_path)
    with pytest.raises(EvidenceError, match="nosuch: No such file or directory"):
        evidence.load(tmp_path / "nosuch")


def test_an_unfinished_save_is_not_read(tmp_path: Path) -> None:
    saved(tmp_path, host_facts()).rename(tmp_path / ".box1.new")
    with pytest.raises(EvidenceError, match="no facts in it"):
        evidence.load(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EvidenceError, match="file"):
        saved(tmp_path / "file", host_facts())


def index(**others: object) -> str:
    """A right index of box1, or one with something else in it; None takes a field away."""
    right = {
        "host": "box1",
        "gathered": GATHERED,
        "apuhost": "0.0.1",
        "settings": {},
        "status": {"cmdline": 0},
    }
    return json.dumps({key: each for key, each in {**right, **others}.items() if each is not None})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "no JSON", id="empty"),
        pytest.param("[]", "holds a list where an object belongs", id="a list"),
        pytest.param("null", "holds null where an object belongs", id="null"),
        pytest.param("{", "no JSON", id="cut"),
        pytest.param("[" * 100_000, "no JSON", id="endless"),
        pytest.param(index(host=None), "host is missing: the host's name", id="no host"),
        pytest.param(index(host=5), "host is 5: the host's name, a string", id="a number"),
        pytest.param(index(host=""), 'host is "": the host', id="no name"),
        pytest.param(index(gathered=None), "gathered is missing: when the facts", id="no time"),
        pytest.param(index(gathered="yesterday"), 'gathered is "yesterday": when', id="a word"),
        pytest.param(index(gathered=1e30), "gathered is 1e+30", id="no text"),
        pytest.param(index(gathered="2026-11-29T09:14:00"), "gathered is", id="no zone"),
        pytest.param(index(gathered="0001-01-01T00:00:00+14:00"), "gathered is", id="no UTC"),
        pytest.param(index(apuhost=None), "apuhost is missing: the version", id="no version"),
        pytest.param(index(apuhost="new"), 'apuhost is "new": the version', id="no number"),
        pytest.param(index(apuhost="999.0"), "by apuhost 999.0, and this is", id="newer"),
        pytest.param(index(settings=[]), "settings is []: an object", id="settings"),
        pytest.param(index(status=1), "status is 1: an object", id="status"),
        pytest.param(index(status={"kernel": "x"}), 'status is {"kernel": "x"}', id="a text"),
        pytest.param(index(status={"kernel": True}), "each probe's exit status", id="a bool"),
        pytest.param(index(status={"kernel": 1e400}), "each probe's exit status", id="Infinity"),
        pytest.param(index(status="x" * 999), f'status is "{"x" * 59}…: an', id="long"),
        pytest.param(index(sha256=[]), "sha256 is []: an object, each", id="digests"),
        pytest.param(index(sha256={"kernel": "00"}), 'sha256 is {"kernel": "00"}', id="a digest"),
        pytest.param(index(settings={"kernel_gtt_gib": "lots"}), "kernel_gtt_gib", id="a value"),
        pytest.param(index(settings={"kernel_gtt_gb": 1}), "kernel_gtt_gib", id="a key"),
    ],
)
def test_an_index_that_cannot_be_right_is_one_line_that_says_what(
    tmp_path: Path, text: str, told: str
) -> None:
    folder = saved(tmp_path, host_facts())
    (folder / INDEX).write_text(text)
    with pytest.raises(EvidenceError, match=INDEX) as raised:
        evidence.load(tmp_path)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_least_index_that_is_right(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    (folder / INDEX).write_text(index())
    _, loaded = evidence.load(tmp_path).hosts["box1"]
    assert list(loaded.readings) == ["cmdline"]


def edited(change: Callable[[dict[str, Any]], None], folder: Path) -> None:
    index = json.loads((folder / INDEX).read_text())
    change(index)
    (folder / INDEX).write_text(json.dumps(index))


def test_a_foreign_index_names_no_file_outside_its_folder(tmp_path: Path) -> None:
    folder = saved(tmp_path / "facts", host_facts())
    (tmp_path / "secret.txt").write_text("x")
    edited(lambda index: index["status"].update({"../../secret": 0, "nosuch": 0}), folder)
    assert set(evidence.load(tmp_path / "facts").hosts["box1"][1].readings) == set(
        host_facts().readings
    )


def test_a_missing_reading_is_unknown_not_an_error(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    (folder / "cmdline.txt").unlink()
    asked, loaded = evidence.load(tmp_path).hosts["box1"]
    found = next(each for each in verdicts(asked, loaded) if each.id == "kernel.gtt")
    assert (found.status, found.reason) == ("unknown", "cmdline.txt is not there")


@pytest.mark.parametrize("probe", PROBES)
def test_nothing_is_judged_by_a_file_that_was_cut(tmp_path: Path, probe: str) -> None:
    file = saved(tmp_path, host_facts()) / f"{probe}.txt"
    whole = file.read_bytes()
    told = f"{probe}.txt is cut or changed: facts.json has another SHA-256; copy the folder again"
    without = replace(unread(host_facts(), probe), host="box1", saved=True, lost={probe: told})
    places = {0, len(whole) // 3, len(whole) // 2, whole.rfind(b"\n") + 1, len(whole) - 1}
    for length in places - {len(whole), -1}:  # of an empty one there is no less
        file.write_bytes(whole[:length])
        _, cut = evidence.load(tmp_path).hosts["box1"]
        with pytest.raises(Unreadable, match=re.escape(told)):
            getattr(cut, probe)
        assert cut == without


def test_a_file_that_the_index_does_not_know_is_not_judged(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    edited(lambda index: index["sha256"].pop("cmdline"), folder)
    _, facts = evidence.load(tmp_path).hosts["box1"]
    with pytest.raises(Unreadable, match="cut or changed"):
        _ = facts.cmdline


def test_facts_that_were_saved_without_digests_are_judged(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    _, before = evidence.load(tmp_path).hosts["box1"]
    edited(lambda index: index.pop("sha256"), folder)
    (folder / "cmdline.txt").write_text(f"{LINE} quiet\n")
    _, found = evidence.load(tmp_path).hosts["box1"]
    assert found.readings == {**before.readings, "cmdline": Reading(f"{LINE} quiet\n", 0)}


def test_notes_beside_the_facts_are_not_lost(tmp_path: Path) -> None:
    box = Host("box1", (), {})
    folder = evidence.save(tmp_path, box, host_facts())
    (folder / "mywork.txt").write_text("mine")
    with pytest.raises(EvidenceError, match="holds other files than facts"):
        evidence.save(tmp_path, box, host_facts())
    assert (folder / "mywork.txt").read_text() == "mine"


def test_two_folders_of_one_host_are_not_taken_for_one(tmp_path: Path) -> None:
    folder = evidence.save(tmp_path, Host("box1", (), {}), host_facts())
    shutil.copytree(folder, tmp_path / "copy")
    with pytest.raises(EvidenceError, match="2 folders hold facts of box1"):
        evidence.load(tmp_path)


def as_link(file: Path) -> None:
    file.symlink_to("/dev/zero")


def as_huge(file: Path) -> None:
    with file.open("wb") as sparse:
        sparse.truncate(files.MOST_BYTES + 1)


BAD = [
    pytest.param(as_link, "is a symbolic link, no plain file", id="a link"),
    pytest.param(os.mkfifo, "is a pipe, a socket or a device, no plain file", id="a pipe"),
    pytest.param(Path.mkdir, "is a folder, no plain file", id="a folder"),
    pytest.param(as_huge, "has more than 64 MiB", id="huge"),
]


@pytest.mark.parametrize(("make", "told"), BAD)
def test_one_bad_file_is_one_unknown_and_the_rest_is_judged(
    tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    folder = saved(tmp_path, host_facts())
    evidence.save(tmp_path, Host("box2", (), {}), host_facts())
    (folder / "iommu.txt").unlink()
    make(folder / "iommu.txt")
    loaded = evidence.load(tmp_path).hosts
    asked, facts = loaded["box1"]
    found = {each.id: each for each in verdicts(asked, facts)}
    assert (found["kernel.iommu"].status, found["kernel.iommu"].reason) == (
        "unknown",
        f"iommu.txt {told}",
    )
    assert found["kernel.gtt"].status == "pass"
    assert "box2" in loaded


@pytest.mark.parametrize(("make", "told"), BAD)
def test_an_index_that_is_no_plain_file_is_refused_not_waited_for(
    tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    folder = saved(tmp_path, host_facts())
    (folder / INDEX).unlink()
    make(folder / INDEX)
    with pytest.raises(EvidenceError, match=f"{INDEX}: {told}"):
        evidence.load(tmp_path)


def test_the_folder_of_one_host_will_do(tmp_path: Path) -> None:
    folder = evidence.save(tmp_path, Host("box1", (), {}), host_facts())
    evidence.save(tmp_path, Host("box2", (), {}), host_facts())
    assert list(evidence.load(folder).hosts) == ["box1"]


def test_a_folder_of_folders_of_facts_names_them(tmp_path: Path) -> None:
    saved(tmp_path / "monday", host_facts())
    saved(tmp_path / "tuesday", host_facts())
    with pytest.raises(EvidenceError, match=r"give one of \S+/monday, \S+/tuesday$"):
        evidence.load(tmp_path)


def test_one_file_of_facts_points_to_its_folder(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    for name in (INDEX, "gpus.txt"):
        with pytest.raises(EvidenceError, match=f"{name} is .* give its folder, {folder}$"):
            evidence.load(folder / name)


def test_facts_without_their_index_are_told_and_the_other_hosts_judged(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    saved(tmp_path, host_facts(), Host("box2", (), {}))
    (folder / INDEX).unlink()
    with pytest.raises(EvidenceError, match=rf"files of a host's facts, but no {INDEX}, .* give"):
        evidence.load(folder)
    loaded = evidence.load(tmp_path)
    assert list(loaded.hosts) == ["box2"]
    assert f"but no {INDEX}" in loaded.closed["box1"]


CLOSED = [
    pytest.param("box1", 0o000, id="a host's folder"),
    pytest.param("box1", 0o600, id="a host's folder, its names can be read"),
    pytest.param(f"box1/{INDEX}", 0o000, id="a host's index"),
]


@pytest.mark.parametrize(("place", "mode"), CLOSED)
def test_a_host_whose_facts_may_not_be_read_is_told_and_the_others_judged(
    tmp_path: Path, place: str, mode: int
) -> None:
    for name in ("box1", "box2"):
        saved(tmp_path, host_facts(), Host(name, (), {}))
    (tmp_path / place).chmod(mode)
    with ordinary_user():
        loaded = evidence.load(tmp_path)
        assert list(loaded.hosts) == ["box2"]
        assert loaded.closed == {
            "box1": f"{tmp_path}/box1/{INDEX}: cannot be read: Permission denied"
        }
        assert not evidence.load(tmp_path, ["box2"]).closed
        with pytest.raises(EvidenceError, match=f"box1/{INDEX}: cannot be read: Permission"):
            evidence.load(tmp_path / "box1")


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o600])
@pytest.mark.parametrize("given", ["facts", "facts/box1", f"facts/box1/{INDEX}"])
def test_a_folder_that_may_not_be_looked_into_is_one_line(
    tmp_path: Path, mode: int, given: str
) -> None:
    folder = saved(tmp_path / "facts", host_facts())
    # Who may pass through it reaches what is below.
    closed = folder.parent if given == "facts" or not mode & 0o100 else folder
    closed.chmod(mode)
    (folder / INDEX).chmod(0o000)
    with ordinary_user(), pytest.raises(EvidenceError, match=r"Permission denied$|give its folder"):
        evidence.load(tmp_path / given)


def test_a_reading_that_may_not_be_read_is_one_unknown(tmp_path: Path) -> None:
    folder = saved(tmp_path, host_facts())
    (folder / "iommu.txt").chmod(0o000)
    with ordinary_user():
        asked, facts = evidence.load(tmp_path).hosts["box1"]
    found = {each.id: each for each in verdicts(asked, facts)}
    assert found["kernel.iommu"].reason == "iommu.txt cannot be read: Permission denied"
    assert found["kernel.gtt"].status == "pass"


def test_a_place_for_facts_is_looked_at_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    evidence.check(tmp_path / "new" / "deeper")
    for wrong in ("README.md", "README.md/facts"):
        with pytest.raises(EvidenceError, match=r"README\.md is no folder"):
            evidence.check(tmp_path / wrong)
    (tmp_path / "link").symlink_to("nosuch")
    with pytest.raises(EvidenceError, match="link is no folder"):
        evidence.check(tmp_path / "link")
    tmp_path.chmod(0o500)
    with ordinary_user(), pytest.raises(EvidenceError, match=r"there: Permission denied$"):
        evidence.check(tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "link"]


def test_a_link_in_a_hosts_place_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "box1").symlink_to("nosuch")
    with pytest.raises(EvidenceError, match="box1 is a symbolic link, no folder: remove it"):
        saved(tmp_path, host_facts())
    assert [path.name for path in tmp_path.iterdir()] == ["box1"]


def test_facts_that_break_off_leave_those_before_and_nothing_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = saved(tmp_path, host_facts())
    before = (folder / INDEX).read_text()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EvidenceError, match="box1: No space left on device"):
        saved(tmp_path, host_facts())
    assert [path.name for path in tmp_path.iterdir()] == ["box1"]
    assert (folder / INDEX).read_text() == before


def test_earlier_boots_are_saved_without_their_secrets(tmp_path: Path) -> None:
    line = f"{LINE} url=http://joe:s3cr3t@h/x {PARAMETERS}\n"
    past = stack.saved(host_facts(cmdline=line).readings)
    facts = host_facts(boots=stack.boots(past))
    saved(tmp_path, facts)
    _, loaded = evidence.load(tmp_path).hosts["box1"]
    assert loaded.boots.kept[1].text == past.replace("joe:s3cr3t", "x" * len("joe:s3cr3t"))


BOOT_SETTINGS = {
    "host": "box1",
    "settings": as_data(settings(kernel_gtt_gib=48, boot_checkout="/opt/apuhost")),
}


def boot_file(folder: Path, boot_id: str, facts: HostFacts) -> Path:
    file = folder / f"{boot_id}.gz"
    file.write_bytes(gzip.compress(stack.saved(facts.readings).encode()))
    return file


def judging(told: str = json.dumps(BOOT_SETTINGS), cmdline: str = PARTS["cmdline"]) -> HostFacts:
    """A host that judges itself, whose last deploy left these settings."""
    derived = derive(settings(boot_checkout="/opt/apuhost"), host_facts())
    program = {each.path: each.after for each in boot.programs(derived, host_facts())}
    files = {**unit_files(), **program, SETTINGS: told}
    return host_facts(units=stack.units(files), cmdline=cmdline)


def test_a_boot_that_a_host_saved_is_judged_by_the_settings_in_it(tmp_path: Path) -> None:
    before = "11111111-2222-4333-8444-555555555555"
    boot_file(tmp_path, before, judging(cmdline=f"{LINE} quiet\n"))
    here = boot_file(tmp_path, stack.BOOT_ID, judging())
    (tmp_path / ".new").write_text("another run")
    ((name, (asked, facts)),) = evidence.load(here).hosts.items()
    assert (name, facts.host, asked.kernel.kernel_gtt_gib) == ("box1", "box1", 48)
    found = {each.id: each for each in verdicts(asked, facts)}
    assert found["kernel.gtt"].status == "pass"
    assert found["boot.reports"].observed.startswith("boot 11111111 of ")
    assert found["boot.unchanged"].status == "pass"


@pytest.mark.parametrize(
    "told", ["", "[]", "{}", '{"host": 1}', '{"host": "a", "settings": {"kernel_gtt_gb": 1}}']
)
def test_a_saved_boot_without_right_settings_is_one_line(tmp_path: Path, told: str) -> None:
    file = boot_file(tmp_path, stack.BOOT_ID, judging(told))
    with pytest.raises(EvidenceError, match=file.name) as raised:
        evidence.load(file)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("raw", [b"", b"# README\n", b"\0" * 99])
def test_a_file_that_is_nothing_of_ours_is_one_line(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "README.md").write_bytes(raw)
    with pytest.raises(EvidenceError, match=r"^\S*/README\.md: no saved facts: give the folder"):
        evidence.load(tmp_path / "README.md")


def _pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("made", "told"),
    [
        pytest.param(
            _pipe, "is a pipe, a socket or a device, no plain file: give the folder", id="a FIFO"
        ),
        pytest.param(lambda _: Path("/dev/zero"), "is a pipe, a socket or a device", id="a device"),
        pytest.param(lambda path: path, "No such file or directory", id="nothing"),
    ],
)
def test_what_is_no_file_is_one_line(
    tmp_path: Path, made: Callable[[Path], Path], told: str
) -> None:
    with pytest.raises(EvidenceError, match=told) as raised:
        evidence.load(made(tmp_path / "facts"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("raw", [gzip.compress(b"x"), gzip.compress(b"x" * 99)[:-3]])
def test_a_file_that_is_no_saved_boot_is_one_line(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(raw)
    with pytest.raises(EvidenceError, match=r"a\.gz: not readable as a saved boot"):
        evidence.load(file)
