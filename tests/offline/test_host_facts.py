"""One script, one answer: its frames, what is missing in it, and why a host gave none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hosts import host_facts

from apuhost.connection import SCRIPT_TIMEOUT_S
from apuhost.gather import HOST_TIMEOUT_S
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.container_commands import CONTAINER, DOCKER_TIMEOUT_S
from apuhost.roles import CHECKOUT
from apuhost.round_trip import (
    ACTIVE_PROBES,
    CUT_PROBES,
    DECIDING,
    PROBE_TIMEOUT_S,
    PROBES,
    SAVED_PROBES,
    Reading,
    script,
    unframe,
)

MARK = "==apuhost-0123456789abcdef=="
EITHER_OR_S = {"kernel_log": 20, "model_store": 20, "model_blobs": 20}
"""Of two branches only one is taken, so of their limits one counts."""

EVERY = {**PROBES, **ACTIVE_PROBES, **SAVED_PROBES, **CUT_PROBES}


def limit(name: str) -> int:
    """In seconds, as the script has it."""
    probe = re.search(
        rf"^probe {name} .*?(?: (\d+))?(?=\nprobe |\Z)", script(MARK, [name]), re.M | re.S
    )
    assert probe
    return int(probe[1] or PROBE_TIMEOUT_S)


def answer(**texts: str) -> str:
    """What the script prints."""
    return "".join(
        f"{MARK} begin {name}\n{text}\n{MARK} end {name} 0\n" for name, text in texts.items()
    )


def test_the_script_asks_every_probe_once() -> None:
    lines = script(MARK).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("probe ")] == list(PROBES)


@pytest.mark.parametrize("name", ["apt_sources", "mirror_answers"])
def test_apt_has_time_to_make_its_cache_anew(name: str) -> None:
    assert limit(name) == 90


@pytest.mark.parametrize("name", EVERY)
def test_a_probe_has_time_for_all_that_it_waits_for(name: str) -> None:
    """CHOOSE asks for Ollama's container, once for all probes; `docker` may be a function."""
    command = str(EVERY[name].COMMAND).replace(CONTAINER, "")
    for function, seconds in re.findall(r"^(\w+)\(\) \{ timeout (\d+) ", command, re.MULTILINE):
        command = re.sub(rf"^{function}\(\).*", "", command, flags=re.MULTILINE)
        command = re.sub(rf"\b{function} (?=[a-z]+ )", f"timeout {seconds} ", command)
    waits = sum(int(seconds) for seconds in re.findall(r"timeout (\d+) ", command))
    assert waits - EITHER_OR_S.get(name, 0) < limit(name)


def test_a_slow_apt_beside_a_docker_that_hangs_is_within_the_time_of_a_host() -> None:
    docker_hangs = 3 * DOCKER_TIMEOUT_S  # CHOOSE, docker, containers: the others ask no more
    assert limit("apt_sources") + limit("mirror_answers") + docker_hangs <= SCRIPT_TIMEOUT_S
    assert SCRIPT_TIMEOUT_S < HOST_TIMEOUT_S


@pytest.mark.parametrize("name", PROBES)
def test_a_reading_comes_back_as_it_was_printed(name: str) -> None:
    for text in ("", "a\n", "a", "\r\n\n", f"{MARK} end other 0\n", "\udc80"):
        assert unframe(MARK, answer(**{name: text})) == {name: Reading(text, 0)}


def test_readings_do_not_mix() -> None:
    texts = {name: f"text of {name}\n" for name in PROBES}
    noise = f"Welcome to box1!\n{answer(**texts)}logout\n"
    assert unframe(MARK, noise) == {name: Reading(text, 0) for name, text in texts.items()}


def test_a_failed_command_keeps_its_status() -> None:
    text = answer(cmdline="half a li").replace("end cmdline 0", "end cmdline 124")
    assert unframe(MARK, text) == {"cmdline": Reading("half a li", 124)}


def test_what_was_cut_off_is_left_out_and_never_read_short() -> None:
    whole = answer(kernel="running 6.12\n", cmdline="root=/dev/sda1 ro quiet\n")
    for end in range(len(whole)):
        found = unframe(MARK, whole[:end])
        assert found.items() <= unframe(MARK, whole).items()
    assert unframe(MARK, whole[:-1]).keys() == {"kernel"}


@pytest.mark.parametrize("status", ["", "²", "-1", "x", "9" * 5000])
def test_a_status_that_no_shell_prints_makes_no_reading(status: str) -> None:
    text = answer(kernel="running 6.12").replace("end kernel 0", f"end kernel {status}")
    assert unframe(MARK, text) == {}


@given(
    st.lists(
        st.text(st.characters())
        | st.sampled_from([MARK, f"\n{MARK} end kernel ", f"{MARK} begin kernel\n", "0\n"])
    ).map("".join)
)
def test_no_answer_makes_it_raise(text: str) -> None:
    assert set(unframe(MARK, text)) <= set(PROBES)


def test_another_mark_in_a_file_imitates_nothing() -> None:
    forged = answer(kernel="running 6.12", cmdline="root=/dev/sda1").replace(MARK, "==other==")
    assert unframe(MARK, answer(cmdline=forged)) == {"cmdline": Reading(forged, 0)}


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_has_a_record_by_its_name(name: str) -> None:
    assert getattr(host_facts(), name) is not None


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize(
    ("reading", "told"),
    [
        pytest.param(None, "was not read", id="missing"),
        pytest.param(Reading("", 124), "exit 124", id="failed"),
    ],
)
def test_what_was_not_read_is_unreadable_by_name(
    name: str, reading: Reading | None, told: str
) -> None:
    readings = {**host_facts().readings}
    if reading is None:
        del readings[name]
    else:
        readings[name] = reading
    with pytest.raises(Unreadable, match=f"{name}.*{told}"):
        getattr(HostFacts("box1", "", readings), name)


def test_a_probes_parse_error_is_unreadable_too() -> None:
    with pytest.raises(Unreadable, match="meminfo: no MemTotal line"):
        _ = host_facts(meminfo="").meminfo


def test_what_changes_and_refusals_ask_is_read_by_a_deploy() -> None:
    core = CHECKOUT / "src" / "apuhost"
    deciding = [*(core / "changes").rglob("*.py"), *(core / "verdicts" / "refusals").rglob("*.py")]
    sources = [file.read_text() for file in (*deciding, core / "derived.py")]
    asked = {name for text in sources for name in re.findall(r"\bfacts\.([a-z_]+)", text)}
    assert asked & set(PROBES) <= set(DECIDING)
    assert asked >= {"modules", "packages"}
