"""Vulkan's verdicts: each fault at the first layer that differs, with evidence and what to type."""

from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import GPU_780M, PARTS, host_facts
from tests.support.verdicts import HEALTHY, assert_named, failing, unread, verdict

from apuhost.host_facts import HostFacts
from apuhost.verdicts import Layer, Severity, Status, vulkan

SIMULATED = {"memory_gib": 61, "gpu": "1002:1900"}
VIRTUAL = "hostname=vm\nvirtualization=qemu\n"
DEPLOY = "apuhost deploy INVENTORY"
NO_DRIVER = GPU_780M.replace("driver=amdgpu", "driver=")
NEWER = f"{PARTS['boot']}firmware=/lib/firmware/amdgpu/gc_11_0_1_pfp.bin\n"
NVIDIA = stack.RADV.replace("0x1002", "0x10de").replace("MESA_RADV", "NVIDIA_PROPRIETARY")
AMDVLK = stack.RADV.replace("MESA_RADV", "AMD_OPEN_SOURCE").replace("= radv", "= AMD open-source")
OTHER = stack.RADV.replace("0x1900", "0x164e")
RENAMED = stack.RADV.replace("AMD Radeon 780M Graphics (RADV PHOENIX)", "AMD Unknown")


@pytest.mark.parametrize("verdict_id", vulkan.IDS)
def test_a_healthy_host_passes(verdict_id: str) -> None:
    found = verdict(HEALTHY, verdict_id)
    assert (found.status, found.severity) == (Status.PASS, Severity.REQUIRED)
    assert found.observed


FAULTS = [
    pytest.param(
        "vulkan.packages",
        host_facts(packages=stack.packages("vulkan-tools")),
        Layer.CONFIGURED,
        "vulkan-tools is not installed",
        DEPLOY,
        id="a package is missing",
    ),
    pytest.param(
        "vulkan.packages",
        host_facts(packages=stack.packages(broken="mesa-vulkan-drivers")),
        Layer.CONFIGURED,
        "mesa-vulkan-drivers is left half-way by dpkg",
        DEPLOY,
        id="a package half installed",
    ),
    pytest.param(
        "vulkan.firmware",
        host_facts(packages=stack.packages("firmware-amd-graphics")),
        Layer.CONFIGURED,
        "firmware-amd-graphics is not installed",
        DEPLOY,
        id="no firmware",
    ),
    pytest.param(
        "vulkan.firmware",
        host_facts(boot=NEWER, gpus=NO_DRIVER),
        Layer.BOOTED,
        "started without its firmware",
        "reboot",
        id="firmware since the boot",
    ),
    pytest.param(
        "vulkan.nodes",
        host_facts(nodes=""),
        Layer.LIVE,
        "no render node",
        "journalctl",
        id="no render node",
    ),
    pytest.param(
        "vulkan.nodes",
        host_facts(nodes=stack.nodes(mode="666")),
        Layer.LIVE,
        "/dev/dri/renderD128 is open to every user",
        "udev",
        id="open to everybody",
    ),
    pytest.param(
        "vulkan.nodes",
        host_facts(nodes=stack.nodes(mode="600")),
        Layer.LIVE,
        "closed to its group",
        "udev",
        id="closed to the group",
    ),
    pytest.param(
        "vulkan.nodes",
        host_facts(nodes=stack.nodes(gid=0, group="root")),
        Layer.LIVE,
        "belongs to group root (0), not to render (992)",
        "udev",
        id="another group",
    ),
    pytest.param(
        "vulkan.nodes",
        host_facts(accounts=stack.accounts(render=105)),
        Layer.LIVE,
        "(992), not to render (105)",
        "udev",
        id="render has another number since an upgrade",
    ),
    pytest.param(
        "vulkan.device",
        host_facts(vulkaninfo=stack.vulkaninfo(stack.LLVMPIPE)),
        Layer.EFFECTIVE,
        "only a CPU device (llvmpipe)",
        "journalctl",
        id="only llvmpipe left",
    ),
    pytest.param(
        "vulkan.device",
        host_facts(
            vulkaninfo=stack.vulkaninfo(stack.LLVMPIPE),
            packages=stack.packages("mesa-vulkan-drivers"),
        ),
        Layer.EFFECTIVE,
        "only a CPU device (llvmpipe)",
        DEPLOY,
        id="only llvmpipe, without Mesa's driver",
    ),
    pytest.param(
        "vulkan.device",
        host_facts(vulkaninfo=stack.vulkaninfo(AMDVLK, stack.LLVMPIPE)),
        Layer.EFFECTIVE,
        "another driver than RADV",
        "icd.d",
        id="AMDVLK",
    ),
    pytest.param(
        "vulkan.device",
        host_facts(vulkaninfo=stack.vulkaninfo(NVIDIA)),
        Layer.EFFECTIVE,
        "no AMD GPU",
        "icd.d",
        id="another vendor's GPU",
    ),
    pytest.param(
        "vulkan.device",
        host_facts(vulkaninfo=stack.vulkaninfo(OTHER)),
        Layer.EFFECTIVE,
        "another GPU than the PCI bus",
        "icd.d",
        id="another AMD GPU",
    ),
    pytest.param(
        "vulkan.device",
        host_facts(
            vulkaninfo="ERROR: [Loader Message] Code 0: vkCreateInstance: Found no drivers!\n"
        ),
        Layer.EFFECTIVE,
        "no device",
        "journalctl",
        id="no driver at all",
    ),
]


@pytest.mark.parametrize(("verdict_id", "facts", "layer", "observed", "fix"), FAULTS)
def test_a_fault_is_named(
    verdict_id: str, facts: HostFacts, layer: Layer, observed: str, fix: str
) -> None:
    assert_named(verdict(facts, verdict_id), layer, observed, fix)


@pytest.mark.parametrize(
    ("accounts", "told"),
    [
        pytest.param(stack.accounts(members=""), "admin is not in render", id="in neither"),
        pytest.param(
            stack.accounts().replace(f"video:x:{stack.VIDEO}:admin", "video:x:44:"),
            "admin is not in video",
            id="taken out of video",
        ),
        pytest.param(
            stack.accounts().replace("group render", "group x"), "no group render", id="no group"
        ),
        pytest.param(
            stack.accounts().replace("user admin\n", ""), "no user admin", id="no such user"
        ),
    ],
)
def test_users_are_in_both_groups(accounts: str, told: str) -> None:
    found = verdict(host_facts(accounts=accounts), "vulkan.groups", vulkan_users=["admin"])
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert told in found.observed


def test_users_who_are_in_both_groups() -> None:
    found = verdict(HEALTHY, "vulkan.groups", vulkan_users=["admin"])
    assert (found.status, found.observed) == (Status.PASS, "admin in both")


def test_rocm_needs_its_own_node() -> None:
    rocm: dict[str, Any] = {
        "ollama_backend": "rocm",
        "ollama_image": stack.IMAGE.replace("0.34.4@", "0.34.4-rocm@"),
    }
    facts = host_facts(nodes=stack.nodes(kfd=False))
    found = verdict(facts, "vulkan.nodes", **rocm)
    assert failing(found) == (Status.FAIL, Layer.LIVE)
    assert "/dev/kfd" in found.observed
    assert verdict(facts, "vulkan.nodes").status is Status.PASS
    assert verdict(HEALTHY, "vulkan.nodes", **rocm).status is Status.PASS


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(stack.vulkaninfo(stack.LLVMPIPE, stack.RADV), id="llvmpipe first"),
        pytest.param(stack.vulkaninfo(RENAMED), id="another name"),
    ],
)
def test_the_gpu_is_known_by_its_ids_and_driver(shown: str) -> None:
    assert verdict(host_facts(vulkaninfo=shown), "vulkan.device").status is Status.PASS


def test_on_a_virtual_machine_any_radv_device_stands_in() -> None:
    facts = host_facts(machine=VIRTUAL, gpus="", vulkaninfo=stack.vulkaninfo(OTHER))
    found = verdict(facts, "vulkan.device", host_simulated=SIMULATED)
    assert (found.status, "simulated" in found.observed) == (Status.PASS, True)
    shim_off = host_facts(machine=VIRTUAL, gpus="", vulkaninfo=stack.vulkaninfo(stack.LLVMPIPE))
    found = verdict(shim_off, "vulkan.device", host_simulated=SIMULATED)
    assert failing(found) == (Status.FAIL, Layer.EFFECTIVE)


@pytest.mark.parametrize(
    ("verdict_id", "missing"),
    [
        ("vulkan.packages", "packages"),
        ("vulkan.firmware", "packages"),
        ("vulkan.nodes", "nodes"),
        ("vulkan.nodes", "accounts"),
        ("vulkan.device", "vulkaninfo"),
    ],
)
def test_what_could_not_be_read_is_unknown(verdict_id: str, missing: str) -> None:
    found = verdict(unread(HEALTHY, missing), verdict_id)
    assert (found.status, missing in found.reason) == (Status.UNKNOWN, True)


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(stack.BANNER, id="cut before the devices"),
        pytest.param("vulkaninfo is not installed\n", id="no vulkaninfo"),
    ],
)
def test_a_vulkaninfo_that_tells_nothing_is_unknown(shown: str) -> None:
    assert verdict(host_facts(vulkaninfo=shown), "vulkan.device").status is Status.UNKNOWN


def test_where_nobody_wants_vulkan_tools_nobody_asked_vulkan() -> None:
    facts = host_facts(vulkaninfo="vulkaninfo is not installed\n")
    found = verdict(facts, "vulkan.device", vulkan_packages=["mesa-vulkan-drivers"])
    assert (found.status, "vulkan-tools" in found.reason) == (Status.SKIP, True)
