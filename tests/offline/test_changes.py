"""What a deploy would do to a host, and that doing it once is enough."""

from typing import Any

import pytest
from tests.support.hosts import (
    BOOTED_AT,
    DEFAULT_GRUB,
    DROP_IN,
    GPU_780M,
    LINE,
    NOW,
    PARAMETERS,
    PARTS,
    RELEASE,
    deployed,
    drop_in,
    host_facts,
    menu,
    settings,
)

from apuhost.changes import FileChange, HostPlan, RolePlan
from apuhost.changes.host import plan
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import ROLES
from apuhost.verdicts import Layer, Severity, Status
from apuhost.verdicts.host import verdicts

GRUB = "/etc/default/grub"
SITE = "/etc/default/grub.d/50-site.cfg"
BEHIND = "/etc/default/grub.d/zzz-site.cfg"
TTM = "/etc/modprobe.d/ttm.conf"
D = "GRUB_CMDLINE_LINUX_DEFAULT"
NEWER = BOOTED_AT + 60
TO_COME = NOW + 60


def planned(facts: HostFacts, **data: object) -> HostPlan:
    return plan(settings(**{"kernel_gtt_gib": 48, "host_roles": ["kernel"], **data}), facts)


def menu_why(found: HostPlan) -> tuple[str, ...]:
    return found.why("/boot/grub/grub.cfg")


def change(facts: HostFacts, path: str) -> FileChange:
    return next(each for each in planned(facts).files if each.path == path)


def bare() -> HostFacts:
    """A host that apuhost has never touched."""
    return host_facts(grub={GRUB: DEFAULT_GRUB}, grub_cfg=menu("quiet"), cmdline=f"{LINE} quiet\n")


def by_hand(line: str = f"quiet {PARAMETERS}") -> HostFacts:
    """A host whose owner wrote the parameters into /etc/default/grub."""
    return host_facts(
        grub={GRUB: f'{D}="{line}"\n'}, grub_cfg=menu(line), cmdline=f"{LINE} {line}\n"
    )


def with_drop_in(path: str, text: str) -> HostFacts:
    """A deployed host where another drop-in came to ours."""
    return host_facts(grub={GRUB: DEFAULT_GRUB, DROP_IN: drop_in(), path: text})


def test_a_deployed_host_has_nothing_to_change() -> None:
    found = planned(host_facts())
    assert found.empty
    assert found == HostPlan((RolePlan("kernel", notes=found.notes),))


def test_a_whole_deployed_host_has_nothing_to_change() -> None:
    found = plan(settings(kernel_gtt_gib=48), host_facts())
    assert [role.role for role in found.roles] == list(ROLES)
    assert found.empty


def test_a_bare_host_gets_the_drop_in_the_menu_and_one_reboot() -> None:
    found = planned(bare())
    assert found.files == (FileChange(DROP_IN, None, drop_in(), "new", operators=False),)
    assert found.why("initramfs") == ()
    assert len(menu_why(found)) == 1
    assert len(found.reboot) == 1
    assert PARAMETERS in found.reboot[0]


def test_adoption_moves_the_values_and_asks_for_no_reboot() -> None:
    found = planned(by_hand())
    assert [each.path for each in found.files] == [DROP_IN, GRUB]
    moved = found.files[1]
    assert moved.after == f'{D}="quiet"\n'
    assert moved.operators
    assert "grub.before-apuhost" in moved.why
    assert menu_why(found)
    assert found.reboot == ()


@pytest.mark.parametrize(
    "running",
    [
        pytest.param("10000,60000,10000,10000", id="four numbers"),
        pytest.param("10000", id="one number"),
    ],
)
def test_a_running_line_that_means_the_same_needs_no_reboot(running: str) -> None:
    line = PARAMETERS.replace("lockup_timeout=10000", f"lockup_timeout={running}")
    assert planned(by_hand(line)).reboot == ()


def test_an_operators_own_parameters_and_every_other_byte_stay() -> None:
    text = (
        "# site\r\nGRUB_TIMEOUT=0\r\n"
        f"{D}='splash {PARAMETERS} mitigations=off' # ours\r\nGRUB_CMDLINE_LINUX='nosmt'"
    )
    facts = host_facts(grub={GRUB: text, DROP_IN: drop_in()})
    assert change(facts, GRUB).after == text.replace(f" {PARAMETERS}", "")


@pytest.mark.parametrize(
    ("path", "text", "after"),
    [
        pytest.param(
            SITE, f'{D}="${D} ttm.pages_limit=1 nosmt"\n', f'{D}="${D} nosmt"\n', id="before ours"
        ),
        pytest.param(
            BEHIND, f'{D}="${D} amdgpu.gttsize=1"\n', f'{D}="${D}"\n', id="behind ours, to go"
        ),
        pytest.param(
            SITE,
            "GRUB_CMDLINE_LINUX='ttm.pages-limit=1'\n",
            "GRUB_CMDLINE_LINUX=''\n",
            id="with a dash, in the other variable",
        ),
    ],
)
def test_our_keys_are_taken_out_of_other_drop_ins(path: str, text: str, after: str) -> None:
    found = change(with_drop_in(path, text), path)
    assert (found.after, found.operators) == (after, True)
    assert menu_why(planned(with_drop_in(path, text))) == (f"{path} changes",)


def test_a_drop_in_of_an_older_setting_is_brought_up_to_date() -> None:
    old = drop_in("ttm.pages_limit=8126464")
    facts = host_facts(grub={GRUB: DEFAULT_GRUB, DROP_IN: old})
    assert change(facts, DROP_IN) == FileChange(
        DROP_IN, old, drop_in(), "brought up to date", operators=False
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{D}="$(cat /etc/line) ttm.pages_limit=1"\n', id="command substitution"),
        pytest.param(f'. /etc/site\n{D}="ttm.pages_limit=1"\n', id="sources another file"),
        pytest.param(f'if true; then\n{D}="ttm.pages_limit=1"\nfi\n', id="a condition"),
        pytest.param(f'{D}="a ttm.pages_limit=$PAGES"\n', id="a variable inside the parameter"),
        pytest.param(f'{D}="ttm.pages_limit=1\n', id="a quote that never ends"),
    ],
)
def test_a_file_that_only_a_shell_could_tell_is_named_not_edited(text: str) -> None:
    found = planned(with_drop_in(SITE, text))
    assert found.files == ()
    (note,) = [note for note in found.notes if SITE in note]
    assert "ttm.pages_limit" in note
    assert "not edited" in note


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("export LANG=C\nexit 0\n", id="no assignment of ours"),
        pytest.param("true\n", id="no assignment at all"),
        pytest.param("# ttm.pages_limit=1\neval x\n", id="only a comment has the key"),
        pytest.param("eval xamd_iommu=off\n", id="a longer name"),
        pytest.param("\0\1\2", id="not text"),
    ],
)
def test_a_drop_in_without_our_keys_is_let_alone_in_silence(text: str) -> None:
    found = planned(with_drop_in(SITE, text))
    assert found.files == ()
    assert not [note for note in found.notes if SITE in note]


OPTIONS = "options ttm pages_limit=8126464\noptions amdgpu gttsize=1 dc=1\n"


def test_module_options_are_taken_out_with_a_new_initramfs_and_a_reboot() -> None:
    found = planned(host_facts(modprobe={TTM: OPTIONS}))
    (edited,) = found.files
    assert (edited.path, edited.after) == (TTM, "options amdgpu dc=1\n")
    assert found.why("initramfs") == (f"holds a copy of {TTM}",)
    assert menu_why(found) == ()
    assert found.reboot == ("a new initramfs must be booted",)


def test_a_packages_module_options_stay_and_are_said() -> None:
    path = "/usr/lib/modprobe.d/amd.conf"
    found = planned(host_facts(modprobe={path: "options ttm pages_limit=1\n"}))
    assert found.empty
    assert any(path in note and "outweighs" in note for note in found.notes)


def test_an_initramfs_older_than_an_edit_is_built_again() -> None:
    stale = PARTS["kernel"].replace("amdgpu", "stale amdgpu")
    found = planned(host_facts(kernel=stale))
    assert found.why("initramfs") == (f"of {RELEASE} is older than /etc/modprobe.d",)
    assert found.reboot


def test_a_menu_older_than_our_files_is_built_again() -> None:
    facts = host_facts(loader=f"{PARTS['loader']}newer={DROP_IN}\n")
    assert menu_why(planned(facts)) == (f"{DROP_IN} is newer",)
    assert planned(facts).files == ()


@pytest.mark.parametrize(
    "grub_cfg",
    [
        pytest.param(menu("quiet"), id="without them"),
        pytest.param(menu(f"quiet {PARAMETERS}", "quiet"), id="one entry without"),
        pytest.param(menu(f"quiet {PARAMETERS}")[:-80], id="cut"),
        pytest.param("", id="empty"),
        pytest.param(menu(f"quiet {PARAMETERS} amdgpu.gttsize=1"), id="with one that should go"),
    ],
)
def test_a_menu_that_lacks_something_is_built_again(grub_cfg: str) -> None:
    found = planned(host_facts(grub_cfg=grub_cfg))
    assert menu_why(found)
    assert found.files == ()


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        pytest.param({"cmdline": f"{LINE} quiet\n"}, "lacks", id="not on the running line"),
        pytest.param(
            {"cmdline": f"{LINE} {PARAMETERS} ttm.pages_limit=1\n"},
            "lacks ttm.pages_limit",
            id="another value later on the line",
        ),
        pytest.param(
            {"cmdline": f"{LINE} {PARAMETERS} amdgpu.gttsize=1\n"},
            "still has amdgpu.gttsize",
            id="one too many",
        ),
        pytest.param(
            {"kernel": f"{PARTS['kernel']}installed 6.12.120 {NEWER} {NEWER} amdgpu ttm\n"},
            "kernel 6.12.120 is newer",
            id="a newer kernel",
        ),
        pytest.param(
            {"kernel": f"running {RELEASE}\ninstalled {RELEASE} 1 {NEWER} amdgpu ttm\n"},
            f"the initramfs of {RELEASE} is newer",
            id="a newer initramfs",
        ),
        pytest.param(
            {"boot": f"{PARTS['boot']}firmware=/lib/firmware/amdgpu/x.bin\n"},
            "GPU firmware is newer",
            id="newer GPU firmware",
        ),
        pytest.param(
            {"gpus": GPU_780M.replace("driver=amdgpu", "driver=")},
            "has no driver",
            id="a GPU without a driver",
        ),
    ],
)
def test_state_asks_for_a_reboot(parts: dict[str, Any], told: str) -> None:
    (reason,) = planned(host_facts(**parts)).reboot
    assert told in reason


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"cmdline": f"{LINE} ttm.pages_limit=1 {PARAMETERS}\n"}, id="earlier value"),
        pytest.param(
            {"kernel": f"{PARTS['kernel']}installed 6.1.1 1 {NEWER} amdgpu ttm\n"},
            id="another kernel's initramfs",
        ),
        pytest.param(
            {"boot": f"{PARTS['boot']}firmware=/lib/firmware/amdgpu/x.bin\n", "gpus": ""},
            id="firmware without a GPU",
        ),
        pytest.param(
            {
                "boot": f"{PARTS['boot']}rebooted_for=an AMD GPU has no driver\n",
                "gpus": GPU_780M.replace("driver=amdgpu", "driver="),
            },
            id="a GPU that a reboot did not help",
        ),
        pytest.param(
            {"kernel": f"{PARTS['kernel']}installed 6.12.120 {TO_COME} 1 amdgpu ttm\n"},
            id="a kernel of a time still to come",
        ),
        pytest.param(
            {"kernel": f"running {RELEASE}\ninstalled {RELEASE} 1 {TO_COME} amdgpu ttm\n"},
            id="an initramfs of a time still to come",
        ),
    ],
)
def test_what_needs_no_reboot(parts: dict[str, Any]) -> None:
    assert planned(host_facts(**parts)).reboot == ()


NEVER_CURED = [
    pytest.param({"cmdline": f"{LINE} quiet\n"}, id="GRUB boots another entry"),
    pytest.param(
        {"kernel": f"{PARTS['kernel']}installed 6.12.120 {NEWER} {NEWER} amdgpu ttm\n"},
        id="a kernel that stays newer",
    ),
    pytest.param({"gpus": GPU_780M.replace("driver=amdgpu", "driver=")}, id="no driver"),
]


@pytest.mark.parametrize("parts", NEVER_CURED)
def test_what_this_boot_was_made_for_is_a_note_and_no_second_reboot(parts: dict[str, Any]) -> None:
    (reason,) = planned(host_facts(**parts)).reboot
    boot = f"{PARTS['boot']}rebooted_for={reason}\n"
    again = planned(host_facts(**parts, boot=boot))
    assert again.reboot == ()
    (note,) = [note for note in again.notes if reason in note]
    assert "rebooted for this already" in note


def test_another_reason_than_the_one_of_this_boot_still_reboots() -> None:
    boot = f"{PARTS['boot']}rebooted_for=an AMD GPU has no driver\n"
    assert planned(host_facts(cmdline=f"{LINE} quiet\n", boot=boot)).reboot


HEALED = [
    pytest.param(bare(), {}, id="bare"),
    pytest.param(bare(), {"kernel_amd_iommu": "pt"}, id="bare, pt"),
    pytest.param(bare(), {"kernel_extra_args": ["nosmt", "a=b"]}, id="bare, more parameters"),
    pytest.param(by_hand(), {}, id="set up by hand"),
    pytest.param(by_hand(), {"kernel_amd_iommu": "default"}, id="set up by hand, otherwise"),
    pytest.param(by_hand(f"{PARAMETERS} amdgpu.gttsize=1"), {}, id="set up by hand, too much"),
    pytest.param(with_drop_in(SITE, f'{D}="${D} ttm.pages_limit=1"\n'), {}, id="before ours"),
    pytest.param(with_drop_in(BEHIND, f'{D}="${D} ttm.pages_limit=1"\n'), {}, id="behind ours"),
    pytest.param(host_facts(modprobe={TTM: OPTIONS}), {}, id="module options"),
    pytest.param(host_facts(), {"kernel_gtt_gib": 40}, id="another size"),
    pytest.param(
        host_facts(), {"kernel_lockup_timeout_ms": "1000,2000,3000,4000"}, id="other timeouts"
    ),
    pytest.param(host_facts(grub_cfg=""), {}, id="interrupted before the menu"),
    pytest.param(
        host_facts(loader=f"{PARTS['loader']}newer={DROP_IN}\n"), {}, id="interrupted, menu older"
    ),
    pytest.param(
        host_facts(meminfo=f"MemTotal: {14 * 1024 * 1024} kB\n"),
        {"kernel_gtt_gib": "auto"},
        id="back to the kernel's default",
    ),
    pytest.param(
        host_facts(boot=f"{PARTS['boot']}firmware=/lib/firmware/amdgpu/x.bin\n"),
        {},
        id="newer firmware",
    ),
]


@pytest.mark.parametrize(("facts", "data"), HEALED)
def test_one_deploy_is_enough(facts: HostFacts, data: dict[str, object]) -> None:
    first = planned(facts, **data)
    assert not first.empty
    again = planned(deployed(facts, first), **data)
    assert again.empty


@pytest.mark.parametrize(("facts", "data"), HEALED)
def test_what_a_deploy_leaves_is_configured_and_booted(
    facts: HostFacts, data: dict[str, object]
) -> None:
    asked = {"kernel_gtt_gib": 48, **data}
    after = deployed(facts, planned(facts, **data))
    required = [v for v in verdicts(settings(**asked), after) if v.severity is Severity.REQUIRED]
    failing = [v for v in required if v.status is Status.FAIL]
    assert not [v for v in failing if v.layer in (Layer.CONFIGURED, Layer.BOOTED)]


def test_a_removed_parameter_leaves_the_operators_line() -> None:
    """The way back: without our file the line is what the operator wrote."""
    after = deployed(bare(), planned(bare()))
    files = {file.path: file.text for file in after.grub.files}
    assert files.pop(DROP_IN)
    assert files == {GRUB: DEFAULT_GRUB}


@pytest.mark.parametrize("missing", ["grub", "grub_cfg", "modprobe", "cmdline", "loader", "boot"])
def test_what_decides_must_be_readable(missing: str) -> None:
    readings = {name: text for name, text in host_facts().readings.items() if name != missing}
    with pytest.raises(Unreadable, match=missing):
        planned(HostFacts("box1", "", readings))


def notes(typed: int | str, release: str) -> list[str]:
    facts = host_facts(kernel=f"running {release}\n")
    found = planned(facts, kernel_lockup_timeout_ms=typed, kernel_amd_iommu="default")
    return [note for note in found.notes if "ring" in note]


@pytest.mark.parametrize(
    ("typed", "release", "rings"),
    [
        pytest.param(10000, "6.12.117", [], id="6.12: one 10000 cuts nothing"),
        pytest.param("10000,10000,10000,10000", "6.12.117", ["Compute is cut"], id="6.12: four"),
        pytest.param("10000,60000,10000,10000", "6.12.117", [], id="6.12: its own four"),
        pytest.param("10000,0,10000,10000", "6.12.117", [], id="6.12: 0 keeps Compute"),
        pytest.param(90000, "6.12.117", ["Compute stays at 60000"], id="6.12: over 60000"),
        pytest.param(10000, "6.17.0-42", [], id="6.17: one 10000 is its default"),
        pytest.param(20000, "6.17.0-42", ["Compute stays at 10000"], id="6.17: over 10000"),
        pytest.param("20000,20000,20000,20000", "6.17.0-42", [], id="6.17: four reach it"),
        pytest.param(20000, "7.0.0-44", [], id="7.0: one number reaches all"),
        pytest.param(2000, "7.2.13", [], id="7.2: its own default"),
        pytest.param(
            1000,
            "7.0.0-44",
            ["GFX is cut", "Compute is cut", "SDMA is cut", "Video is cut"],
            id="7.0: all are cut",
        ),
        pytest.param(
            -1,
            "6.12.117",
            ["GFX has no", "Compute stays at 60000", "SDMA has no", "Video has no"],
            id="6.12: never, but for Compute",
        ),
    ],
)
def test_a_ring_that_gets_less_is_said(typed: int | str, release: str, rings: list[str]) -> None:
    said = notes(typed, release)
    assert len(said) == len(rings)
    assert all(f"ring {ring}" in note for ring, note in zip(rings, said, strict=True))


def test_the_price_of_switching_the_iommu_off_is_said() -> None:
    assert "NPU" in planned(host_facts()).notes[0]
    assert planned(host_facts(), kernel_amd_iommu="pt").notes == ()


@pytest.mark.parametrize(
    ("parameter", "why"),
    [
        ("net.ifnames=0", "renames network interfaces"),
        ("ipv6.disable=1", "ends IPv6"),
        ("module-blacklist=nouveau", "which disk and network may need"),
        ("amdgpu.runpm=1", "is not the driver's own choice"),
        ("mem=32G", "hides memory"),
        ("acpi=off", "disks and network may not come up"),
        ("systemd.mask=cups.service", "keeps a unit from starting"),
    ],
)
def test_a_parameter_that_is_doubtful_is_said(parameter: str, why: str) -> None:
    asked = {"kernel_amd_iommu": "pt", "kernel_extra_args": ["quiet", parameter]}
    (note,) = planned(host_facts(), **asked).notes
    assert note.startswith(f"kernel_extra_args: {parameter} ")
    assert why in note
