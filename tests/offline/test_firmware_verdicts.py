"""The firmware setup's verdicts: what Linux sees of it, and what it can only say to look at."""

import pytest
from tests.support.hosts import GIB, GPU_780M, PARTS, host_facts
from tests.support.verdicts import HEALTHY, unread, verdict

from apuhost.host_facts import HostFacts
from apuhost.settings.firmware import FirmwareSetup
from apuhost.verdicts import Layer, Severity, Status, firmware

SETUP = {"uma_mib": 1024, "svm": False, "memory_mts": 5600}
MODULES = PARTS["dmi_memory"]
LARGE = "UMA frame buffer is 16384 MiB"
ONE, _, _ = MODULES.rpartition("Memory Device")


@pytest.mark.parametrize("verdict_id", firmware.IDS)
@pytest.mark.parametrize("setup", [SETUP, None, {}], ids=["declared", "not declared", "empty"])
def test_the_reference_host_passes(verdict_id: str, setup: dict[str, object] | None) -> None:
    found = verdict(HEALTHY, verdict_id, host_firmware=setup)
    assert (found.status, found.severity) == (Status.PASS, Severity.RECOMMENDED)
    assert found.observed


@pytest.mark.parametrize("verdict_id", firmware.IDS)
def test_a_virtual_machine_has_no_firmware_setup(verdict_id: str) -> None:
    facts = host_facts(machine="hostname=vm\nvirtualization=kvm\n", gpus="", dmi_memory="")
    found = verdict(facts, verdict_id, host_firmware=SETUP)
    assert (found.status, "virtual machine" in found.reason) == (Status.SKIP, True)


def vram(size: object) -> str:
    return GPU_780M.replace(f"vram={GIB}", f"vram={size}")


@pytest.mark.parametrize(
    ("gpus", "setup", "observed"),
    [
        pytest.param(
            vram(16 * GIB),
            None,
            "UMA frame buffer is 16384 MiB, memory that the system lacks",
            id="large",
        ),
        pytest.param(
            vram(16 * GIB),
            SETUP,
            "UMA frame buffer is 16384 MiB, memory that",
            id="larger than said",
        ),
        pytest.param(vram(GIB // 2), SETUP, "UMA frame buffer is 512 MiB", id="less than said"),
    ],
)
def test_a_uma_frame_buffer_of_another_size(
    gpus: str, setup: dict[str, object] | None, observed: str
) -> None:
    found = verdict(host_facts(gpus=gpus), "firmware.uma", host_firmware=setup)
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.observed.startswith(observed)
    assert found.fix == "set UMA Frame Buffer Size to 1024 MiB in the BIOS setup"


def test_less_than_enough_is_enough_where_nothing_is_said() -> None:
    assert verdict(host_facts(gpus=vram(GIB // 2)), "firmware.uma").status is Status.PASS
    found = verdict(host_facts(gpus=vram(4 * GIB)), "firmware.uma", host_firmware={"uma_mib": 4096})
    assert found.status is Status.PASS


def test_where_sysfs_is_silent_the_kernel_log_tells_the_frame_buffer() -> None:
    log = PARTS["kernel_log"].replace("1024M of VRAM", "8192M of VRAM")
    found = verdict(host_facts(gpus=vram(""), kernel_log=log), "firmware.uma")
    assert (found.status, found.evidence) == ("fail", "kernel log: 8192M of VRAM memory ready")


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(host_facts(gpus=vram(""), kernel_log=""), id="neither sysfs nor log"),
        pytest.param(unread(HEALTHY, "gpus"), id="no GPU was read"),
    ],
)
def test_a_frame_buffer_that_nobody_tells_is_unknown(facts: HostFacts) -> None:
    asked = firmware.uma(FirmwareSetup(), facts)
    assert asked.status is Status.UNKNOWN


def test_without_an_apu_there_is_no_frame_buffer_to_judge() -> None:
    navi = GPU_780M.replace("0x1900", "0x744c")
    assert verdict(host_facts(gpus=navi), "firmware.uma").status is Status.SKIP


ON = PARTS["cpuinfo"].replace("fpu vme", "fpu svm vme")


@pytest.mark.parametrize(
    ("cpuinfo", "asked", "kernel", "status"),
    [
        pytest.param(ON, True, "6.12.1", "pass", id="on, as said"),
        pytest.param(ON, False, "6.12.1", "fail", id="on, said off"),
        pytest.param(PARTS["cpuinfo"], True, "6.12.1", "fail", id="off, said on"),
        pytest.param(PARTS["cpuinfo"], False, "6.1.0-40", "pass", id="off on an old kernel"),
        pytest.param(ON, False, "6.1.0-40", "unknown", id="an old kernel shows it always"),
        pytest.param(ON, None, "6.12.1", "pass", id="nothing said"),
        pytest.param("", False, "6.12.1", "unknown", id="no flags"),
    ],
)
def test_svm_by_the_processors_flags(
    cpuinfo: str, asked: bool | None, kernel: str, status: str
) -> None:
    facts = host_facts(cpuinfo=cpuinfo, kernel=f"running {kernel}\n")
    found = verdict(facts, "firmware.svm", host_firmware={"svm": asked})
    assert found.status == status
    if status == "fail":
        assert found.fix == f"switch SVM {'on' if asked else 'off'} in the BIOS setup"


@pytest.mark.parametrize(
    ("modules", "asked", "observed", "fix"),
    [
        pytest.param(
            MODULES.replace("Configured Memory Speed: 5600", "Configured Memory Speed: 4800"),
            None,
            "memory runs at 4800 MT/s",
            "5600 MT/s profile",
            id="slower than rated",
        ),
        pytest.param(
            MODULES.replace("5600", "4800"),
            5600,
            "memory runs at 4800 MT/s",
            "5600 MT/s profile",
            id="slower than said",
        ),
        pytest.param(ONE, None, "one memory module", "two equal modules", id="one channel"),
    ],
)
def test_memory_that_is_slower_than_it_may_be(
    modules: str, asked: int | None, observed: str, fix: str
) -> None:
    found = verdict(
        host_facts(dmi_memory=modules), "firmware.memory", host_firmware={"memory_mts": asked}
    )
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.observed.startswith(observed)
    assert fix in found.fix


@pytest.mark.parametrize(
    ("modules", "asked"),
    [
        pytest.param(ONE.replace("DDR5", "LPDDR5"), None, id="soldered memory in one record"),
        pytest.param(MODULES.replace("5600", "6400"), 5600, id="faster than said"),
        pytest.param(
            MODULES.replace("Speed: 5600", "Speed: Unknown", 1), 5600, id="rating unknown"
        ),
    ],
)
def test_memory_that_is_fast_enough(modules: str, asked: int | None) -> None:
    facts = host_facts(dmi_memory=modules)
    found = verdict(facts, "firmware.memory", host_firmware={"memory_mts": asked})
    assert found.status is Status.PASS


@pytest.mark.parametrize(
    ("modules", "reason"),
    [
        pytest.param("none\n", "not readable without dmidecode", id="neither program"),
        pytest.param("Memory Device\n\tSize: No Module Installed\n", "does not tell", id="none"),
        pytest.param(
            MODULES.replace("Configured Memory Speed: 5600", "Configured Memory Speed: Unknown"),
            "does not tell",
            id="no speed",
        ),
    ],
)
def test_what_linux_cannot_tell_is_a_page_to_look_at(modules: str, reason: str) -> None:
    facts = host_facts(dmi_memory=modules)
    found = verdict(facts, "firmware.memory", host_firmware=SETUP)
    assert found.status is Status.UNKNOWN
    assert reason in found.reason
    assert found.reason.endswith("check the BIOS page for 5600 MT/s")
    undeclared = verdict(facts, "firmware.memory")
    assert undeclared.reason.endswith("check the BIOS page for its modules' speed")
