"""Which devices and drivers vulkaninfo lists, in every form that it is handed over in."""

from contextlib import suppress
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.samples import sample

from apuhost.probes import ParseError, vulkaninfo
from apuhost.probes.vulkaninfo import Device, Vulkaninfo

BANNER = "==========\nVULKANINFO\n==========\n\nVulkan Instance Version: 1.4.309\n\n\n"
RADV = (
    "GPU0:\n"
    "\tapiVersion         = 1.4.318\n"
    "\tdriverVersion      = 25.2.8\n"
    "\tvendorID           = 0x1002\n"
    "\tdeviceID           = 0x1900\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU\n"
    "\tdeviceName         = AMD Radeon 780M Graphics (RADV PHOENIX)\n"
    "\tdriverID           = DRIVER_ID_MESA_RADV\n"
    "\tdriverName         = radv\n"
    "\tdriverInfo         = Mesa 25.2.8-1\n"
    "\tconformanceVersion = 1.4.0.0\n"
    "\tdriverUUID         = 414d442d-4d45-5341-2d44-525600000000\n"
)
LLVMPIPE = (
    "GPU1:\n"
    "\tapiVersion         = 1.4.318\n"
    "\tvendorID           = 0x10005\n"
    "\tdeviceID           = 0x0000\n"
    "\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU\n"
    "\tdeviceName         = llvmpipe (LLVM 20.1.2, 256 bits)\n"
    "\tdriverID           = DRIVER_ID_MESA_LLVMPIPE\n"
    "\tdriverName         = llvmpipe\n"
    "\tdriverInfo         = Mesa 25.2.8-1 (LLVM 20.1.2)\n"
    "\tconformanceVersion = 1.3.1.1\n"
)
WHOLE = f"{BANNER}Devices:\n========\n{RADV}{LLVMPIPE}"
GPU = Device(
    index=0,
    name="AMD Radeon 780M Graphics (RADV PHOENIX)",
    vendor_id="0x1002",
    device_id="0x1900",
    type="PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU",
    driver_id="DRIVER_ID_MESA_RADV",
    driver_name="radv",
    driver_info="Mesa 25.2.8-1",
    api_version="1.4.318",
)


def test_a_gpu_beside_llvmpipe() -> None:
    read = vulkaninfo.parse(WHOLE)
    assert read.devices[0] == GPU
    assert read.devices[1].driver_info == "Mesa 25.2.8-1 (LLVM 20.1.2)"
    assert read.radv == (GPU,)
    assert (read.error, read.complete) == (None, True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WHOLE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(WHOLE.replace("\n", "\nollama  | "), id="Compose's prefix"),
        pytest.param(WHOLE.replace("\n", "\nJun 19 11:38:28 box sh[15]: "), id="journald's prefix"),
        pytest.param(WHOLE.replace("\t", "      "), id="blanks"),
        pytest.param(WHOLE.replace("GPU0:", "\x1b[1mGPU0:\x1b[0m\0"), id="bold, and a NUL"),
        pytest.param(WHOLE.replace("Graphics (", "Graphics\n("), id="broken before the brackets"),
        pytest.param(WHOLE.replace("(RADV ", "(RADV\n "), id="broken inside of the brackets"),
        pytest.param(WHOLE.replace("GPU0:", "GPU0"), id="an old release"),
        pytest.param(WHOLE + "\nGPU0:\n\tdeviceName = another\n", id="named again"),
        pytest.param(WHOLE.replace("0x1002", "0x1010").replace("GPU", "GPU1") + WHOLE, id="twice"),
        pytest.param(
            f"ERROR: [Loader Message] Code 0 : a.so: wrong ELF class\n{WHOLE}", id="noise"
        ),
        pytest.param(
            WHOLE.replace(
                "vendorID           = 0x1002\n\tdeviceID           = 0x1900",
                "vendorID/deviceID  = 0x1002 / 0x1900",
            ),
            id="two fields in one",
        ),
    ],
)
def test_the_same_device_in_every_form(text: str) -> None:
    read = vulkaninfo.parse(text)
    assert read.radv == (GPU,)
    assert [device.index for device in read.devices] == [0, 1]
    assert (read.error, read.complete) == (None, True)


def test_the_fields_of_one_device_never_go_to_another() -> None:
    old = "GPU0:\n\tapiVersion = 1.0.296\n\tvendorID = 0x1010\n\tdeviceName = PowerVR\n"
    first, second = vulkaninfo.parse(f"Devices:\n{old}{LLVMPIPE}").devices
    assert (first.driver_id, first.driver_name, first.driver_info) == (None, None, None)
    assert second.driver_name == "llvmpipe"


@pytest.mark.parametrize(
    ("vendor", "kind", "driver", "radv"),
    [
        ("0x1002", "INTEGRATED_GPU", "DRIVER_ID_MESA_RADV", True),
        ("0x1002", "DISCRETE_GPU", "DRIVER_ID_MESA_RADV", True),
        ("0x1002", "INTEGRATED_GPU", "DRIVER_ID_AMD_OPEN_SOURCE", False),
        ("0x1002", "INTEGRATED_GPU", "DRIVER_ID_AMD_PROPRIETARY", False),
        ("0x1002", "CPU", "DRIVER_ID_MESA_RADV", False),
        ("0x8086", "INTEGRATED_GPU", "DRIVER_ID_MESA_RADV", False),
        ("0x8086", "INTEGRATED_GPU", "DRIVER_ID_INTEL_OPEN_SOURCE_MESA", False),
    ],
)
def test_radv_is_told_by_ids(vendor: str, kind: str, driver: str, radv: bool) -> None:
    text = (
        f"GPU0:\n vendorID = {vendor}\n deviceType = PHYSICAL_DEVICE_TYPE_{kind}\n"
        f" deviceName = AMD Radeon (RADV PHOENIX)\n driverID = {driver}\n"
    )
    assert bool(vulkaninfo.parse(text).radv) is radv


def test_lines_picked_out_with_grep() -> None:
    text = (
        "VK_KHR_driver_properties : extension revision 1\n"
        "\tdeviceName = Radeon 8060S Graphics (RADV GFX1151)\n\tdriverName = radv\n"
        "\tdeviceName = llvmpipe (LLVM 19)\n\tdriverName = llvmpipe\n"
    )
    read = vulkaninfo.parse(text)
    assert [(device.index, device.driver_name) for device in read.devices] == [
        (None, "radv"),
        (None, "llvmpipe"),
    ]
    assert len(read.radv) == 1
    assert not read.complete


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(
            "ERROR: [Loader Message] Code 0 : vkCreateInstance: Found no drivers!\n"
            "Cannot create Vulkan instance.\nThis problem is often caused by ...\n",
            "ERROR: [Loader Message] Code 0 : vkCreateInstance: Found no drivers!; "
            "Cannot create Vulkan instance.",
            id="no driver",
        ),
        pytest.param("vulkaninfo is not installed\n", "vulkaninfo is not installed", id="absent"),
        pytest.param(
            "bash: vulkaninfo: Kommando nicht gefunden.\n",
            "bash: vulkaninfo: Kommando nicht gefunden.",
            id="absent, in German",
        ),
        pytest.param(
            "zsh: command not found: vulkaninfo\n",
            "zsh: command not found: vulkaninfo",
            id="absent, says zsh",
        ),
        pytest.param(
            f"error: XDG_RUNTIME_DIR is invalid or not set\n{BANNER}Devices:\n{LLVMPIPE}"
            "TU: error: failed to open device /dev/dri/renderD128 (VK_ERROR_INCOMPATIBLE_DRIVER)\n",
            "TU: error: failed to open device /dev/dri/renderD128 (VK_ERROR_INCOMPATIBLE_DRIVER)",
            id="llvmpipe alone, and why",
        ),
    ],
)
def test_what_was_said_when_no_gpu_is_listed(text: str, error: str) -> None:
    read = vulkaninfo.parse(text)
    assert read.radv == ()
    assert (read.error, read.complete) == (error, True)


@pytest.mark.parametrize("end", ["Devices:", "GPU0:", "deviceType", "(RADV PHO", "= Mesa 2"])
def test_a_cut_answer_is_not_complete(end: str) -> None:
    read = vulkaninfo.parse(WHOLE[: WHOLE.index(end) + len(end)])
    assert not read.complete
    assert read.error is None


@pytest.mark.parametrize("end", ["VULKANINFO", "1.4.309", "Devices:"])
def test_an_answer_that_is_cut_behind_a_warning_is_not_complete(end: str) -> None:
    warning = "ERROR: [Loader Message] Code 0 : a.so: wrong ELF class: ELFCLASS32\n"
    read = vulkaninfo.parse(warning + WHOLE[: WHOLE.index(end) + len(end)])
    assert (read.devices, read.error, read.complete) == ((), warning.strip(), False)


def test_nothing_tells_nothing() -> None:
    assert vulkaninfo.parse("") == Vulkaninfo((), None, False)


@pytest.mark.parametrize(
    "text",
    [
        *("root=/dev/sda1 ro\n", "[    1.0] error: ttm\n", "\x7fELF\0\0"),
        "`vulkaninfo --summary` prints an error, such as VK_ERROR_DEVICE_LOST, or lists Devices:\n",
    ],
)
def test_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        vulkaninfo.parse(text)


PIECES = [*WHOLE.split("\n"), "GPU9: x", "a = b = (", "\n", ")", "\x1b[", "\0", "VULKANINFO", "²"]


@given(
    st.text()
    | st.lists(st.sampled_from(PIECES)).map("\n".join)
    | st.integers(0, len(WHOLE)).map(lambda cut: WHOLE[:cut])
)
def test_no_text_makes_it_raise_or_invent(text: str) -> None:
    with suppress(ParseError):
        for device in vulkaninfo.parse(text).devices:
            words = [word for word in asdict(device).values() if isinstance(word, str)]
            assert all(part in text for word in words for part in word.split())


@pytest.mark.parametrize(
    ("file", "names", "radv", "error", "complete"),
    [
        ("01-radv-890m-strix1-devel-git", ["AMD Radeon 890M Graphics (RADV STRIX1)"], 1, "", True),
        (
            "03-powervr-integrated-no-driver-fields-plus-llvmpipe",
            ["PowerVR A-Series AXE-1-16M", "llvmpipe (LLVM 18.1.6, 128 bits)"],
            0,
            "",
            True,
        ),
        (
            "05-radv-strix_halo-kisak-ppa-plus-llvmpipe",
            ["Radeon 8060S Graphics (RADV STRIX_HALO)", "llvmpipe (LLVM 20.1.8, 256 bits)"],
            1,
            "",
            True,
        ),
        (
            "06-amd-proprietary-windows-plus-nvidia",
            ["AMD Radeon(TM) Graphics", "NVIDIA GeForce RTX 3070"],
            0,
            "",
            True,
        ),
        (
            "07-intel-igpu-plus-nvidia-no-amd",
            ["Intel(R) Graphics (RPL-S)", "NVIDIA GeForce RTX 4070 Laptop GPU"],
            0,
            "",
            True,
        ),
        ("08-error-incompatible-driver-found-no-drivers", [], 0, "Found no drivers!", True),
        ("10-amdvlk-grep-driver", [None], 0, "", False),
        ("12-grep-8060s-gfx1151-name", ["Radeon 8060S Graphics (RADV GFX1151)"], 1, "", False),
        (
            "14-author-trimmed-gpu1-llvmpipe-inline",
            ["Radeon 8060S Graphics (RADV STRIX_HALO)", "llvmpipe (LLVM 21.1.8, 256 bits)"],
            1,
            "",
            True,
        ),
        ("15-bc250-output-cut-at-Devices", [], 0, "", False),
    ],
)
def test_real_output(
    file: str, names: list[str | None], radv: int, error: str, complete: bool
) -> None:
    read = vulkaninfo.parse(sample(f"vulkaninfo/{file}.txt"))
    assert [device.name for device in read.devices] == names
    assert len(read.radv) == radv
    assert error in (read.error or "")
    assert (read.error is None) is (error == "")
    assert read.complete is complete
