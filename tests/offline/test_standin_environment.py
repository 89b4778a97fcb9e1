"""The stand-in reads Ollama's environment as Ollama does: facts/ollama.md section 1."""

import pytest

from apuhost.rehearsal.standin import durations, environment, server_config
from apuhost.rehearsal.standin.durations import FOREVER, MINUTE, SECOND


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1", True), ("t", True), ("TRUE", True), ("True", True),
        ("0", False), ("f", False), ("FALSE", False), ("false", False),
        ("", None), ("  ", None), ('"1"', True), ("'0'", False), (" 0 ", False),
        ("off", True), ("no", True), ("disabled", True), ("FaLsE", True),
    ],
)  # fmt: skip
def test_section_1_a_text_that_is_no_bool_is_true(written: str, meant: bool | None) -> None:
    assert environment.boolean({"OLLAMA_VULKAN": written}, "OLLAMA_VULKAN") is meant


@pytest.mark.parametrize(
    ("written", "number", "warned"),
    [("262144", 262144, False), ("", 0, False), ("8k", 0, True), ("-1", 0, True), ("1.5", 0, True)],
)
def test_section_1_a_number_that_is_none_is_the_default_with_a_warning(
    written: str, number: int, warned: bool
) -> None:
    environ = {"OLLAMA_CONTEXT_LENGTH": written}
    assert environment.number(environ, "OLLAMA_CONTEXT_LENGTH") == number
    assert environment.bad_numbers(environ) == (
        [("OLLAMA_CONTEXT_LENGTH", written, 0)] if warned else []
    )


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        ("", 5 * MINUTE), ("-1", FOREVER), ("-1s", FOREVER), ("0", 0), ("10m", 10 * MINUTE),
        ("1h30m", 90 * MINUTE), ("1.5s", 1_500_000_000), ("30", 30 * SECOND),
        ("forever", 5 * MINUTE), ("1 h", 5 * MINUTE),
    ],
)  # fmt: skip
def test_section_1_keep_alive_is_a_duration_or_seconds(written: str, nanoseconds: int) -> None:
    assert environment.keep_alive({"OLLAMA_KEEP_ALIVE": written}) == nanoseconds


def test_section_1_a_load_timeout_of_nothing_is_infinite() -> None:
    assert environment.load_timeout({"OLLAMA_LOAD_TIMEOUT": "0"}) == FOREVER
    assert environment.load_timeout({"OLLAMA_LOAD_TIMEOUT": "-3s"}) == FOREVER
    assert environment.load_timeout({}) == 5 * MINUTE


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("", "http://127.0.0.1:11434"), ("0.0.0.0", "http://0.0.0.0:11434"),
        ("0.0.0.0:8080", "http://0.0.0.0:8080"), (":8080", "http://:8080"),
        ("http://host", "http://host:80"), ("https://host", "https://host:443"),
        ("[::1]:1", "http://[::1]:1"), ("::1", "http://[::1]:11434"),
        ("host:99999", "http://host:11434"), ("host:x", "http://host:11434"),
        ("http://host:1/path", "http://host:1/path"),
    ],
)  # fmt: skip
def test_section_1_the_host_with_its_default_ports(written: str, shown: str) -> None:
    assert str(environment.host({"OLLAMA_HOST": written})) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"), (1, "1ns"), (462_197, "462.197µs"), (1_500_000, "1.5ms"),
        (5 * MINUTE, "5m0s"), (90 * MINUTE, "1h30m0s"), (FOREVER, "2562047h47m16.854775807s"),
        (-SECOND, "-1s"),
    ],
)  # fmt: skip
def test_durations_print_as_go_prints_them(nanoseconds: int, text: str) -> None:
    assert durations.text(nanoseconds) == text
    assert durations.parse(text) == nanoseconds


def config(**environ: str) -> dict[str, str]:
    return server_config.values(environ)


def test_section_1_the_map_is_sorted_and_its_lists_stand_in_brackets() -> None:
    text = server_config.text({"OLLAMA_ORIGINS": "a,b"})
    names = [pair.partition(":")[0] for pair in text[4:-1].split() if pair[0].isupper()]
    assert text.startswith("map[CUDA_VISIBLE_DEVICES: ")
    assert names == sorted(names)
    assert "OLLAMA_ORIGINS:[a b http://localhost https://localhost http://localhost:* " in text


def test_section_1_flash_attention_prints_false_when_unset() -> None:
    assert config()["OLLAMA_FLASH_ATTENTION"] == "false"


def test_section_1_an_igpu_switch_prints_as_written() -> None:
    assert config(OLLAMA_IGPU_ENABLE="yes")["OLLAMA_IGPU_ENABLE"] == "yes"


@pytest.mark.parametrize(("debug", "level"), [("", "INFO"), ("1", "DEBUG"), ("2", "DEBUG-4")])
def test_section_1_the_debug_level_prints_by_its_name(debug: str, level: str) -> None:
    assert config(OLLAMA_DEBUG=debug)["OLLAMA_DEBUG"] == level


def test_section_1_keep_alive_forever_prints_gos_longest_duration() -> None:
    assert config(OLLAMA_KEEP_ALIVE="-1")["OLLAMA_KEEP_ALIVE"] == "2562047h47m16.854775807s"
