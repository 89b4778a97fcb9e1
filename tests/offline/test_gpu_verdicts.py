"""The GPU's verdicts: each fault with its severity and fix; what could not be read is unknown."""

import pytest
from tests.support import stack
from tests.support.hosts import GIB, GPU_780M, LINE, PARTS, host_facts, settings
from tests.support.samples import sample
from tests.support.verdicts import HEALTHY, also, unread, verdict

from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.known_bad import KNOWN_BAD, has_firmware, has_kernel, known_bad
from apuhost.verdicts import Layer, Severity, Status, gpu

SIMULATED = {"memory_gib": 61, "gpu": "1002:1900"}
VIRTUAL = "hostname=vm\nvirtualization=qemu\n"
NVIDIA = "gpu pci=0000:01:00.0 vendor=0x10de device=0x2684 driver=nouveau gtt= vram=\n"
NAVI = GPU_780M.replace("0x1900", "0x744c").replace("c6:", "03:")
PCI = "amdgpu 0000:c6:00.0: amdgpu:"


@pytest.mark.parametrize("verdict_id", gpu.IDS)
def test_a_healthy_gpu_passes(verdict_id: str) -> None:
    found = verdict(HEALTHY, verdict_id)
    assert found.status is Status.PASS
    assert found.observed


@pytest.mark.parametrize("verdict_id", gpu.IDS)
def test_a_virtual_machine_that_stands_in_has_no_gpu_to_judge(verdict_id: str) -> None:
    facts = host_facts(machine=VIRTUAL, gpus="", kernel_log="")
    found = verdict(facts, verdict_id, host_simulated=SIMULATED)
    assert (found.status, "a VM has none" in found.reason) == (Status.SKIP, True)


@pytest.mark.parametrize(
    ("verdict_id", "missing"),
    [
        ("gpu.device", "gpus"),
        ("gpu.driver", "gpus"),
        ("gpu.health", "kernel_log"),
        ("gpu.known_bad", "gpus"),
    ],
)
def test_what_could_not_be_read_is_unknown(verdict_id: str, missing: str) -> None:
    asked = settings()
    judged = gpu.verdicts(asked, derive(asked, HEALTHY), unread(HEALTHY, missing))
    found = next(each for each in judged if each.id == verdict_id)
    assert (found.status, missing in found.reason) == (Status.UNKNOWN, True)


def test_the_apu_is_named_by_address_ids_and_memory() -> None:
    assert verdict(HEALTHY, "gpu.device").observed == (
        "Radeon 780M (1002:1900) at 0000:c6:00.0, 1024 MiB of its own, 49152 MiB of GTT"
    )


def test_cards_beside_it_are_named() -> None:
    found = verdict(host_facts(gpus=NAVI + GPU_780M + NVIDIA), "gpu.device")
    assert found.status is Status.PASS
    assert found.observed.startswith("Radeon 780M (1002:1900)")
    assert found.observed.endswith("; beside it 1002:744c (amdgpu), 10de:2684 (nouveau)")


def test_no_amd_gpu_is_a_failure_that_names_what_is_there() -> None:
    found = verdict(host_facts(gpus=NVIDIA), "gpu.device")
    assert (found.status, found.severity) == (Status.FAIL, Severity.REQUIRED)
    assert found.observed == "no AMD GPU on the PCI bus; beside it 10de:2684 (nouveau)"


@pytest.mark.parametrize("verdict_id", ["gpu.device", "gpu.driver"])
@pytest.mark.parametrize(
    ("machine", "fix"),
    [
        pytest.param(PARTS["machine"], "switch the built-in GPU on in the BIOS", id="a mini PC"),
        pytest.param(VIRTUAL, "pass the GPU through to this VM, or rehearse: set", id="a VM"),
    ],
)
def test_who_gives_a_host_its_gpu_depends_on_the_machine(
    verdict_id: str, machine: str, fix: str
) -> None:
    found = verdict(host_facts(machine=machine, gpus=""), verdict_id)
    assert found.status is Status.FAIL
    assert found.fix.startswith(fix)


def test_a_gpu_that_is_not_in_the_table_is_a_warning() -> None:
    found = verdict(host_facts(gpus=NAVI), "gpu.device")
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert "1002:744c" in found.observed


def test_nomodeset_is_named_where_it_keeps_the_driver_away() -> None:
    gpus = GPU_780M.replace("driver=amdgpu", "driver=")
    found = verdict(host_facts(gpus=gpus, cmdline=f"{LINE} nomodeset\n"), "gpu.driver")
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert "nomodeset" in found.evidence
    found = verdict(host_facts(gpus=gpus), "gpu.driver")
    assert (found.status, "nomodeset" in found.evidence) == (Status.FAIL, False)


TIMEOUT = f"{PCI} ring comp_1.1.0 timeout, signaled seq=5, emitted seq=7"
RING_RESET = f"{PCI} Ring comp_1.1.0 reset succeeded"
BEGUN = f"{PCI} GPU reset begin!. Source:  1"
COMPLETED = f"{PCI} GPU reset(1) succeeded!"
FAILED = f"{PCI} GPU reset(2) failed"
LOST = f"{PCI} VRAM is lost due to GPU reset!"
FAULT = f"{PCI} [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32771)"
FATAL = f"{PCI} Fatal error during GPU init"


def logged(*lines: str, **parts: str) -> HostFacts:
    """The healthy host, with these lines later in its kernel log."""
    more = "".join(f"[  {100 + n}.000000] {line}\n" for n, line in enumerate(lines))
    return also(host_facts(), kernel_log=PARTS["kernel_log"] + more, **parts)


NO_DRIVER = GPU_780M.replace("driver=amdgpu", "driver=").replace(f"gtt={48 * GIB}", "gtt=")


@pytest.mark.parametrize(
    ("facts", "severity", "observed", "fix"),
    [
        pytest.param(
            logged(TIMEOUT, RING_RESET),
            "recommended",
            "1 ring timeout, 1 ring reset; recovered",
            "num_batch",
            id="a ring reset",
        ),
        pytest.param(
            logged(TIMEOUT, BEGUN, COMPLETED, TIMEOUT, BEGUN, COMPLETED),
            "recommended",
            "2 ring timeouts, 2 GPU resets; recovered",
            "num_batch",
            id="two resets of the GPU",
        ),
        pytest.param(
            logged(TIMEOUT, kernel="running 7.0.0-44-generic\n", modules=""),
            "recommended",
            "1 ring timeout; recovered",
            "num_batch",
            id="a timeout alone",
        ),
        pytest.param(
            logged(FAULT), "recommended", "1 page fault; recovered", "firmware", id="a page fault"
        ),
        pytest.param(
            logged(FATAL), "recommended", "at a second try", "firmware", id="loaded again since"
        ),
        pytest.param(
            logged(TIMEOUT, BEGUN, FAILED),
            "required",
            "a GPU reset failed (1 ring timeout, 1 GPU reset)",
            "reboot",
            id="a reset that failed",
        ),
        pytest.param(
            logged(TIMEOUT, BEGUN),
            "required",
            "a GPU reset never ended (1 ring timeout, 1 GPU reset)",
            "reboot",
            id="wedged",
        ),
        pytest.param(
            logged(TIMEOUT, BEGUN, LOST, COMPLETED),
            "required",
            "the GPU's memory was lost (1 ring timeout, 1 GPU reset, memory lost)",
            "docker restart ollama",
            id="memory lost",
        ),
        pytest.param(
            logged(FATAL, gpus=NO_DRIVER),
            "required",
            "the GPU's driver failed to start",
            "journalctl",
            id="no driver",
        ),
    ],
)
def test_a_trouble_is_named_with_how_often_and_what_to_do(
    facts: HostFacts, severity: str, observed: str, fix: str
) -> None:
    found = verdict(facts, "gpu.health")
    assert (found.status, found.severity, found.layer) == ("fail", severity, "effective")
    assert observed in found.observed
    assert fix in found.fix
    assert found.evidence


def test_a_watchdog_that_is_too_short_is_raised_first() -> None:
    modules = PARTS["modules"].replace("lockup_timeout 10000", "lockup_timeout ")
    facts = logged(TIMEOUT, RING_RESET, kernel="running 7.0.0-44-generic\n", modules=modules)
    found = verdict(facts, "gpu.health")
    assert found.fix.startswith("kernel_lockup_timeout_ms: 10000 (now 2000)")


def test_a_log_without_its_beginning_that_has_nothing_is_unknown_not_good() -> None:
    rest = f"[  100.000000] {PCI} nothing of note\n[  101.000000] usb 1-1: new device\n"
    found = verdict(host_facts(kernel_log=rest), "gpu.health")
    assert (found.status, found.severity) == (Status.UNKNOWN, Severity.RECOMMENDED)
    assert "beginning is gone" in found.reason
    found = verdict(host_facts(kernel_log=f"{rest}[  102.000000] {LOST}\n"), "gpu.health")
    assert found.status is Status.FAIL


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("dmesg/03-rembrandt-memory-ready-then-fatal-init.txt", "required"),
        ("dmesg/07-next-kernel-callerid-prefix-vram-lost.txt", "required"),
        ("dmesg/09-780m-7.0-reset-never-completes.txt", "required"),
        ("dmesg/15-amdgpu-io_page_fault-amdvi-vs-other-devices.txt", "recommended"),
        ("dmesg/18-6.1-navi22-ring-gfx-timeout-vram-lost-reset2.txt", "required"),
        ("dmesg/21-7.x-ring-reset-failed-mode1-then-ring-reset-succeeded.txt", "required"),
    ],
)
def test_logs_of_real_hosts_with_a_trouble_fail(name: str, severity: str) -> None:
    facts = host_facts(kernel_log=sample(name), gpus=NO_DRIVER)
    found = verdict(facts, "gpu.health")
    assert (found.status, found.severity) == (Status.FAIL, severity)


def card(device: str, mes: str | None, *, kernel: str, **parts: str) -> HostFacts:
    """A host with an APU of this id, this MES firmware and this kernel."""
    told = f"MES feature version: 1, firmware version: {mes}\n" if mes else ""
    return also(
        host_facts(),
        gpus=GPU_780M.replace("0x1900", f"0x{device}"),
        gpu_firmware=f"card amdgpu dev=0000:c6:00.0\n{told}",
        kernel=f"running {kernel}\n",
        **parts,
    )


DATED = stack.packages().replace("|20250410-2|", "|20251202-1|")
BAD, GOOD = "0x00000083", "0x00000086"


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        pytest.param(card("1586", BAD, kernel="6.17.0-42-generic"), "fail", id="8060S, MES 0x83"),
        pytest.param(card("150e", BAD, kernel="7.2.13"), "fail", id="890M, whatever the kernel"),
        pytest.param(card("1586", GOOD, kernel="6.17.0"), "pass", id="8060S, newer MES"),
        pytest.param(card("1900", BAD, kernel="6.17.0"), "pass", id="780M: nothing known"),
        pytest.param(card("1114", "0x00000082", kernel="6.17.0-22"), "fail", id="860M, 6.17"),
        pytest.param(card("1114", "0x00000082", kernel="6.19.9"), "fail", id="860M, just before"),
        pytest.param(card("1114", "0x00000082", kernel="6.19.10"), "pass", id="860M, fixed"),
        pytest.param(card("1114", "0x00000082", kernel="7.0.0-15"), "pass", id="860M, 7.0"),
        pytest.param(card("1586", None, kernel="6.17.0"), "unknown", id="debugfs is closed"),
        pytest.param(
            card("1586", None, kernel="6.17.0", packages=DATED), "fail", id="the package convicts"
        ),
        pytest.param(
            card("1586", GOOD, kernel="6.17.0", packages=DATED),
            "pass",
            id="what was loaded outweighs the package",
        ),
    ],
)
def test_kernels_and_firmware_that_are_known_to_hang_a_gpu(facts: HostFacts, status: str) -> None:
    found = verdict(facts, "gpu.known_bad")
    assert (found.status, found.severity) == (status, Severity.RECOMMENDED)
    if status == "fail":
        assert found.layer is Layer.BOOTED
        assert "ROCm issue" in found.evidence
        assert found.fix


def test_what_only_rocm_meets_is_told_with_rocm_only() -> None:
    facts = card("1586", GOOD, kernel="6.8.0-151-generic")
    assert verdict(facts, "gpu.known_bad").status is Status.PASS
    image = stack.IMAGE.replace("0.34.4@", "0.34.4-rocm@")
    found = verdict(facts, "gpu.known_bad", ollama_backend="rocm", ollama_image=image)
    assert found.status is Status.FAIL


def test_a_gpu_that_the_table_of_apus_lacks_is_not_looked_up() -> None:
    assert verdict(host_facts(gpus=NAVI), "gpu.known_bad").status is Status.SKIP


@pytest.mark.parametrize("release", ["", "linux", "6", "x.6.1", "²"])
def test_a_release_that_names_no_version_is_in_no_range(release: str) -> None:
    ranged = [row for row in KNOWN_BAD if row.kernels_before]
    assert ranged
    assert not any(has_kernel(row, release) for row in ranged)


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("20251125-1", True),
        ("20251202.git1234-0ubuntu1", True),
        ("1:20251202-1~bpo13+1", True),
        ("20251111-1", None),
        ("20260110-1", None),
        ("20240318.git3b128b60-0ubuntu2.25", None),
        ("0.20251202-1", None),
        ("202512021", None),
        (None, None),
    ],
)
def test_a_package_may_convict_and_never_acquits(package: str | None, told: bool | None) -> None:
    (row,) = known_bad("gfx1150", rocm=True)
    assert has_firmware(row, None, package) is told
