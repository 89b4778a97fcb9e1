"""What hosts know their mirror by, put there over a real sshd; and older bundles taken away."""

import json
from pathlib import Path

import pytest
from tests.support.sshd import LACKING, Sshd

from apuhost.bundle import placing, pruning, remote
from apuhost.bundle.remote import HostError
from apuhost.gather import Unreachable
from apuhost.probes.mirror import FOLDER
from apuhost.probes.mirror_serving import BUNDLES, MARK

pytestmark = pytest.mark.skipif(bool(LACKING), reason=", ".join(LACKING))

LOCK = json.dumps({"serial": 7, "text": "ä"}, indent=1, ensure_ascii=False).encode()
FILES = {placing.CA: b"a certificate", placing.KEY: b"a key", placing.LOCK: LOCK}


def placed(box: Sshd) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in box.path(FOLDER).iterdir()}


def test_they_are_there_as_they_were_given_and_readable_by_all(box: Sshd) -> None:
    assert placing.serial(box.host()) == 0
    placing.place(box.host(), FILES)
    assert placed(box) == FILES
    assert {path.stat().st_mode & 0o777 for path in box.path(FOLDER).iterdir()} == {0o644}
    assert placing.serial(box.host()) == 7


def test_a_new_lock_is_newer_than_the_lists_that_apt_has(box: Sshd) -> None:
    """Else packages of the bundle before are asked for, for ten minutes (steps/packages.py)."""
    box.path("/var/lib/lists").touch()
    placing.place(box.host(), FILES)
    newer = f"find {FOLDER}/lock.json -newer /var/lib/lists"
    assert remote.run(box.host(), newer).decode() == f"{FOLDER}/lock.json\n"


def test_a_bundle_without_packages_leaves_no_key_of_another_one(box: Sshd) -> None:
    placing.place(box.host(), FILES)
    box.path(f"{FOLDER}/registry.yml").write_text("the deploy's own")
    left = {name: content for name, content in FILES.items() if name != placing.KEY}
    placing.place(box.host(), left)
    assert placed(box) == {**left, "registry.yml": b"the deploy's own"}


def test_files_that_do_not_arrive_whole_change_nothing(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    placing.place(box.host(), FILES)
    whole = placing._packed({**FILES, placing.LOCK: LOCK.replace(b"7", b"8") * 1000})
    monkeypatch.setattr(placing, "_packed", lambda _: whole[: len(whole) // 2])
    with pytest.raises(HostError, match="box: tar: "):
        placing.place(box.host(), FILES)
    kept = placed(box)
    kept.pop(".new", None)
    assert kept == FILES


def test_sudo_that_asks_and_sudo_that_does_not(
    box: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password that sudo did not read is no part of what a script reads."""
    sudo = '#!/bin/sh\n%swhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
    for reading in ("read -r password; [ \"$password\" = 'right horse' ] || exit 1\n", ""):
        (tmp_path / "sudo").write_text(sudo % reading)
        (tmp_path / "sudo").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        host = box.host("@local", _sudo=True, _sudo_password="right horse")
        said = remote.run(host, 'printf "%s:" "$@"; cat', ("a b", "ä"), lambda s: None)
        assert said == "a b:ä:".encode()


def test_what_a_login_prints_is_no_part_of_what_a_script_says(
    box: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bash reads .bashrc for what sshd runs, too; a program in the place of sudo may greet."""
    box.path("/var/lib/.bashrc").write_text("echo Welcome; printf '7\\nno end of a line'\n")
    box.sh("sed -i 's|^root:.*|root:x:0:0:root:/var/lib:/bin/bash|' /etc/passwd")
    try:
        assert remote.run(box.host(), "echo 3; echo 4") == b"3\n4\n"
        assert remote.run(box.host(), ":") == b""
    finally:
        box.sh("sed -i 's|^root:.*|root:x:0:0:root:/:/bin/sh|' /etc/passwd")
        box.path("/var/lib/.bashrc").unlink()
    (tmp_path / "sudo").write_text("#!/bin/sh\necho Welcome\n")
    (tmp_path / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(HostError, match="ran nothing"):
        remote.run(box.host("@local", _sudo=True), ":")


def test_a_script_has_its_words_its_input_and_the_last_word(box: Sshd) -> None:
    big = bytes(3_000_000)
    words = ("it's", "a b", "ä 가", "")

    def give(sink: object) -> None:
        sink.write(big)  # type: ignore[attr-defined]

    said = remote.run(box.host(), 'printf "<%s>" "$@"; wc -c', words, give)
    assert said.decode() == "<it's><a b><ä 가><>3000000\n"
    failing = "cat >/dev/null; echo first >&2; echo what to do >&2; exit 3"
    with pytest.raises(HostError, match=r"^box: what to do$"):
        remote.run(box.host(), failing, (), give)
    with pytest.raises(HostError, match=r"^box: enough$"):  # it ends before it has read all
        remote.run(box.host(), "echo enough >&2; exit 3", (), give)
    with pytest.raises(HostError, match=r"^box: took longer than 1 s: "):
        remote.run(box.host(), "exec sleep 60", (), seconds=1)


def test_a_host_that_is_not_there_is_named_and_the_others_answer(box: Sshd) -> None:
    hosts = [box.host("off", ssh_port=1), box.host("on")]
    found = remote.each(hosts, placing.serial)
    assert found["on"] == 0
    assert isinstance(found["off"], Unreachable)
    assert str(found["off"]).startswith("off  not reached: connection refused")


def give_bundles(box: Sshd, *serials: int) -> None:
    for serial in serials:
        folder = box.path(f"{BUNDLES}/{serial}/apt")
        folder.mkdir(parents=True)
        (folder / "x ä").write_bytes(bytes(100_000))
        folder.parent.with_name(f"{serial}{MARK}").write_text("x\n")


def test_only_what_is_older_than_the_served_one_goes(box: Sshd) -> None:
    give_bundles(box, 2, 9, 10, 11)
    box.path(f"{BUNDLES}/10/.keep").touch()
    box.path("/var/lib/apuhost/mirror/current").symlink_to("bundles/10")
    found = pruning.older(box.host())
    assert found == pruning.Older(10, (2, 9))
    assert pruning.prune(box.host(), found.serials) >= 200_000
    left = sorted(path.name for path in box.path(BUNDLES).iterdir())
    assert left == ["10", "10.whole", "11", "11.whole"]
    assert pruning.older(box.host()).serials == ()


def test_what_is_served_since_somebody_was_asked_stays(box: Sshd) -> None:
    give_bundles(box, 2, 9, 10)
    current = box.path("/var/lib/apuhost/mirror/current")
    current.symlink_to("bundles/10")
    found = pruning.older(box.host())
    current.unlink()
    current.symlink_to("bundles/9")  # a bundle install went back meanwhile
    with pytest.raises(HostError, match="box: bundle 9 is served by now: run it again"):
        pruning.prune(box.host(), found.serials)
    assert len(list(box.path(BUNDLES).iterdir())) == 6


def test_where_nothing_is_served_nothing_goes(box: Sshd) -> None:
    give_bundles(box, 2, 3)
    with pytest.raises(HostError, match="box: serves no bundle"):
        pruning.older(box.host())
