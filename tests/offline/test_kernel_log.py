"""What the kernel log tells of the last boot, in every release's form and behind every prefix."""

import re
import time
from contextlib import suppress
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.captures import mailed, shown
from tests.support.samples import sample

from apuhost.probes import ParseError, kernel_log
from apuhost.probes.kernel_log import GpuResets, KernelLog, LoggedGpu, RingResets
from apuhost.probes.plain_text import plain

PCI = "0000:c6:00.0"
ARGUMENTS = "BOOT_IMAGE=/vmlinuz-6.17 root=UUID=2a ro quiet ttm.pages_limit=12582912 amd_iomu=off"
START = f"""\
[    0.000000] Linux version 6.17.0-42-generic (buildd@host) #42 SMP
[    0.000000] Command line: {ARGUMENTS}
[    0.011111] Kernel command line: {ARGUMENTS}
[    0.011222] Unknown kernel command line parameters "BOOT_IMAGE=/vmlinuz-6.17 amd_iomu=off", \
will be passed to user space.
[    0.400000] pci 0000:c6:00.0: [1002:1900] type 00 class 0x030000 PCIe Legacy Endpoint
[    0.450000] iommu: Default domain type: Translated
[    0.460000] pci 0000:c6:00.0: Adding to iommu group 21
[    0.470000] usb 1-1: new high-speed USB device number 2 using xhci_hcd
"""
MEMORY = f"""\
[    3.100000] amdgpu {PCI}: amdgpu: VRAM: 1024M 0x0000008000000000 - 0x000000803FFFFFFF (1024M)
[    3.100100] amdgpu {PCI}: amdgpu: GART: 512M 0x00007FFF00000000 - 0x00007FFF1FFFFFFF
[    3.100200] amdgpu {PCI}: amdgpu: amdgpu: 1024M of VRAM memory ready
[    3.100300] amdgpu {PCI}: amdgpu: amdgpu: 49152M of GTT memory ready.
[    4.000000] [drm] Initialized amdgpu 3.64.0 for {PCI} on minor 0
"""
TROUBLE = f"""\
[  100.000000] amdgpu {PCI}: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32771)
[  110.000000] amdgpu {PCI}: amdgpu: ring comp_1.1.0 timeout, signaled seq=5, emitted seq=7
[  110.000001] amdgpu {PCI}: amdgpu: Starting comp_1.1.0 ring reset
[  112.000000] amdgpu {PCI}: amdgpu: Ring comp_1.1.0 reset failed
[  112.000001] amdgpu {PCI}: amdgpu: GPU reset begin!. Source:  1
[  113.000000] amdgpu {PCI}: amdgpu: GPU reset succeeded, trying to resume
[  113.100000] amdgpu {PCI}: amdgpu: VRAM is lost due to GPU reset!
[  114.000000] amdgpu {PCI}: amdgpu: GPU reset(1) succeeded!
"""
WHOLE = START + MEMORY + TROUBLE
GPU = LoggedGpu(PCI, 1024, 49152)
NOTHING = KernelLog(
    gpus=(),
    gtt_capped_mib=None,
    ttm_limit_mib=None,
    iommu="unknown",
    cmdline=None,
    unknown_parameters=(),
    gpu_init_failed=False,
    gpu_resets=GpuResets(0, 0, 0),
    vram_lost=False,
    ring_timeouts=0,
    ring_resets=RingResets(0, 0),
    gpu_page_faults=0,
)
READ = KernelLog(
    gpus=(GPU,),
    gtt_capped_mib=None,
    ttm_limit_mib=None,
    iommu="translated",
    cmdline=ARGUMENTS,
    unknown_parameters=("BOOT_IMAGE=/vmlinuz-6.17", "amd_iomu=off"),
    gpu_init_failed=False,
    gpu_resets=GpuResets(begun=1, completed=1, failed=0),
    vram_lost=True,
    ring_timeouts=1,
    ring_resets=RingResets(succeeded=0, failed=1),
    gpu_page_faults=1,
)
QUIET = replace(
    READ,
    gpu_resets=GpuResets(0, 0, 0),
    vram_lost=False,
    ring_timeouts=0,
    ring_resets=RingResets(0, 0),
    gpu_page_faults=0,
)


def _stamped(form: str) -> str:
    """The whole log with another prefix; `{}` stands for the seconds."""
    return re.sub(r"^\[ *([0-9.]+)\] ", lambda m: form.format(m[1]), WHOLE, flags=re.MULTILINE)


def test_a_whole_boot() -> None:
    assert kernel_log.parse(WHOLE) == READ


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WHOLE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(_stamped("[{0:>12}] [    T1] "), id="caller ids"),
        pytest.param(_stamped("[T2548] "), id="caller ids without a time"),
        pytest.param(_stamped("[Tue Feb 10 19:23:21 2026] "), id="dmesg -T"),
        pytest.param(_stamped("[Di Feb 10 19:23:21 2026] "), id="dmesg -T, German"),
        pytest.param(_stamped("[Feb10 19:23] "), id="dmesg -H"),
        pytest.param(_stamped("[  +0.000003] "), id="dmesg -e"),
        pytest.param(_stamped("[{0:>12} <    0.000003>] "), id="dmesg -d"),
        pytest.param(_stamped("kern  :info  : [{0:>12}] "), id="dmesg -x"),
        pytest.param(_stamped("2026-02-10T19:23:21,123456+01:00 "), id="dmesg --time-format iso"),
        pytest.param(_stamped("<6>[{0:>12}] "), id="levels"),
        pytest.param(_stamped("6,12,3456,-;"), id="/dev/kmsg"),
        pytest.param(_stamped("Feb 10 19:23:21 box kernel: "), id="journald"),
        pytest.param(_stamped("Feb 10 19:23:21 box kernel: [{0:>12}] "), id="syslog"),
        pytest.param(_stamped("\u4e8c\u6708 10 19:23:21 box kernel: "), id="journald, Chinese"),
        pytest.param(_stamped("2026-02-10T19:23:21+0100 box kernel: "), id="journald, ISO"),
        pytest.param(_stamped("[{0:>12}] box kernel: "), id="journald, monotonic"),
        pytest.param(_stamped("[{0:>12}] kernel: "), id="as the probe asks journald"),
        pytest.param(_stamped("<6>1 2026-02-10T19:23:21Z box kernel - - - "), id="RFC 5424"),
        pytest.param(_stamped(""), id="no prefix"),
        pytest.param(_stamped("> [{0:>12}] "), id="in a mail's answer"),
        pytest.param(_stamped(" \t"), id="in a list"),
        pytest.param(
            _stamped("\x1b[32m[{0:>12}] \x1b[0m\x1b[33m").replace(": ", ": \x1b[0m"), id="colours"
        ),
        pytest.param(WHOLE.replace(":", ":\0"), id="NUL bytes"),
        pytest.param(mailed(WHOLE), id="broken by a mail program"),
        pytest.param(shown(WHOLE, 97), id="broken by a terminal"),
        pytest.param(WHOLE.replace("\n", " "), id="newlines lost"),
        pytest.param(
            WHOLE.replace(
                "\n", f"\nFeb 10 19:23:21 box ollama[7]: amdgpu {PCI}: GPU reset begin!\n"
            ),
            id="between another process's lines",
        ),
        pytest.param(WHOLE.replace("0.011111] Kernel", "0.011111] x"), id="one copy of the line"),
        pytest.param(
            WHOLE.replace("ro quiet", "ro \\\n[    0.011112] Kernel command line: quiet"),
            id="the line wrapped by the kernel",
        ),
    ],
)
def test_the_same_boot_in_every_form(text: str) -> None:
    assert kernel_log.parse(text) == READ


@pytest.mark.parametrize(
    ("lines", "gpus"),
    [
        pytest.param(
            ["[drm] amdgpu: 512M of VRAM memory ready", "[drm] amdgpu: 4000M of GTT memory ready."],
            [LoggedGpu(None, 512, 4000)],
            id="until 6.14, device unknown",
        ),
        pytest.param(
            [
                f"amdgpu {PCI}: amdgpu: Fetched VBIOS from VFCT",
                "[drm] amdgpu: 512M of VRAM memory ready",
                "[drm] amdgpu: 4000M of GTT memory ready.",
            ],
            [LoggedGpu(PCI, 512, 4000)],
            id="until 6.14, device named before",
        ),
        pytest.param(
            [
                "[drm] amdgpu: 512M of VRAM memory ready",
                "[drm] amdgpu: 4000M of GTT memory ready.",
                f"[drm] Initialized amdgpu 3.57.0 20150101 for {PCI} on minor 1",
            ],
            [LoggedGpu(PCI, 512, 4000)],
            id="until 6.14, device named behind",
        ),
        pytest.param(
            [
                "amdgpu 0000:03:00.0: amdgpu: VRAM: 8176M 0x0000008000000000 - 0x1 (8176M used)",
                f"amdgpu {PCI}: amdgpu: VRAM: 512M 0x0000008000000000 - 0x1 (512M used)",
                "[drm] amdgpu: 8176M of VRAM memory ready",
                "[drm] amdgpu: 7000M of GTT memory ready.",
                "[drm] amdgpu: 512M of VRAM memory ready",
                "[drm] amdgpu: 7001M of GTT memory ready.",
            ],
            [LoggedGpu("0000:03:00.0", 8176, 7000), LoggedGpu(PCI, 512, 7001)],
            id="until 6.14, two at once",
        ),
        pytest.param(
            [
                "[drm] amdgpu: 8176M of VRAM memory ready",
                "[drm] amdgpu: 7000M of GTT memory ready.",
                "[drm] amdgpu: 512M of VRAM memory ready",
                "[drm] amdgpu: 7001M of GTT memory ready.",
            ],
            [LoggedGpu(None, 8176, 7000), LoggedGpu(None, 512, 7001)],
            id="two lines picked out of two GPUs",
        ),
        pytest.param(
            [
                f"amdgpu {PCI}: amdgpu: amdgpu: 512M of VRAM memory ready",
                "amdgpu 0000:03:00.0: amdgpu: amdgpu: 8176M of VRAM memory ready",
                f"amdgpu {PCI}: amdgpu: amdgpu: 4000M of GTT memory ready.",
            ],
            [LoggedGpu(PCI, 512, 4000), LoggedGpu("0000:03:00.0", 8176, None)],
            id="6.17, interleaved",
        ),
        pytest.param(
            [
                f"amdgpu {PCI}:  1024M of VRAM memory ready",
                f"amdgpu {PCI}:  49152M of GTT memory ready.",
            ],
            [GPU],
            id="7.0 and later",
        ),
        pytest.param(
            ["amdgpu: 128087M of GTT memory ready."], [LoggedGpu(None, None, 128087)], id="cut out"
        ),
        pytest.param(
            [
                "[drm] radeon: 512M of VRAM memory ready",
                "[drm] radeon: 512M of GTT memory ready.",
                "nouveau 0000:01:00.0: DRM: VRAM: 4096 MiB",
                "snd_hda_intel 0000:c6:00.1: bound 0000:c6:00.0 (ops amdgpu_dm_audio)",
            ],
            [],
            id="other drivers",
        ),
        pytest.param(["6M of GTT memory ready."], [], id="a number that may be cut"),
        pytest.param(
            [f"amdgpu {PCI}: amdgpu: amdgpu: 4915"], [LoggedGpu(PCI, None, None)], id="cut"
        ),
    ],
)
def test_memory_of_every_release(lines: list[str], gpus: list[LoggedGpu]) -> None:
    text = "".join(f"[    3.{number:06}] {line}\n" for number, line in enumerate(lines))
    assert kernel_log.parse(text) == replace(NOTHING, gpus=tuple(gpus))


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (
            "Capping GTT to 128087M to not exceed available system memory",
            "gtt_capped_mib",
            128087,
        ),
        (
            "[drm] GTT size has been set as 134217728000 but TTM size has been set as 65867993088, "
            "this is unusual",
            "ttm_limit_mib",
            65867993088 >> 20,
        ),
        ("Fatal error during GPU init", "gpu_init_failed", True),
        ("probe with driver amdgpu failed with error -22", "gpu_init_failed", True),
        ("VRAM is lost due to GPU reset!", "vram_lost", True),
        ("GPU reset begin!", "gpu_resets", GpuResets(1, 0, 0)),
        ("GPU reset begin!. Source: 5", "gpu_resets", GpuResets(1, 0, 0)),
        ("GPU reset succeeded, trying to resume", "gpu_resets", GpuResets(0, 0, 0)),
        ("GPU reset(12) succeeded!", "gpu_resets", GpuResets(0, 1, 0)),
        ("GPU reset(12) failed", "gpu_resets", GpuResets(0, 0, 1)),
        ("GPU reset end with ret = -62", "gpu_resets", GpuResets(0, 0, 1)),
        ("GPU reset end with ret = 0", "gpu_resets", GpuResets(0, 0, 0)),
        ("GPU Recovery Failed: -19", "gpu_resets", GpuResets(0, 0, 1)),
        ("MODE2 reset", "gpu_resets", GpuResets(0, 0, 0)),
        ("ring gfx_0.0.0 timeout, but soft recovered", "ring_timeouts", 1),
        ("ring gfx timeout, signaled seq=1, emitted seq=3", "ring_timeouts", 1),
        ("ring comp_1.1.0 uses VM inv eng 4 on hub 0", "ring_timeouts", 0),
        ("Ring gfx_0.0.0 reset succeeded", "ring_resets", RingResets(1, 0)),
        ("Ring gfx_0.0.0 reset success", "ring_resets", RingResets(1, 0)),
        ("Ring gfx_0.0.0 reset failure", "ring_resets", RingResets(0, 1)),
        ("Starting gfx_0.0.0 ring reset", "ring_resets", RingResets(0, 0)),
        ("[mmhub0] no-retry page fault (src_id:0 ring:144 vmid:3)", "gpu_page_faults", 1),
        ("[gfxhub] VMC page fault (src_id:0 ring:157 vmid:0 pas_id:0)", "gpu_page_faults", 1),
        ("GPU fault detected: 147 0x0a084801", "gpu_page_faults", 1),
        (
            "AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0000 address=0x1 flags=0x0070]",
            "gpu_page_faults",
            1,
        ),
    ],
)
@pytest.mark.parametrize("owner", [f"amdgpu {PCI}: ", f"amdgpu {PCI}: amdgpu: "])
def test_troubles(line: str, field: str, value: object, owner: str) -> None:
    read = kernel_log.parse(f"[  100.000000] {owner}{line}\n")
    assert getattr(read, field) == value
    assert read.gpus == (LoggedGpu(PCI, None, None),)


@pytest.mark.parametrize(
    "line",
    [
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=5",
        "[drm] VRAM is lost due to GPU reset!",
        "amdgpu: probe of 0000:63:00.0 failed with error -2",
    ],
)
def test_troubles_that_name_no_device(line: str) -> None:
    assert kernel_log.parse(f"[  100.000000] {line}\n") != NOTHING


@pytest.mark.parametrize(
    "line",
    [
        "radeon 0000:01:00.0: GPU reset begin!",
        "xe 0000:00:02.0: [drm] GPU reset begin!",
        "nvidia: probe of 0000:01:00.0 failed with error -1",
        "e1000e 0000:02:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000c address=0x1]",
        "systemd[1]: amdgpu: GPU reset begin!",
        "audit: name=amdgpu GPU reset begin!",
    ],
)
def test_troubles_of_others(line: str) -> None:
    read = kernel_log.parse(f"{START}{MEMORY}[  100.000000] {line}\n")
    assert read == QUIET


def test_one_failed_reset_is_told_three_times() -> None:
    owner = f"amdgpu {PCI}: amdgpu: "
    one = (
        f"{owner}GPU reset begin!\n{owner}GPU reset(2) failed\n"
        f"{owner}GPU reset end with ret = -110\n"
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* GPU Recovery Failed: -110\n"
    )
    assert kernel_log.parse(one * 2).gpu_resets == GpuResets(begun=2, completed=0, failed=2)


GROUP = "pci 0000:00:01.0: Adding to iommu group 0"
LISTED = "pci 0000:00:01.0: [1022:14e8] type 00 class 0x060000"
TRANSLATED = "iommu: Default domain type: Translated "
PASSTHROUGH = "iommu: Default domain type: Passthrough (set via kernel command line)"
NAMED = f"amdgpu {PCI}: enabling device (0006 -> 0007)"
FAULT = f"amdgpu {PCI}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0010 address=0x1 flags=0x0]"


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([TRANSLATED], "translated"),
        ([PASSTHROUGH], "passthrough"),
        ([TRANSLATED, GROUP], "translated"),
        ([GROUP], "on"),
        (["AMD-Vi: Interrupt remapping enabled"], "on"),
        (["DMAR: Intel(R) Virtualization Technology for Directed I/O"], "on"),
        (["perf/amd_iommu: Detected AMD IOMMU #0 (2 banks, 4 counters/bank)."], "on"),
        ([FAULT], "translated"),
        ([FAULT.replace("0010", "0000")], "on"),
        ([PASSTHROUGH, FAULT], "passthrough"),
        (["AMD-Vi: Unknown option - 'on'"], "unknown"),
        (["AMD-Vi: AMD IOMMUv2 functionality not available on this system"], "unknown"),
        (["AMD-Vi: AMD IOMMU disabled", TRANSLATED], "off"),
        (["Command line: quiet amd_iommu=off", TRANSLATED], "off"),
        (["Command line: quiet iommu=off iommu=pt", TRANSLATED], "off"),
        (["Command line: amd_iommu=fullflush,off", TRANSLATED], "off"),
        (["Command line: amd_iommu=off", TRANSLATED, GROUP], "translated"),
        (["Command line: amd_iommu=offf", TRANSLATED], "translated"),
        ([LISTED, TRANSLATED, NAMED], "off"),
        ([LISTED, TRANSLATED, "Freeing unused kernel image (initmem) memory: 4932K"], "off"),
        ([LISTED, TRANSLATED], "translated"),
        ([LISTED, TRANSLATED, GROUP, NAMED], "translated"),
        (["ACPI: bus type USB registered"], "unknown"),
    ],
)
def test_the_iommu(lines: list[str], state: str) -> None:
    text = "".join(f"[    0.{number:06}] {line}\n" for number, line in enumerate(lines))
    assert kernel_log.parse(text).iommu == state


def test_refused_accesses_count_for_the_gpu_alone() -> None:
    event = "AMD-Vi: Event logged [IO_PAGE_FAULT device={} domain=0x0002 address=0x1 flags=0x0]"
    text = "\n".join(
        f"[    3.000000] {line}"
        for line in (
            event.format("c6:00.0"),
            event.format(PCI),
            event.format("02:00.0"),
            f"pci {PCI}: {event.replace('device={} ', '')}",
            f"amdgpu {PCI}: amdgpu: Fetched VBIOS from VFCT",
        )
    )
    assert kernel_log.parse(text).gpu_page_faults == 3


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        (
            'Unknown kernel command line parameters "splash a=b", will be passed to user space.',
            ("splash", "a=b"),
        ),
        ('Unknown kernel command line parameters "splash a=', ("splash",)),
        ("Unknown command line parameters: splash a=b", ("splash", "a=b")),
        ("amdgpu: unknown parameter 'gttsise' ignored", ("amdgpu.gttsise",)),
        ("ttm: unknown parameter 'page_limit' ignored", ("ttm.page_limit",)),
        ("AMD-Vi: Unknown option - 'on'", ()),
    ],
)
def test_unknown_parameters(line: str, unknown: tuple[str, ...]) -> None:
    assert kernel_log.parse(f"[    0.011222] {line}\n").unknown_parameters == unknown


OTHER_ARGUMENTS = START.replace(ARGUMENTS, "quiet other=1")


@pytest.mark.parametrize(
    ("before", "last"),
    [
        pytest.param(WHOLE, START + MEMORY, id="whole boots"),
        pytest.param(WHOLE + "-- Reboot --\n", MEMORY, id="journald's mark"),
        pytest.param(WHOLE + f"-- Boot {'2d50da51' * 4} --\n", MEMORY, id="journald's newer mark"),
        pytest.param(
            WHOLE.partition("\n")[2],
            OTHER_ARGUMENTS.partition("\n")[2] + MEMORY,
            id="other parameters",
        ),
        pytest.param(
            WHOLE.partition("\n")[2],
            START.partition("\n")[2].replace("0.011111", "0.012345") + MEMORY,
            id="the same parameters at another time",
        ),
        pytest.param(MEMORY + TROUBLE, MEMORY.replace("3.1", "3.2"), id="the GPU alone"),
    ],
)
def test_only_the_last_boot_is_judged(before: str, last: str) -> None:
    assert kernel_log.parse(before + last) == kernel_log.parse(last)


def test_a_copy_of_the_parameters_that_is_cut_does_not_count() -> None:
    cut = START[: START.index("quiet", START.index("Kernel command"))]
    assert kernel_log.parse(cut).cmdline == ARGUMENTS


def test_two_searches_in_one_boot_are_one_boot() -> None:
    again = "".join(line for line in START.splitlines(keepends=True)[1:] if "ommand line" in line)
    assert kernel_log.parse(WHOLE + again) == READ


def test_a_driver_that_is_loaded_again_is_no_boot() -> None:
    again = MEMORY.replace("[    ", "[  12").replace("49152M", "8192M")
    read = kernel_log.parse(WHOLE + again)
    assert read == replace(READ, gpus=(LoggedGpu(PCI, 1024, 8192),))


@pytest.mark.parametrize("text", ["", "\n \n", "\0", "-- No entries --\n", "[    0.000000] x\n"])
def test_nothing_tells_nothing(text: str) -> None:
    assert kernel_log.parse(text) == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "root=/dev/sda1 ro\n",
        "\x7fELF\0\0",
        "{}",
        "Once upon a time\nthere was a | and a = sign\n",
        "[    23.456] (II) Loading sub module\n",
        "[Wed Oct 11 14:32:52.100000 2000] [error] [client 127.0.0.1] no amdgpu\n",
        "Feb 10 19:23:21 box ollama[7]: amdgpu: GPU reset begin!\n",
        "dmesg: read kernel buffer failed: Operation not permitted\n",
        "1. kernel: its parameters\n2. kernel: GRUB's files, the initramfs, the boot menu.\n",
        f"{kernel_log._UNREAD}\n",
    ],
)
def test_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        kernel_log.parse(text)


PIECES = [
    *WHOLE.split("\n"),
    *WHOLE.split(),
    *("\n", "[", "]", "\0", "\u00b2", ": ", "-- Boot a --", "kernel: ", "9" * 50, "AMD-Vi: "),
]


@given(
    st.text()
    | st.lists(st.sampled_from(PIECES)).map("\n".join)
    | st.lists(st.sampled_from(PIECES)).map(" ".join)
    | st.integers(0, len(WHOLE)).map(lambda cut: WHOLE[:cut])
    | st.integers(0, len(WHOLE)).map(lambda cut: WHOLE[cut:])
)
def test_no_text_makes_it_raise_or_invent(text: str) -> None:
    with suppress(ParseError):
        read = kernel_log.parse(text)
        numbers = [
            str(size)
            for gpu in read.gpus
            for size in (gpu.vram_mib, gpu.gtt_mib)
            if size is not None
        ]
        addresses = [gpu.pci for gpu in read.gpus if gpu.pci]
        words = (read.cmdline or "").split()
        seen = plain(text)
        whole = re.sub(r"\n[> ]*", "", seen)
        assert all(part in seen or part in whole for part in (*numbers, *addresses, *words))


@given(st.integers(0, len(WHOLE)))
def test_a_cut_log_tells_no_other_number(cut: int) -> None:
    for text in (WHOLE[:cut], WHOLE[cut:]):
        with suppress(ParseError):
            for gpu in kernel_log.parse(text).gpus:
                assert gpu.pci in (None, PCI)
                assert gpu.vram_mib in (None, 1024)
                assert gpu.gtt_mib in (None, 49152)


def test_what_the_command_lets_through_tells_the_same() -> None:
    lines = [f"{line}\n" for line in WHOLE.splitlines()]
    first = [line for line in lines if re.search(kernel_log.FIRST_WORDS, line)]
    later = [line for line in first if re.search(kernel_log.LATER_WORDS, line)]
    assert kernel_log.parse("".join(first)) == READ
    told = kernel_log.parse("".join(later))
    assert asdict(told) | {"iommu": None, "cmdline": None, "unknown_parameters": None} == asdict(
        READ
    ) | {"iommu": None, "cmdline": None, "unknown_parameters": None}
    assert [line for line in lines if "usb 1-1" in line and line in first] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"amdgpu {PCI}: " + "ring." * 100_000, id="rings"),
        pytest.param("[    1.000000] " * 100_000, id="stamps"),
        pytest.param("AMD-Vi: " * 100_000, id="the IOMMU"),
        pytest.param(f"amdgpu {PCI}: GPU{' ' * 1_000_000}reset", id="blanks"),
        pytest.param("> " * 500_000, id="quotes"),
        pytest.param("x\n" * 200_000, id="short lines"),
        pytest.param(f"[    1.000000] amdgpu: {'y' * 70} \n" * 5_000, id="lines that may go on"),
    ],
)
def test_long_text_is_read_at_once(text: str) -> None:
    started = time.process_time()
    with suppress(ParseError):
        kernel_log.parse(text)
    assert time.process_time() - started < 2


def _gpu(address: str, vram_mib: int | None = None, gtt_mib: int | None = None) -> LoggedGpu:
    return LoggedGpu(f"0000:{address}:00.0", vram_mib, gtt_mib)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "01-strixhalo-6.12-dkms-gttsize-vs-ttm-mismatch",
            replace(
                NOTHING,
                gpus=(_gpu("c5", 98304, 98304),),
                ttm_limit_mib=15868,
                iommu="passthrough",
                gpu_page_faults=1,
            ),
        ),
        (
            "03-rembrandt-memory-ready-then-fatal-init",
            replace(NOTHING, gpus=(_gpu("63", 512, 15680),), gpu_init_failed=True),
        ),
        (
            "05-carrizo-mail-wrapped-lines",
            replace(NOTHING, gpus=(LoggedGpu("0000:00:01.0", 512, 3572),)),
        ),
        (
            "07-next-kernel-callerid-prefix-vram-lost",
            replace(NOTHING, gpus=(_gpu("03"),), gpu_resets=GpuResets(1, 0, 0), vram_lost=True),
        ),
        (
            "09-780m-7.0-reset-never-completes",
            replace(NOTHING, gpus=(_gpu("0f"),), gpu_resets=GpuResets(1, 0, 0)),
        ),
        (
            "11-two-gpus-navi31-plus-raphael-dmesg-T",
            replace(NOTHING, gpus=(_gpu("03", 16368, 15335), _gpu("12", 512, 15335))),
        ),
        (
            "13-780m-thinkpad-6.17-dkms-journal-short",
            replace(NOTHING, gpus=(_gpu("c3", 8192, 11834),)),
        ),
        (
            "15-amdgpu-io_page_fault-amdvi-vs-other-devices",
            replace(NOTHING, gpus=(_gpu("03"),), iommu="translated", gpu_page_faults=3),
        ),
        (
            "17-raven-add-apu-node",
            replace(NOTHING, gpus=(_gpu("05"),), iommu="on", gpu_page_faults=2),
        ),
        (
            "18-6.1-navi22-ring-gfx-timeout-vram-lost-reset2",
            replace(
                NOTHING,
                gpus=(_gpu("0b", 12272, 32103),),
                iommu="translated",
                gpu_resets=GpuResets(1, 1, 0),
                vram_lost=True,
                ring_timeouts=1,
            ),
        ),
        (
            "19-6.5-pve-amd_iommu-on-unknown-option-vfio-no-amdgpu",
            replace(NOTHING, iommu="passthrough"),
        ),
        (
            "21-7.x-ring-reset-failed-mode1-then-ring-reset-succeeded",
            replace(
                NOTHING,
                gpus=(_gpu("03"),),
                gpu_resets=GpuResets(1, 1, 0),
                vram_lost=True,
                ring_timeouts=2,
                ring_resets=RingResets(1, 1),
            ),
        ),
    ],
)
def test_real_logs(file: str, expected: KernelLog) -> None:
    read = kernel_log.parse(sample(f"dmesg/{file}.txt"))
    assert replace(read, cmdline=None) == expected


@pytest.mark.parametrize(
    ("file", "beginning", "end"),
    [
        (
            "dmesg/01-strixhalo-6.12-dkms-gttsize-vs-ttm-mismatch",
            "BOOT_IMAGE=/boot/vmlinuz-6.12.74+deb13+1-amd64 root=",
            " amdgpu.gttsize=98304 ttm.pages_limit=25000000 iommu=pt",
        ),
        ("dmesg/18-6.1-navi22-ring-gfx-timeout-vram-lost-reset2", "rd.luks.name=", "-zen.img"),
        (
            "dmesg/19-6.5-pve-amd_iommu-on-unknown-option-vfio-no-amdgpu",
            "BOOT_IMAGE=",
            " initcall_blacklist=sysfb_init",
        ),
        ("grub/01-cmdline-6.18-crashkernel-ranges-journal", "BOOT_IMAGE=", " vt.handoff=7"),
    ],
)
def test_real_parameters(file: str, beginning: str, end: str) -> None:
    line = kernel_log.parse(sample(f"{file}.txt")).cmdline or ""
    assert line.startswith(beginning)
    assert line.endswith(end)
