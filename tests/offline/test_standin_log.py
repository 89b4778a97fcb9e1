"""The stand-in's log lines have Ollama's forms, and our own parsers read them back.

Sections are those of facts/ollama.md.
"""

import io
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ollama_log
from apuhost.probes.slog import attributes
from apuhost.rehearsal.standin import devices, memory, server_config, slog
from apuhost.rehearsal.standin.api import access_line
from apuhost.rehearsal.standin.devices import Device
from apuhost.rehearsal.standin.sizes import GIB, MIB
from apuhost.rehearsal.standin.slog import Log

LISTED = """Available devices:
  Vulkan0: AMD Ryzen 7 (RADV PHOENIX) (16197 MiB, 15000 MiB free)
"""
VERBOSE = "0.00.1 D ggml_vulkan: 0 = AMD Ryzen 7 (RADV PHOENIX) (radv) | uma: 1 | fp16: dot2 | x\n"
IGPU = Device("0", "Vulkan", "Vulkan0", "AMD (RADV PHOENIX)", 59 * GIB, 48 * GIB, True, "0")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("load", "load"), ("", '""'), ("a b", '"a b"'), ("a=b", '"a=b"'), ('a"b', r'"a\"b"'),
        ("a\nb", r'"a\nb"'), ("a\\b", "a\\b"), ("a\\ b", r'"a\\ b"'), ("é", "é"),
        ("a\u00a0b", r'"a\u00a0b"'), ("\x01", r'"\x01"'),
    ],
)  # fmt: skip
def test_section_2_1_quoting(text: str, shown: str) -> None:
    assert slog.value(text) == shown


@given(st.text(alphabet=st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs"])))
def test_section_2_1_what_is_quoted_is_read_back(text: str) -> None:
    line = slog.line(datetime.now(UTC), slog.INFO, "x.go", "m", {"key": text})
    assert "\n" not in line
    if text.isprintable():
        assert attributes(line)["key"] == text


@pytest.mark.parametrize(
    ("zone", "shown"),
    [(UTC, "2026-09-02T16:52:34.600Z"),
     (timezone(timedelta(hours=2)), "2026-09-02T16:52:34.600+02:00")],
)  # fmt: skip
def test_section_2_1_a_line_begins_with_time_level_source_and_message(
    zone: timezone, shown: str
) -> None:
    now = datetime(2026, 9, 2, 16, 52, 34, 600_000, zone)
    line = slog.line(now, slog.WARN, "runner.go", "two words", {"pci_id": "", "type": "iGPU"})
    assert line == f'time={shown} level=WARN source=runner.go:1 msg="two words" pci_id="" type=iGPU'


def test_section_2_1_debug_lines_only_when_asked_for() -> None:
    stream = io.BytesIO()
    Log(slog.INFO, stream).debug("hidden", at="x.go")
    Log(slog.DEBUG, stream).debug("shown", at="x.go")
    assert b"hidden" not in stream.getvalue()
    assert b"msg=shown" in stream.getvalue()


def start(*lines: tuple[str, dict[str, object]]) -> str:
    """A log as the stand-in writes it at the start."""
    stream = io.BytesIO()
    log = Log(stream=stream)
    log.info("server config", at="routes.go", env=server_config.text({}))
    log.info("Listening on [::]:11434 (version 0.34.4)", at="routes.go")
    for message, values in lines:
        log.info(message, at="types.go", **values)
    return stream.getvalue().decode()


def test_section_2_2_an_igpu_that_is_used() -> None:
    found = ollama_log.parse(start(("inference compute", IGPU.used())))
    (device,) = found.devices
    assert (found.version, found.server_starts) == ("0.34.4", 1)
    assert (device.library, device.type, device.name) == ("Vulkan", "iGPU", "Vulkan0")
    assert device.description == "AMD (RADV PHOENIX)"
    assert (device.total_bytes, device.available_bytes) == (59 * GIB, 48 * GIB)


def test_section_2_2_attributes_in_the_order_since_0_12_10() -> None:
    line = start(("inference compute", IGPU.used())).splitlines()[-1]
    assert line.partition("compute\" ")[2] == (
        'id=0 filter_id=0 library=Vulkan compute=0.0 name=Vulkan0'
        ' description="AMD (RADV PHOENIX)" libdirs=ollama,vulkan driver=0.0 pci_id="" type=iGPU'
        ' total="59.0 GiB" available="48.0 GiB"'
    )  # fmt: skip


def test_section_2_2_without_a_gpu_the_cpu_and_no_filter_id() -> None:
    line = start(("inference compute", devices.cpu(64 * GIB, 60 * GIB))).splitlines()[-1]
    assert line.partition('compute" ')[2] == (
        'id=cpu library=cpu compute="" name=cpu description=cpu libdirs=ollama driver=""'
        ' pci_id="" type="" total="64.0 GiB" available="60.0 GiB"'
    )
    found = ollama_log.parse(line)
    assert [device.library for device in found.devices] == ["cpu"]


def test_section_2_3_a_dropped_igpu_is_told() -> None:
    message = "dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1"
    found = ollama_log.parse(start((message, IGPU.dropped())))
    assert [device.description for device in found.dropped] == ["AMD (RADV PHOENIX)"]
    assert found.devices == ()


@pytest.mark.parametrize(
    ("total", "context"), [(59 * GIB, 262144), (47 * GIB, 262144), (24 * GIB, 32768), (0, 4096)]
)
def test_section_2_3_the_default_context_follows_the_memory(total: int, context: int) -> None:
    assert devices.default_context(total) == context
    values: dict[str, object] = {"total_vram": "x", "default_num_ctx": context}
    found = ollama_log.parse(start(("vram-based default context", values)))
    assert found.default_num_ctx == context


def test_devices_are_llama_servers_own() -> None:
    (device,) = devices.parse(VERBOSE + LISTED)
    assert device == Device("0", "Vulkan", "Vulkan0", "AMD Ryzen 7 (RADV PHOENIX)",
                            16197 * MIB, 15000 * MIB, integrated=True)  # fmt: skip


def test_without_the_uma_line_a_device_counts_as_discrete() -> None:
    assert not devices.parse(LISTED)[0].integrated


@pytest.mark.parametrize("text", ["", "Available devices:\n  (none)\n"])
def test_no_devices(text: str) -> None:
    assert devices.parse(text) == []


@pytest.mark.parametrize(
    ("igpu", "used"), [(None, 0), (False, 0), (True, 1)], ids=["unset", "false", "true"]
)
def test_section_1_a_vulkan_igpu_needs_leave(igpu: bool | None, used: int) -> None:
    kept, dropped = devices.admit([IGPU], igpu)
    assert (len(kept), len(dropped)) == (used, 1 - used)


def test_section_1_a_chosen_device_keeps_its_own_number_as_filter() -> None:
    (device,) = devices.renumber([IGPU], "3")
    assert (device.id, device.filter_id) == ("0", "3")


def test_memory_follows_the_container_s_limit() -> None:
    meminfo = "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapFree: 5 kB\n"
    assert devices.memory(meminfo, {}) == (1_024_000, 614_400, 5120)
    limits = {"memory.max": "500000", "memory.current": "100000"}
    assert devices.memory(meminfo, limits) == (500_000, 400_000, 5120)
    assert devices.memory(meminfo, {"memory.max": "max", "memory.current": "24000"})[:2] == (
        1_024_000, 1_000_000,
    )  # fmt: skip


LOADED = """load_tensors: offloaded {}/3 layers to GPU
load_tensors:      Vulkan0 model buffer size =     2.00 MiB
load_tensors:  Vulkan_Host model buffer size =     1.00 MiB
llama_kv_cache:    Vulkan0 KV buffer size =    10.00 MiB
llama_kv_cache:    Vulkan0 KV buffer size =    16.00 MiB
sched_reserve:    Vulkan0 compute buffer size =     4.00 MiB
"""


@pytest.mark.parametrize(("layers", "size"), [(3, (22 * MIB, 22 * MIB)), (1, (23 * MIB, 22 * MIB))])
def test_section_4_sizes_are_sums_of_buffers_a_repeated_one_counts_once(
    layers: int, size: tuple[int, int]
) -> None:
    accounting = memory.Accounting()
    for line in LOADED.format(layers).splitlines():
        accounting.read(line)
    assert accounting.size(file_size=5) == size
    assert accounting.by_device() == {"Vulkan0": 22 * MIB}


def test_section_4_without_any_buffer_line_both_sizes_are_the_file_s() -> None:
    assert memory.Accounting().size(file_size=5) == (5, 5)


def test_section_2_1_the_access_log_is_gins() -> None:
    now = datetime(2026, 8, 29, 8, 44)
    assert access_line(now, 200, 462_197, "10.89.0.8", ("GET", "/api/tags")) == (
        '[GIN] 2026/08/29 - 08:44:00 | 200 |     462.197µs |       10.89.0.8 | GET      "/api/tags"'
    )
