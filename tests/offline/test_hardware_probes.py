"""What the probes of the processor, the memory modules and the GPU's firmware read."""

import pytest
from tests.support.hosts import GIB, GPU_780M

from apuhost.probes import ParseError, cpuinfo, dmi_memory, gpu_firmware, gpus, iommu
from apuhost.probes.dmi_memory import MemoryModule

CPU = (
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD Ryzen 7 8845HS\n"
    "flags\t\t: fpu svm\nbugs\t\t: sysret_ss_attrs\n\nprocessor\t: 1\nflags\t\t: fpu\n"
)


def test_the_first_processor_is_read() -> None:
    found = cpuinfo.parse(CPU)
    assert found == cpuinfo.Cpu("AuthenticAMD", "AMD Ryzen 7 8845HS", frozenset({"fpu", "svm"}))


@pytest.mark.parametrize("text", ["", "processor\t: 0\n", "processor: 0\n\nflags: svm\n"])
def test_a_processor_without_flags_is_not_read(text: str) -> None:
    with pytest.raises(ParseError, match="flags"):
        cpuinfo.parse(text)


MODULE = MemoryModule("DIMM 0", "DDR5", 32 * GIB, 5600, 4800)
SLOTS = """\
Memory Device
\tSize: 32 GB
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL A
\tType: DDR5
\tSpeed: 5600 MT/s
\tConfigured Memory Speed: 4800 MT/s

Memory Device
\tSize: No Module Installed
\tLocator: DIMM 1
\tType: Unknown
"""
UDEV = """\
MEMORY_DEVICE_0_SIZE=34359738368
MEMORY_DEVICE_0_LOCATOR=DIMM 0
MEMORY_DEVICE_0_TYPE=DDR5
MEMORY_DEVICE_0_SPEED_MTS=5600
MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=4800
MEMORY_DEVICE_1_LOCATOR=DIMM 1
"""
OLDER = SLOTS.replace("Configured Memory", "Configured Clock").replace("MT/s", "MHz")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SLOTS, id="dmidecode"),
        pytest.param(OLDER.replace("32 GB", "32768 MB"), id="dmidecode before 3.2"),
        pytest.param(UDEV, id="udev"),
    ],
)
def test_modules_are_read_in_each_form(text: str) -> None:
    assert dmi_memory.parse(text).modules == (MODULE,)


@pytest.mark.parametrize("speed", ["Unknown", "0", "²", "fast MT/s", "5600 GT/s"])
def test_a_speed_that_the_firmware_does_not_tell_is_none(speed: str) -> None:
    (module,) = dmi_memory.parse(SLOTS.replace("4800 MT/s", speed)).modules
    assert module.configured_mts is None


@pytest.mark.parametrize("text", ["", "none\n", "Size: 32 GB\n"])
def test_without_either_program_nothing_is_known(text: str) -> None:
    with pytest.raises(ParseError, match="neither dmidecode nor udev"):
        dmi_memory.parse(text)


def test_slots_without_a_module_are_no_modules() -> None:
    assert dmi_memory.parse("Memory Device\n\tSize: No Module Installed\n").modules == ()


PCI = "0000:c6:00.0"
FIRMWARE = f"""\
card amdgpu dev={PCI} unique={PCI}
VCE feature version: 0, firmware version: 0x00000000
MEC feature version: 35, firmware version: 0x00000021
TA DTM feature version: 0x00000000, firmware version: 0x12000016
SMC feature version: 0, program: 10, firmware version: 0x0a640600 (100.6.0)
MES_KIQ feature version: 6, firmware version: 0x0000006f
MES feature version: 1, fw version: 0x00000083
VBIOS version: 113-STRXLGEN-001
"""


def test_the_firmware_of_each_gpu_by_its_address() -> None:
    other = FIRMWARE.replace(PCI, "0000:03:00.0").replace("83", "86")
    found = gpu_firmware.parse(FIRMWARE + other)
    assert found.cards[PCI] == {
        "MEC": 0x21,
        "TA DTM": 0x12000016,
        "SMC": 0x0A640600,
        "MES_KIQ": 0x6F,
        "MES": 0x83,
    }
    assert (found.mes(PCI), found.mes("0000:03:00.0"), found.mes("0000:04:00.0")) == (
        0x83,
        0x86,
        None,
    )


@pytest.mark.parametrize("card", ["card i915 dev=0000:00:02.0", "card ", "card amdgpu"])
def test_what_no_amdgpu_told_is_nobodys(card: str) -> None:
    text = FIRMWARE.replace(f"card amdgpu dev={PCI} unique={PCI}", card)
    assert gpu_firmware.parse(text).cards == {}


@pytest.mark.parametrize(
    ("line", "described"),
    [("described=yes\n", True), ("described=no\n", False), ("", None), ("described=?\n", None)],
)
def test_whether_the_firmware_describes_an_iommu(line: str, described: bool | None) -> None:
    assert iommu.parse(f"groups=0\ntranslated=0\n{line}").described is described


DISCRETE = "gpu pci=0000:03:00.0 vendor=0x1002 device=0x744c driver=amdgpu gtt=1 vram=1\n"
NVIDIA = "gpu pci=0000:01:00.0 vendor=0x10de device=0x1900 driver=nouveau gtt= vram=\n"


@pytest.mark.parametrize("cut", [GPU_780M[:-1], GPU_780M[:-6], DISCRETE + GPU_780M[:-1]])
def test_a_list_that_was_cut_in_its_last_value_is_not_read(cut: str) -> None:
    with pytest.raises(ParseError, match="cut"):
        gpus.parse(cut)


@pytest.mark.parametrize("text", ["", "\n"])
def test_no_line_is_no_gpu(text: str) -> None:
    assert gpus.parse(text).devices == ()


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        pytest.param(DISCRETE + GPU_780M + NVIDIA, [PCI], id="beside discrete cards"),
        pytest.param(DISCRETE + NVIDIA, ["0000:03:00.0"], id="none of the table"),
        pytest.param(NVIDIA, [], id="another vendor's, with an APU's device id"),
    ],
)
def test_apus_are_known_by_vendor_and_device(text: str, addresses: list[str]) -> None:
    assert [gpu.pci for gpu in gpus.parse(text).apus] == addresses
