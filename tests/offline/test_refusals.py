"""What must not be deployed, and why: each refusal of its own topic, a healthy host has none."""

import pytest
from tests.support.hosts import (
    DEFAULT_GRUB,
    DROP_IN,
    GIB,
    LINE,
    PARAMETERS,
    PARTS,
    RELEASE,
    drop_in,
    host_facts,
    menu,
    settings,
)

from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.round_trip import Reading
from apuhost.verdicts.refusals import HOST, ROLES, by_topic, refusals

MIB = 1024 * 1024
SIMULATED = {"memory_gib": 61, "gpu": "1002:1900"}
CLOUD = "6.12.117+deb13-cloud-amd64"
VIRTUAL = "6.8.0-151-generic"
DKMS = PARTS["kernel"].replace("amdgpu ttm", "amdgpu amdttm")
SITE = "/etc/default/grub.d/50-site.cfg"
PACKAGED = "/usr/lib/modprobe.d/amd.conf"
SMALL = "MemTotal: 15000000 kB\n"
UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nNAME="Ubuntu"\n'


def refused(facts: HostFacts, **data: object) -> dict[str, tuple[str, ...]]:
    asked = settings(**data)
    found = by_topic(asked, derive(asked, facts), facts)
    asked_for = (topics for role, topics in ROLES.items() if role in asked.applied)
    assert found.keys() == {*HOST, *(topic for topics in asked_for for topic in topics)}
    return {topic: reasons for topic, reasons in found.items() if reasons}


def configured(line: str) -> HostFacts:
    """A host whose /etc/default/grub gives this line."""
    text = f'GRUB_CMDLINE_LINUX_DEFAULT="{line}"\n'
    return host_facts(grub={"/etc/default/grub": text, DROP_IN: drop_in()})


def only_a_shell(gives: str, line: str = f"quiet {PARAMETERS}") -> HostFacts:
    """A deployed host with a drop-in that runs a program, and this line in its menu."""
    text = f'GRUB_CMDLINE_LINUX_DEFAULT="$(cat /etc/line) {gives}"\n'
    return host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, SITE: text, DROP_IN: drop_in()},
        grub_cfg=menu(line),
    )


def without(part: str, text: str, instead: str = "") -> HostFacts:
    """A healthy host less a piece of one probe's text."""
    assert text in PARTS[part]
    changed = Reading(PARTS[part].replace(text, instead), 0)
    return HostFacts("box1", "", {**host_facts().readings, part: changed})


def booting(release: str, installed: str, os_release: str = PARTS["os_release"]) -> HostFacts:
    """A host whose menu's first entry is another kernel than the running one."""
    return host_facts(
        grub_cfg=menu(PARAMETERS).replace(RELEASE, release),
        kernel=f"{PARTS['kernel']}installed {release} 1 1{installed}\n",
        os_release=os_release,
    )


def room(root: int, boot: int | None = None) -> HostFacts:
    """A host with so many bytes free."""
    lines = f"/dev/a 9 1 {root} 1% /\n" + (f"/dev/b 9 1 {boot} 1% /boot\n" if boot else "")
    return host_facts(disk=lines)


@pytest.mark.parametrize(
    ("facts", "data"),
    [
        pytest.param(host_facts(), {}, id="the reference host, deployed"),
        pytest.param(
            host_facts(
                grub={"/etc/default/grub": DEFAULT_GRUB},
                grub_cfg=menu("quiet"),
                cmdline=f"{LINE} quiet\n",
            ),
            {},
            id="bare",
        ),
        pytest.param(host_facts(os_release=UBUNTU), {}, id="Ubuntu"),
        pytest.param(without("loader", "info=GRUB 2.12\n"), {}, id="a GRUB that says nothing"),
        pytest.param(without("loader", "efi=yes\ninfo=GRUB 2.12\n"), {}, id="no EFI"),
        pytest.param(
            host_facts(machine="hostname=vm\nvirtualization=kvm\n", gpus=""),
            {"host_simulated": SIMULATED},
            id="a VM that stands in for hardware",
        ),
        pytest.param(host_facts(), {"kernel_gtt_gib": 59}, id="exactly 4 GiB stay"),
        pytest.param(
            host_facts(kernel=DKMS, meminfo=SMALL),
            {},
            id="DKMS, and no ttm.* asked",
        ),
        pytest.param(room(64 * MIB, 32 * MIB), {}, id="just room enough"),
        pytest.param(
            configured("nomodeset"), {"kernel_remove_args": ["nomodeset"]}, id="nomodeset, to go"
        ),
        pytest.param(configured("modprobe.blacklist=nouveau"), {}, id="another blacklist"),
        pytest.param(
            configured(
                "init=/lib/systemd/systemd systemd.unit=graphical.target vfio-pci.ids=10de:1"
            ),
            {},
            id="what a host comes up with all the same",
        ),
        pytest.param(configured("single"), {"kernel_remove_args": ["single"]}, id="single, to go"),
        pytest.param(
            host_facts(modprobe={"/etc/modprobe.d/b.conf": "blacklist radeon\n"}),
            {},
            id="another module blacklisted",
        ),
        pytest.param(
            host_facts(
                kernel=f"{PARTS['kernel']}installed {CLOUD} 1 1\n",
            ),
            {},
            id="a cloud kernel that the menu does not boot first",
        ),
        pytest.param(only_a_shell("nosmt"), {}, id="a drop-in that only a shell could tell"),
        pytest.param(
            only_a_shell("ttm.pages_limit=1"), {}, id="only a shell could tell, ours comes after"
        ),
        pytest.param(
            host_facts(
                kernel=f"running {RELEASE}\ninstalled {RELEASE} 1600000000 - amdgpu ttm\n",
                loader=PARTS["loader"].replace("tool=update-initramfs\n", ""),
                modprobe={"/etc/modprobe.d/t.conf": "options ttm pages_limit=1\n"},
            ),
            {},
            id="our key in modprobe.d, and no initramfs that could hold it",
        ),
        pytest.param(
            host_facts(modprobe={PACKAGED: "options ttm pages_limit=1\n"}),
            {},
            id="a package's option that our line outweighs",
        ),
    ],
)
def test_a_host_that_may_be_deployed(facts: HostFacts, data: dict[str, object]) -> None:
    assert refused(facts, **data) == {}


@pytest.mark.parametrize(
    ("facts", "data", "topic", "told"),
    [
        pytest.param(
            host_facts(os_release='ID=fedora\nNAME="Fedora Linux"\n'),
            {},
            "distribution",
            "Fedora Linux, not Debian",
            id="another distribution",
        ),
        pytest.param(
            host_facts(os_release=""), {}, "distribution", "an unknown distribution", id="unknown"
        ),
        pytest.param(
            host_facts(),
            {"host_simulated": SIMULATED},
            "kind of machine",
            "host_simulated",
            id="simulated hardware on real hardware",
        ),
        pytest.param(
            host_facts(gpus=""),
            {},
            "GPU",
            "no AMD GPU on the PCI bus: switch the built-in GPU on in the BIOS setup",
            id="no AMD GPU",
        ),
        pytest.param(
            host_facts(machine="hostname=vm\nvirtualization=kvm\n", gpus=""),
            {},
            "GPU",
            "set host_simulated",
            id="a VM without a GPU that is not said to stand in for hardware",
        ),
        pytest.param(
            without("loader", "GRUB 2.12", "systemd-boot 257.8-1"),
            {},
            "boot loader",
            "boots with systemd-boot 257.8-1, not GRUB",
            id="systemd-boot",
        ),
        pytest.param(
            without("loader", "efi=yes", "file=/etc/kernel/proxmox-boot-uuids"),
            {},
            "boot loader",
            "proxmox-boot-tool",
            id="proxmox-boot-tool",
        ),
        pytest.param(
            without("loader", "efi=yes", "file=/etc/kernelstub/configuration"),
            {},
            "boot loader",
            "kernelstub",
            id="kernelstub",
        ),
        pytest.param(
            without("loader", "efi=yes\ninfo=GRUB 2.12", "file=/boot/extlinux/extlinux.conf"),
            {},
            "boot loader",
            "extlinux",
            id="extlinux",
        ),
        pytest.param(
            without("loader", "tool=grub-mkconfig\n"),
            {},
            "boot loader",
            "has no GRUB: grub-mkconfig not found (apt-get install grub-efi-amd64)",
            id="no GRUB tools",
        ),
        pytest.param(
            without("loader", "file=/boot/grub/grub.cfg\n"),
            {},
            "boot loader",
            "/boot/grub/grub.cfg is missing",
            id="no grub.cfg",
        ),
        pytest.param(
            without("loader", "file=/etc/default/grub\n"),
            {},
            "boot loader",
            "/etc/default/grub is missing",
            id="no /etc/default/grub",
        ),
        pytest.param(host_facts(loader=""), {}, "boot loader", "has no GRUB", id="nothing at all"),
        pytest.param(
            host_facts(cmdline=f"root=/dev/vda1 ro {PARAMETERS}\n"),
            {},
            "boot loader",
            "BOOT_IMAGE",
            id="booted by something else",
        ),
        pytest.param(
            booting(CLOUD, ""),
            {},
            "kernel",
            f"kernel {CLOUD} has no amdgpu and no ttm: install linux-image-amd64",
            id="Debian's cloud kernel",
        ),
        pytest.param(
            booting(VIRTUAL, " ttm", UBUNTU),
            {},
            "kernel",
            "has no amdgpu: install linux-generic",
            id="Ubuntu's virtual without modules-extra",
        ),
        pytest.param(
            host_facts(kernel=f"running {RELEASE}\n"),
            {},
            "kernel",
            "/boot has no such kernel",
            id="a menu for a kernel that is gone",
        ),
        pytest.param(
            host_facts(kernel=DKMS), {}, "GPU driver", "remove amdgpu-dkms", id="DKMS installed"
        ),
        pytest.param(
            host_facts(modules=f"{PARTS['modules']}loaded amdttm\n"),
            {},
            "GPU driver",
            "amdttm",
            id="DKMS loaded",
        ),
        pytest.param(
            host_facts(kernel=DKMS, meminfo=SMALL),
            {"kernel_extra_args": ["ttm.page_pool_size=1"]},
            "GPU driver",
            "ignores ttm.page_pool_size=1",
            id="DKMS, and another ttm.* asked",
        ),
        pytest.param(
            configured("quiet nomodeset"),
            {},
            "GPU enabled",
            "take it out of /etc/default/grub",
            id="nomodeset",
        ),
        pytest.param(
            host_facts(),
            {"kernel_extra_args": ["vfio-pci.ids=10de:2684,1002:1900"]},
            "GPU enabled",
            "gives the GPU to another driver: take it out of kernel_extra_args",
            id="the GPU for a virtual machine, asked for",
        ),
        pytest.param(
            configured("quiet single"),
            {},
            "next boot",
            "single ends in a rescue shell without ssh: take it out of /etc/default/grub",
            id="single",
        ),
        pytest.param(
            configured("init=/bin/sh"),
            {},
            "next boot",
            "init=/bin/sh starts another program than systemd",
            id="another init",
        ),
        pytest.param(
            configured("systemd.unit=rescue.target"),
            {},
            "next boot",
            "systemd.unit=rescue.target starts no ssh",
            id="another target",
        ),
        pytest.param(
            only_a_shell("quiet", f"emergency {PARAMETERS}"),
            {},
            "next boot",
            "emergency ends in a rescue shell",
            id="emergency that a program gives",
        ),
        pytest.param(
            only_a_shell("quiet", f"nomodeset {PARAMETERS}"),
            {},
            "GPU enabled",
            "nomodeset keeps amdgpu from starting",
            id="nomodeset that a program gives",
        ),
        pytest.param(
            configured("modprobe.blacklist=nouveau,amdgpu"),
            {},
            "GPU enabled",
            "modprobe.blacklist=nouveau,amdgpu keeps the driver away",
            id="blacklisted on the line",
        ),
        pytest.param(
            configured("module_blacklist=amdgpu"),
            {},
            "GPU enabled",
            "module_blacklist=amdgpu",
            id="the kernel's own blacklist",
        ),
        pytest.param(
            host_facts(modprobe={"/etc/modprobe.d/b.conf": "blacklist amdgpu\n"}),
            {},
            "GPU enabled",
            "/etc/modprobe.d/b.conf blacklists amdgpu",
            id="blacklisted in modprobe.d",
        ),
        pytest.param(
            configured("quiet -- single"),
            {},
            "kernel line",
            "look for a `--`",
            id="ours would land behind --, which is init's",
        ),
        pytest.param(
            host_facts(
                grub={
                    "/etc/default/grub": DEFAULT_GRUB,
                    DROP_IN: drop_in(),
                    "/etc/default/grub.d/zzz.cfg": "GRUB_CMDLINE_LINUX_DEFAULT=quiet\n",
                }
            ),
            {},
            "kernel line",
            "replaces the line",
            id="a drop-in behind ours replaces the line",
        ),
        pytest.param(
            only_a_shell("amdgpu.gttsize=1"),
            {},
            "kernel line",
            f"{SITE} sets amdgpu.gttsize, which should be gone",
            id="a key to go where only a shell could tell",
        ),
        pytest.param(
            host_facts(modprobe={PACKAGED: "options amdgpu gttsize=1\n"}),
            {},
            "kernel line",
            f"{PACKAGED} sets amdgpu.gttsize, which should be gone",
            id="a key to go in a package's modprobe.d",
        ),
        pytest.param(
            host_facts(),
            {"kernel_gtt_gib": 60},
            "memory",
            "of 63.0 GiB leaves the system 3.0 GiB, 4 is the least: at most 59",
            id="under 4 GiB stay",
        ),
        pytest.param(
            host_facts(), {"kernel_gtt_gib": 128}, "memory", "at most 59", id="more than there is"
        ),
        pytest.param(
            host_facts(meminfo="MemTotal: 2000000 kB\n"),
            {"kernel_gtt_gib": 1},
            "memory",
            "at most 0",
            id="hardly any memory",
        ),
        pytest.param(
            room(63 * MIB, GIB), {}, "free space", "/ has 63 MiB free, 64 are needed", id="/ full"
        ),
        pytest.param(
            room(GIB, 31 * MIB),
            {},
            "free space",
            "/boot has 31 MiB free, 32 are needed",
            id="/boot full",
        ),
        pytest.param(
            HostFacts(
                "box1",
                "",
                {
                    **room(GIB, 200 * MIB).readings,
                    "modprobe": host_facts(
                        modprobe={"/etc/modprobe.d/t.conf": "options ttm pages_limit=1\n"}
                    ).readings["modprobe"],
                },
            ),
            {},
            "free space",
            "256 are needed",
            id="/boot without room for an initramfs",
        ),
        pytest.param(
            host_facts(disk=""), {}, "free space", "could not be read", id="space not known"
        ),
        pytest.param(
            host_facts(boot=f"{PARTS['boot']}dpkg_lock=812 apt-get\n"),
            {},
            "package manager",
            "process 812 apt-get",
            id="another apt at work",
        ),
    ],
)
def test_a_host_that_is_left_alone(
    facts: HostFacts, data: dict[str, object], topic: str, told: str
) -> None:
    found = refused(facts, **data)
    assert {reason for each in found.values() for reason in each} == {*found[topic]}
    assert any(told in reason for reason in found[topic])
    assert not any("\n" in reason for reason in found[topic])


@pytest.mark.parametrize(
    "missing",
    ["os_release", "loader", "cmdline", "grub", "grub_cfg", "modprobe", "modules", "disk", "boot"],
)
def test_what_cannot_be_read_is_a_refusal(missing: str) -> None:
    readings = {name: text for name, text in host_facts().readings.items() if name != missing}
    found = refused(HostFacts("box1", "", readings))
    reasons = [reason for each in found.values() for reason in each]
    assert reasons
    assert all(reason == f"cannot be judged: {missing} was not read" for reason in reasons)


@pytest.mark.parametrize(
    ("role", "topics"),
    [("kernel", {"GPU"}), ("models", {"GPU"}), ("docker", set()), ("boot", set())],
)
def test_a_gpu_is_asked_for_by_the_roles_that_use_it(role: str, topics: set[str]) -> None:
    facts, asked = host_facts(gpus=""), settings(host_roles=[role])
    found = by_topic(asked, derive(asked, facts), facts)
    assert {topic for topic, reasons in found.items() if reasons} == topics


def test_a_reason_of_two_topics_is_said_once() -> None:
    readings = {name: text for name, text in host_facts().readings.items() if name != "grub_cfg"}
    facts = HostFacts("box1", "", readings)
    said = refusals(settings(), derive(settings(), facts), facts)
    assert said == ("cannot be judged: grub_cfg was not read",)


def test_every_reason_is_said_at_once() -> None:
    facts = host_facts(os_release="", disk="")
    assert len(refusals(settings(), derive(settings(), facts), facts)) == 3
