"""The hardware probes' commands under the real sh, with programs and a /sys of the test's own."""

import os
import subprocess
from pathlib import Path

import pytest

from apuhost.probes import cpuinfo, dmi_memory, gpu_firmware, iommu
from apuhost.probes.dmi_memory import MemoryModule

pytestmark = pytest.mark.service

MODULE = MemoryModule("DIMM 0", "DDR5", 32 * 1024**3, 5600, 4800)
SLOT = """\
# dmidecode 3.6
Memory Device
\tTotal Width: 64 bits
\tSize: 32 GB
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL A
\tType: DDR5
\tSpeed: 5600 MT/s
\tSerial Number: 12345678
\tConfigured Memory Speed: 4800 MT/s
"""
UDEV = """\
ID_SERIAL=12345678
MEMORY_DEVICE_0_SIZE=34359738368
MEMORY_DEVICE_0_LOCATOR=DIMM 0
MEMORY_DEVICE_0_TYPE=DDR5
MEMORY_DEVICE_0_SPEED_MTS=5600
MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=4800
MEMORY_DEVICE_0_SERIAL_NUMBER=12345678
"""


def run(command: str, programs: Path) -> str:
    """What a command prints where these programs come first in PATH."""
    done = subprocess.run(
        ["sh", "-c", command],
        env={"LC_ALL": "C", "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def program(folder: Path, name: str, prints: str | None) -> None:
    """A program that prints a text, or that fails as one that is missing."""
    script = "exit 127" if prints is None else f"cat <<'END'\n{prints}END"
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("dmidecode", "udevadm"),
    [
        pytest.param(SLOT, None, id="dmidecode"),
        pytest.param(None, UDEV, id="udev alone"),
        pytest.param("# No SMBIOS nor DMI entry point found, sorry.\n", UDEV, id="no table"),
    ],
)
def test_memory_modules_without_their_serial_numbers(
    dmidecode: str | None, udevadm: str | None, tmp_path: Path
) -> None:
    program(tmp_path, "dmidecode", dmidecode)
    program(tmp_path, "udevadm", udevadm)
    printed = run(dmi_memory.COMMAND, tmp_path)
    assert dmi_memory.parse(printed).modules == (MODULE,)
    assert "12345678" not in printed


def test_firmware_of_every_minor_is_the_firmware_of_its_gpu(tmp_path: Path) -> None:
    for minor, name in (("1", "amdgpu dev=0000:c6:00.0 unique=0000:c6:00.0\n"), ("2", "ast\n")):
        folder = tmp_path / "dri" / minor
        folder.mkdir(parents=True)
        (folder / "name").write_text(name)
        if minor == "1":
            info = "MES feature version: 1, firmware version: 0x00000058\n"
            (folder / "amdgpu_firmware_info").write_text(info)
    (tmp_path / "dri" / "128").symlink_to("1")
    printed = run(gpu_firmware.COMMAND.replace("/sys/kernel/debug", str(tmp_path)), tmp_path)
    assert printed.count("card amdgpu") == len(("1", "128"))
    assert gpu_firmware.parse(printed).mes("0000:c6:00.0") == 0x58


def test_without_debugfs_no_firmware_is_told(tmp_path: Path) -> None:
    printed = run(gpu_firmware.COMMAND.replace("/sys/kernel/debug", str(tmp_path)), tmp_path)
    assert (printed, gpu_firmware.parse(printed).cards) == ("", {})


@pytest.mark.parametrize(
    ("tables", "described"),
    [
        pytest.param(["FACP", "IVRS"], True, id="AMD's table"),
        pytest.param(["FACP", "DMAR"], True, id="Intel's table"),
        pytest.param(["FACP"], False, id="switched off"),
        pytest.param([], None, id="no ACPI"),
    ],
)
def test_the_firmwares_word_on_the_iommu(
    tables: list[str], described: bool | None, tmp_path: Path
) -> None:
    for name in tables:
        (tmp_path / name).write_bytes(b"")
    command = iommu.COMMAND.replace("/sys/firmware/acpi/tables", str(tmp_path))
    assert iommu.parse(run(command, tmp_path)).described is described


def test_this_machines_processor_is_read(tmp_path: Path) -> None:
    assert "fpu" in cpuinfo.parse(run(cpuinfo.COMMAND, tmp_path)).flags
