"""What Ollama's log tells of the last start, in every release's form."""

import json
import time
from contextlib import suppress
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.captures import COMPOSE, DOCKERS_TIME, JOURNALD, behind, mailed, shown
from tests.support.samples import sample

from apuhost.probes import ParseError, ollama_log
from apuhost.probes.ollama_log import ComputeDevice, Layers, OllamaLog

GIB = 2**30
MIB = 2**20
T = "time=2026-09-10T08:00:00.000Z level=INFO source=routes.go:12"
MODEL = f"/root/.ollama/models/blobs/sha256-{'a1' * 32}"
COMPUTE = (
    f'{T} msg="inference compute" id=0 filter_id=0 library=Vulkan compute=0.0 name=Vulkan0 '
    'description="AMD Radeon 780M Graphics (RADV PHOENIX)" libdirs=ollama,vulkan driver=0.0 '
    'pci_id=0000:c6:00.0 type=iGPU total="49.0 GiB" available="48.5 GiB"\n'
)
DROPPED = (
    f'{T} msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 library=Vulkan '
    'compute=0.0 name=Vulkan0 description="AMD Radeon 780M Graphics (RADV PHOENIX)" '
    "pci_id=0000:c6:00.0\n"
)
CPU = (
    f'{T} msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu '
    'libdirs=ollama driver="" pci_id="" type="" total="62.7 GiB" available="50.0 GiB"\n'
)
HEAD = (
    f'{T} msg="server config" env="map[HTTP_PROXY: OLLAMA_HOST:http://0.0.0.0:11434 '
    'OLLAMA_ORIGINS:[http://localhost app://*] OLLAMA_VULKAN:true]"\n'
    f'{T} msg="Ollama cloud disabled: true"\n'
    f'{T} msg="total blobs: 4"\n'
    f'{T} msg="total unused blobs removed: 0"\n'
    f'{T} msg="Listening on [::]:11434 (version 0.34.1)"\n'
    f'{T} msg="discovering available GPUs..."\n'
)
CONTEXT = f'{T} msg="vram-based default context" total_vram="49.0 GiB" default_num_ctx=262144\n'
RUNNER = (
    f'{T} msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model {MODEL} --port 4 '
    '--host 127.0.0.1 --no-webui --offline -c 8192 -np 2 --flash-attn auto -b 1024 -ub 1024"\n'
)
LOADED = (
    "srv    load_model: prompt cache is enabled, size limit: 8192 MiB\n"
    "load_tensors: offloading 32 repeating layers to GPU\n"
    "load_tensors: offloaded 33/33 layers to GPU\n"
)
WHOLE = HEAD + COMPUTE + CONTEXT + RUNNER + LOADED
GPU = ComputeDevice(
    library="Vulkan",
    type="iGPU",
    name="Vulkan0",
    description="AMD Radeon 780M Graphics (RADV PHOENIX)",
    pci_id="0000:c6:00.0",
    total_bytes=49 * GIB,
    available_bytes=round(48.5 * GIB),
)
UNUSED = replace(GPU, type=None, total_bytes=None, available_bytes=None)
NOTHING = OllamaLog(
    server_starts=0,
    version=None,
    devices=(),
    dropped=(),
    layers=None,
    runners=(),
    default_num_ctx=None,
    discovery_timed_out=False,
    cache_limit_mib=None,
    vram_tracking_failed=False,
    allocation_failed=False,
    device_lost=False,
)


def test_a_whole_start() -> None:
    read = ollama_log.parse(WHOLE)
    assert read == replace(
        NOTHING,
        server_starts=1,
        version="0.34.1",
        devices=(GPU,),
        layers=Layers(33, 33),
        runners=read.runners,
        default_num_ctx=262144,
        cache_limit_mib=8192,
    )
    assert [(runner.model, runner.ctx_per_slot) for runner in read.runners] == [(MODEL, 4096)]
    assert read.devices[0].radv


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WHOLE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(behind(COMPOSE, WHOLE), id="Compose"),
        pytest.param(behind(JOURNALD, WHOLE), id="journald"),
        pytest.param(behind(DOCKERS_TIME, WHOLE), id="docker's time"),
        pytest.param(WHOLE.replace("msg=", "\x1b[36mmsg=\x1b[0m\0"), id="colours and NULs"),
        pytest.param(mailed(WHOLE), id="broken by a mail program"),
        pytest.param(shown(WHOLE, 97), id="broken by a terminal"),
        pytest.param(
            WHOLE.replace("\n", '\n[GIN] 2026/09/10 - 08:00:01 | 200 | 1ms | ::1 | GET "/"\n'),
            id="requests between the lines",
        ),
        pytest.param(HEAD + DROPPED + CPU + WHOLE, id="after another start"),
        pytest.param(WHOLE.replace("source=routes.go:12 ", ""), id="without source"),
        pytest.param(
            "".join(
                json.dumps({"log": f"{line}\n", "stream": "stderr"}, separators=(",", ":")) + "\n"
                for line in WHOLE.splitlines()
            ),
            id="Docker's own file",
        ),
    ],
)
def test_the_same_start_in_every_form(text: str) -> None:
    read = ollama_log.parse(text)
    assert replace(read, server_starts=1) == ollama_log.parse(WHOLE)


OLD = "2024/01/09 19:36:55 routes.go:1231: INFO "


@pytest.mark.parametrize(
    ("line", "library", "kind", "name", "pci_id"),
    [
        pytest.param(
            f'{T} msg="inference compute" id=0 library=rocm compute=gfx1103 driver=6.8 '
            'name=1002:15bf total="8.0 GiB" available="8.0 GiB"',
            "rocm",
            None,
            "1002:15bf",
            None,
            id="0.1.38 to 0.3.6",
        ),
        pytest.param(
            f'{T} msg="inference compute" id=GPU-1 library=cuda variant=v12 compute=8.6 '
            'driver=12.2 name="NVIDIA GeForce" total="8.0 GiB" available="7.0 GiB"',
            "cuda",
            None,
            "NVIDIA GeForce",
            None,
            id="0.3.7 to 0.12.3",
        ),
        pytest.param(
            f'{T} msg="inference compute" id=GPU-1 library=CUDA compute=8.6 name=CUDA0 '
            'description="NVIDIA" libdirs=ollama,cuda_v13 driver=13.0 pci_id=01:00.0 '
            'type=discrete total="8.0 GiB" available="7.0 GiB"',
            "CUDA",
            "discrete",
            "CUDA0",
            "01:00.0",
            id="0.12.4 to 0.12.6",
        ),
        pytest.param(
            f'{T} msg="inference compute" id=00000000-c600-0000-0000-000000000000 filtered_id="" '
            'library=Vulkan compute=0.0 name=Vulkan0 description="AMD" libdirs=ollama,vulkan '
            'driver=0.0 pci_id=0000:c6:00.0 type=iGPU total="8.0 GiB" available="7.0 GiB"',
            "Vulkan",
            "iGPU",
            "Vulkan0",
            "0000:c6:00.0",
            id="0.12.7 to 0.12.9",
        ),
        pytest.param(CPU, "cpu", "", "cpu", "", id="CPU since 0.12.4"),
        pytest.param(
            f"{OLD}inference compute id=0 library=cpu total=8.0 GiB",
            "cpu",
            None,
            None,
            None,
            id="log",
        ),
    ],
)
def test_devices_of_every_release(
    line: str, library: str, kind: str | None, name: str | None, pci_id: str | None
) -> None:
    (device,) = ollama_log.parse(line).devices
    assert (device.library, device.type, device.name, device.pci_id) == (
        library,
        kind,
        name,
        pci_id,
    )


@pytest.mark.parametrize(
    ("size", "size_bytes"),
    [
        ("0 B", 0),
        ("512 B", 512),
        ("1.5 KiB", 1536),
        ("346.8 MiB", round(346.8 * MIB)),
        ("16.3 GiB", round(16.3 * GIB)),
        ("lots", None),
        ("-1 B", None),
        ("", None),
    ],
)
def test_sizes(size: str, size_bytes: int | None) -> None:
    (device,) = ollama_log.parse(COMPUTE.replace("49.0 GiB", size)).devices
    assert device.total_bytes == size_bytes


def test_a_dropped_gpu_is_told_beside_the_cpu() -> None:
    read = ollama_log.parse(HEAD + DROPPED + CPU)
    assert read.dropped == (UNUSED,)
    assert [device.library for device in read.devices] == ["cpu"]


@pytest.mark.parametrize(
    ("first", "second", "starts"),
    [
        pytest.param(HEAD + DROPPED + CPU, HEAD + COMPUTE, 2, id="whole starts"),
        pytest.param(HEAD + DROPPED, COMPUTE, 2, id="the same device again"),
        pytest.param(DROPPED, COMPUTE, 2, id="lines picked out with grep"),
        pytest.param(CPU + CONTEXT, COMPUTE, 2, id="after the end of a discovery"),
        pytest.param(
            f"{OLD}Listening on [::]:11434 (version 0.1.20)\n",
            f"{OLD}Listening on [::]:11434 (version 0.1.20)\n{COMPUTE}",
            2,
            id="listening twice",
        ),
        pytest.param(
            f"Jun 19 11:38:28 box ollama[1530]: {DROPPED}",
            f"Jun 19 11:40:54 box ollama[1703]: {COMPUTE}",
            2,
            id="journald's numbers",
        ),
        pytest.param("[GIN] old\n" + RUNNER + LOADED, HEAD + COMPUTE, 1, id="a start cut off"),
    ],
)
def test_only_the_last_start_is_judged(first: str, second: str, starts: int) -> None:
    read = ollama_log.parse(first + second)
    assert read.server_starts == starts
    assert (read.devices, read.dropped, read.runners, read.layers) == ((GPU,), (), (), None)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("ollama[2222]: NAME    ID    SIZE    MODIFIED", id="a client in a unit"),
        pytest.param("ollama-preload[2222]: loaded", id="a unit beside it"),
        pytest.param("ollama[99]: slot   release: id  0 | task 0 | stop processing", id="a runner"),
        pytest.param("ollama[99]: srv  update_slots: all slots are idle", id="idle"),
    ],
)
def test_another_process_is_not_another_start(line: str) -> None:
    server = behind(JOURNALD, WHOLE)
    other = f"Jun 19 11:40:55 box {line}\n"
    again = 'Jun 19 11:40:56 box ollama[17]: [GIN] 2026/06/19 - 11:40:56 | 200 | GET "/"\n'
    assert ollama_log.parse(other + server + other + again) == ollama_log.parse(WHOLE)


def test_a_last_start_without_devices_has_none_of_the_one_before() -> None:
    read = ollama_log.parse(WHOLE + HEAD)
    assert read == replace(NOTHING, server_starts=2, version="0.34.1")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('msg="llama-server GPU discovery watchdog timed out" error="x"', "discovery_timed_out"),
        (
            'msg="llama-server discovery: timed out waiting for server startup"',
            "discovery_timed_out",
        ),
        (
            'msg="failure during GPU discovery" error="failed to finish discovery before timeout"',
            "discovery_timed_out",
        ),
        (
            'msg="llama-server VRAM tracking: no per-device buffer sizes were parsed from x"',
            "vram_tracking_failed",
        ),
        ("radv/amdgpu: Failed to allocate a buffer:", "allocation_failed"),
        ("ggml_gallocr: failed to allocate Vulkan0 buffer of size 9", "allocation_failed"),
        ("llama: vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "allocation_failed"),
        ("terminate called: what(): vk::Queue::submit: ErrorDeviceLost", "device_lost"),
    ],
)
def test_troubles(line: str, field: str) -> None:
    found = asdict(ollama_log.parse(f"{HEAD}{line}\n"))
    assert found == {**asdict(NOTHING), "server_starts": 1, "version": "0.34.1", field: True}
    assert not getattr(ollama_log.parse(f"{HEAD}{line}\n{HEAD}"), field)


@pytest.mark.parametrize(
    ("lines", "layers"),
    [
        pytest.param(["15/33"], Layers(15, 33), id="in part"),
        pytest.param(["33/33", "15/33"], Layers(15, 33), id="less after a probe for a fit"),
        pytest.param(["65/65", "2/2"], Layers(65, 65), id="a draft model comes last"),
        pytest.param(["33/33", RUNNER], None, id="another runner starts"),
        pytest.param(["33/33", RUNNER, "0/25"], Layers(0, 25), id="another model is loaded"),
        pytest.param([f'{T} msg="offloaded 41/41 layers to GPU"'], Layers(41, 41), id="by slog"),
    ],
)
def test_layers_of_the_model_loaded_last(lines: list[str], layers: Layers | None) -> None:
    text = "\n".join(
        line if " " in line else f"load_tensors: offloaded {line} layers to GPU" for line in lines
    )
    assert ollama_log.parse(text).layers == layers


REQUEST = (
    "Operation:{} LoraPath:[] Parallel:2 BatchSize:512 FlashAttention:Enabled KvSize:{} "
    "KvCacheType:q8_0 NumThreads:8 GPULayers:41[ID:0000-07 Layers:41(0..40)] "
    "MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false"
)
SECOND = f'{T} msg="starting runner" cmd="/usr/bin/ollama runner --model {MODEL} --port 9"\n'


def _load(operation: str, size: int) -> str:
    return f'{T} msg=load request="{{{REQUEST.format(operation, size)}}}"\n'


def test_the_second_generation_is_told_by_its_request() -> None:
    read = ollama_log.parse(
        SECOND + _load("fit", 1) + _load("alloc", 2) + _load("commit", 8192) + _load("close", 0)
    )
    (runner,) = read.runners
    assert (runner.ctx_total, runner.ctx_per_slot, runner.batch) == (8192, 4096, 512)
    assert (runner.gpu_layers, runner.flash_attention, runner.threads) == (41, "on", 8)
    assert (runner.cache_type_k, runner.cache_type_v) == ("q8_0", "q8_0")


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("Enabled", "Disabled", "flash_attention", "off"),
        ("Enabled", "true", "flash_attention", "on"),
        ("Enabled", "Auto", "flash_attention", "auto"),
        ("41[ID:0000-07 Layers:41(0..40)]", "[]", "gpu_layers", 0),
        ("q8_0", "", "cache_type_k", None),
    ],
)
def test_requests_of_other_releases(old: str, new: str, field: str, value: object) -> None:
    (runner,) = ollama_log.parse(SECOND + _load("commit", 8192).replace(old, new)).runners
    assert getattr(runner, field) == value


def test_probes_are_no_runners() -> None:
    probe = SECOND.replace(f"--model {MODEL} ", "--ollama-engine ")
    assert ollama_log.parse(HEAD + probe + probe).runners == ()


def _vulkan(index: int, name: str, driver: str, rest: str = "uma: 1 | fp16: 1") -> str:
    return f"ggml_vulkan: {index} = {name} ({driver}) | {rest}\n"


def test_llama_cpp_alone_names_devices_too() -> None:
    text = (
        "ggml_vulkan: Found 1 Vulkan devices:\n"
        + _vulkan(0, "AMD Radeon Graphics (RADV GFX1151)", "radv")
        + "device_info:\n  - CPU     : AMD Ryzen w/ Radeon 780M (9 MiB, 8 MiB free)\n"
        "  - Vulkan0 : AMD Radeon Graphics (RADV GFX1151) (64000 MiB, 63000 MiB free)\n"
        "llama_model_load: using device Vulkan0 (AMD Radeon Graphics (RADV GFX1151)) "
        "(0000:c6:00.0) - 62000 MiB free\n"
    )
    (device,) = ollama_log.parse(text).devices
    assert device == ComputeDevice(
        library="Vulkan",
        type=None,
        name="Vulkan0",
        description="AMD Radeon Graphics (RADV GFX1151)",
        pci_id="0000:c6:00.0",
        total_bytes=64000 * MIB,
        available_bytes=62000 * MIB,
        driver_name="radv",
    )
    assert ollama_log.parse(text + COMPUTE).devices == (GPU,)


@pytest.mark.parametrize(
    ("driver", "radv"),
    [("radv", True), ("AMD open-source driver", False), ("MoltenVK", False)],
)
def test_vulkan_on_amd_is_not_always_radv(driver: str, radv: bool) -> None:
    (device,) = ollama_log.parse(_vulkan(0, "AMD Radeon 8060S Graphics", driver)).devices
    assert device.library == "Vulkan"
    assert device.radv is radv


@pytest.mark.parametrize(
    ("value", "libraries"),
    [
        ("cpu", ["cpu"]),
        ('"[{ID:0 Library:Vulkan} {ID:1 Library:CUDA}]"', ["Vulkan", "CUDA"]),
        ("[]", []),
    ],
)
def test_a_runner_alone_names_its_library(value: str, libraries: list[str]) -> None:
    text = f'{T} msg="finished setting up" runner.name=a runner.inference={value} runner.pid=7\n'
    assert [device.library for device in ollama_log.parse(text).devices] == libraries
    assert ollama_log.parse(COMPUTE + text).devices == (GPU,)


def test_other_libraries_are_not_radv_whatever_the_name() -> None:
    assert not replace(GPU, library="Metal").radv
    assert not replace(GPU, library="cpu", description="Ryzen (RADV PHOENIX)").radv


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ggml_vulkan: 0 = AMD Radeon (RADV PHO", id="a name cut off"),
        pytest.param("llama_model_load: using device Vulkan0 (AMD Radeon", id="a device cut off"),
        pytest.param("llama_model_load: no GPU", id="none"),
    ],
)
def test_a_device_that_is_cut_off_is_none(text: str) -> None:
    assert ollama_log.parse(text).devices == ()


@pytest.mark.parametrize("end", ["library=Vul", 'description="AMD Rad', 'total="49.', "type=iGPU"])
def test_a_cut_device_tells_nothing_that_may_be_half(end: str) -> None:
    cut = COMPUTE[: COMPUTE.index(end) + len(end)]
    for device in ollama_log.parse(HEAD + cut).devices:
        assert device.description in (None, GPU.description)
        assert device.total_bytes is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Warning: could not connect to a running Ollama instance\nclient version is 1\n", None),
        ("ollama version is 0.18.2\nWarning: client version is 0.20.0\n", "0.18.2"),
        (f'{T} msg="Listening on 127.0.0.1:11434 (version 0.0.0)"', "0.0.0"),
    ],
)
def test_the_servers_version(text: str, version: str | None) -> None:
    assert ollama_log.parse(text).version == version


@pytest.mark.parametrize("text", ["", "\n\n", "[GIN] x"])
def test_nothing_tells_nothing(text: str) -> None:
    assert ollama_log.parse(text) == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "root=/dev/sda1 ro\n",
        "\x7fELF\0\0",
        "{}",
        "[    0.5] pci 0000:00:02.0: slot 5\n[   99.1] amdgpu: Process ollama pid 7\n",
        "Jun 19 11:40:54 box kernel: Out of memory: Killed process 7 (llama-server)\n",
        "Ollama: a server of models. `ggml_vulkan: ` begins its lines, llama.cpp runs it.\n",
        'time="2026-09-10T08:00:00Z" level=info msg="ollama of another Go program"\n',
        "services:\n  ollama:\n    image: ollama/ollama\n",
    ],
)
def test_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        ollama_log.parse(text)


@pytest.mark.parametrize("word", ["llama_", "source=", "level=INFO ", "slot ", "0:00 ", "time="])
def test_long_text_is_read_at_once(word: str) -> None:
    started = time.process_time()
    with suppress(ParseError):
        ollama_log.parse(f"{word * 20_000}\n" * 3)
    assert time.process_time() - started < 2


def test_what_docker_says_instead_of_a_log_is_told() -> None:
    with pytest.raises(ParseError, match=r"^No such container: ollama$"):
        ollama_log.parse("Error response from daemon: No such container: ollama\n")


def test_a_log_that_docker_does_not_give_is_refused() -> None:
    text = f"{WHOLE}Error response from daemon: no\napuhost: docker logs failed (exit 1)\n"
    with pytest.raises(ParseError, match=r"^docker logs failed \(exit 1\) no$"):
        ollama_log.parse(text)


PIECES = [*WHOLE.split("\n"), *f"{DROPPED} {_load('commit', 7)}".split(), "\n", '"', "\0", "²", "="]


@given(
    st.text()
    | st.lists(st.sampled_from(PIECES)).map("\n".join)
    | st.lists(st.sampled_from(PIECES)).map(" ".join)
    | st.integers(0, len(WHOLE)).map(lambda cut: WHOLE[:cut])
)
def test_no_text_makes_it_raise_or_invent(text: str) -> None:
    with suppress(ParseError):
        read = ollama_log.parse(text)
        for device in (*read.devices, *read.dropped):
            words = [word for word in asdict(device).values() if isinstance(word, str)]
            assert all(part in text for word in words for part in word.split())


def _shape(read: OllamaLog) -> dict[str, object]:
    return {
        "starts": read.server_starts,
        "version": read.version,
        "libraries": [device.library for device in read.devices],
        "types": [device.type for device in read.devices],
        "radv": [device.radv for device in read.devices],
        "layers": (read.layers.offloaded, read.layers.total) if read.layers else None,
        "runners": len(read.runners),
        "context": read.default_num_ctx,
    }


EMPTY = {"starts": 0, "version": None, "layers": None, "runners": 0, "context": None}
ONE_VULKAN = {**EMPTY, "libraries": ["Vulkan"], "types": [None]}


@pytest.mark.parametrize(
    ("file", "shape"),
    [
        (
            "01-0.18.2-docker-vulkan-igpu-renoir-used",
            {
                "starts": 1,
                "version": "0.18.2",
                "libraries": ["Vulkan"],
                "types": ["iGPU"],
                "radv": [True],
                "layers": (41, 41),
                "runners": 1,
                "context": 4096,
            },
        ),
        (
            "03-0.3.3-rocm-gfx1010-old-format",
            {**EMPTY, "starts": 1, "libraries": ["rocm"], "types": [None], "radv": [False]},
        ),
        (
            "05-0.12.11-windows-cpu-runner-backslashes",
            {
                **EMPTY,
                "starts": 1,
                "version": "0.12.11",
                "libraries": ["cpu"],
                "types": [""],
                "radv": [False],
            },
        ),
        (
            "07-metal-type-igpu-trap",
            {**EMPTY, "starts": 1, "libraries": ["Metal"], "types": ["iGPU"], "radv": [False]},
        ),
        (
            "09-0.12-journal-cpu-values-broken-by-line-wrap",
            {**EMPTY, "libraries": ["cpu"], "types": [None], "radv": [False]},
        ),
        (
            "11-llama-server-cuda-partial-offload-15-of-33",
            {
                **EMPTY,
                "libraries": ["CUDA"],
                "types": [None],
                "radv": [False],
                "layers": (15, 33),
                "runners": 1,
            },
        ),
        ("13-llamacpp-radv-failed-to-allocate-buffer", {**ONE_VULKAN, "radv": [True]}),
        ("14-llamacpp-amdvlk-device-line", {**ONE_VULKAN, "radv": [False]}),
        (
            "15-ggml_vulkan-device-line-variants-one-chip",
            {
                **EMPTY,
                "libraries": ["Vulkan"] * 6,
                "types": [None] * 6,
                "radv": [False, True, True, True, False, True],
            },
        ),
        (
            "16-ollama-version-warning-no-server",
            {**EMPTY, "libraries": [], "types": [], "radv": []},
        ),
        ("17-llamacpp-strixhalo-gfx1151-63425MiB-free", {**ONE_VULKAN, "radv": [True]}),
        ("19-moltenvk-amd-not-radv", {**ONE_VULKAN, "radv": [False]}),
        (
            "21-bc250-dropped-then-enabled-after-restart-same-journal",
            {**EMPTY, "starts": 2, "libraries": ["Vulkan"], "types": ["iGPU"], "radv": [True]},
        ),
        ("23-ggml_vulkan-amd-unknown-renoir-cut", {**ONE_VULKAN, "radv": [True]}),
    ],
)
def test_real_logs(file: str, shape: dict[str, object]) -> None:
    assert _shape(ollama_log.parse(sample(f"ollama-log/{file}.txt"))) == shape


def test_real_sizes_and_troubles() -> None:
    def read(name: str) -> OllamaLog:
        return ollama_log.parse(sample(f"ollama-log/{name}.txt"))

    used = read("21-bc250-dropped-then-enabled-after-restart-same-journal")
    assert (used.devices[0].total_bytes, used.dropped) == (round(16.5 * GIB), ())
    free = read("17-llamacpp-strixhalo-gfx1151-63425MiB-free").devices[0]
    assert (free.available_bytes, free.pci_id) == (63425 * MIB, "0000:c6:00.0")
    assert free.description == "AMD Radeon Graphics (RADV GFX1151)"
    assert read("13-llamacpp-radv-failed-to-allocate-buffer").allocation_failed
