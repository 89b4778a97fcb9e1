"""What the settings come to on one host."""

import pytest
from tests.support.hosts import PARTS, host_facts, settings

from apuhost.derived import derive
from apuhost.host_facts import HostFacts, Unreadable

SMALL = f"MemTotal: {14 * 1024 * 1024} kB\n"
SIMULATED = {"memory_gib": 61, "gpu": "1002:1900"}
VIRTUAL = "hostname=vm\nvirtualization=kvm\n"
LOCKUP = "amdgpu.lockup_timeout=10000"


@pytest.mark.parametrize(
    ("data", "meminfo", "parameters"),
    [
        pytest.param(
            {},
            PARTS["meminfo"],
            ("amd_iommu=off", "ttm.pages_limit=12582912", LOCKUP),
            id="the reference host: auto is 48 GiB",
        ),
        pytest.param({}, SMALL, ("amd_iommu=off", LOCKUP), id="little memory: no parameter"),
        pytest.param(
            {"kernel_gtt_gib": 8, "kernel_amd_iommu": "pt"},
            SMALL,
            ("iommu=pt", "ttm.pages_limit=2097152", LOCKUP),
            id="asked, and pt",
        ),
        pytest.param(
            {"kernel_amd_iommu": "default", "kernel_extra_args": ["quiet", "a=b"]},
            SMALL,
            (LOCKUP, "quiet", "a=b"),
            id="further parameters come last",
        ),
        pytest.param(
            {"kernel_lockup_timeout_ms": "1000,2000,3000,4000"},
            SMALL,
            ("amd_iommu=off", "amdgpu.lockup_timeout=1000,2000,3000,4000"),
            id="timeouts as typed",
        ),
    ],
)
def test_the_kernel_parameters(
    data: dict[str, object], meminfo: str, parameters: tuple[str, ...]
) -> None:
    assert derive(settings(**data), host_facts(meminfo=meminfo)).kernel_parameters == parameters


@pytest.mark.parametrize(
    ("data", "meminfo", "removed"),
    [
        pytest.param({}, PARTS["meminfo"], set(), id="off: the driver never starts"),
        pytest.param({}, SMALL, {"ttm.pages_limit"}, id="the kernel's default GTT"),
        pytest.param(
            {"kernel_amd_iommu": "pt"},
            PARTS["meminfo"],
            {"amd_iommu", "iommu.passthrough"},
            id="pt: what says otherwise",
        ),
        pytest.param(
            {"kernel_amd_iommu": "default"},
            PARTS["meminfo"],
            {"amd_iommu", "iommu", "iommu.passthrough"},
            id="default: what says anything",
        ),
    ],
)
def test_the_keys_that_must_go(data: dict[str, object], meminfo: str, removed: set[str]) -> None:
    found = derive(settings(**data), host_facts(meminfo=meminfo))
    assert found.removed_keys == {*removed, "amdgpu.gttsize", "amdttm.pages_limit"}
    assert found.managed_keys >= {"amdgpu.lockup_timeout", *removed}


@pytest.mark.parametrize(
    ("machine", "gib"),
    [
        pytest.param(VIRTUAL, 61, id="a virtual machine stands in for the hardware"),
        pytest.param(PARTS["machine"], 63, id="bare metal never does"),
    ],
)
def test_simulated_memory_counts_on_virtual_machines_only(machine: str, gib: int) -> None:
    found = derive(settings(host_simulated=SIMULATED), host_facts(machine=machine))
    assert found.mem_total_kib == gib * 1024 * 1024
    assert found.pages_limit == 12582912


@pytest.mark.parametrize("missing", ["machine", "meminfo", "kernel"])
def test_what_decides_must_be_readable(missing: str) -> None:
    readings = {name: text for name, text in host_facts().readings.items() if name != missing}
    with pytest.raises(Unreadable, match=missing):
        derive(settings(), HostFacts("box1", "", readings))
