"""Each fault is named by its own check, at the first layer that differs, with what to type."""

from typing import Any

import pytest
from tests.support.hosts import (
    DEFAULT_GRUB,
    DROP_IN,
    GIB,
    GPU_780M,
    LINE,
    NOW,
    PARAMETERS,
    PARTS,
    drop_in,
    host_facts,
    menu,
    settings,
)
from tests.support.verdicts import judge

from apuhost.host_facts import HostFacts
from apuhost.round_trip import Reading
from apuhost.verdicts import Layer, Status, Verdict
from apuhost.verdicts.host import verdicts

SETUP = {"uma_mib": 1024, "svm": False, "memory_mts": 5600}
ASKED = settings(kernel_gtt_gib=48, host_roles=["kernel"], host_firmware=SETUP)


def verdict(facts: HostFacts, verdict_id: str, **data: object) -> Verdict:
    asked = settings(**{"kernel_gtt_gib": 48, **data})
    return next(found for found in verdicts(asked, facts) if found.id == verdict_id)


def test_a_healthy_host_passes_everything() -> None:
    assert {found.id: found.status for found in verdicts(ASKED, host_facts())} == dict.fromkeys(
        [
            "kernel.gtt",
            "kernel.iommu",
            "kernel.lockup_timeout",
            "kernel.arguments",
            "kernel.drop_in",
            "kernel.modules",
            "kernel.current",
            "gpu.device",
            "gpu.driver",
            "gpu.health",
            "gpu.known_bad",
            "firmware.uma",
            "firmware.svm",
            "firmware.memory",
        ],
        Status.PASS,
    )


def test_a_host_set_up_by_hand_with_the_same_values_passes() -> None:
    by_hand = host_facts(
        grub={"/etc/default/grub": f'GRUB_CMDLINE_LINUX_DEFAULT="quiet {PARAMETERS}"\n'}
    )
    assert {found.status for found in verdicts(ASKED, by_hand)} == {Status.PASS}


ZZZ = "/etc/default/grub.d/zzz-site.cfg"
APPENDED = 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT ttm.pages_limit=8126464"\n'
OURS = {"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in()}
WITHOUT_GTT = "quiet amd_iommu=off amdgpu.lockup_timeout=10000"
OLD = "ttm.pages_limit=8126464"


@pytest.mark.parametrize(
    ("facts", "layer", "evidence"),
    [
        pytest.param(
            host_facts(grub_cfg=menu(WITHOUT_GTT)),
            Layer.CONFIGURED,
            "/boot/grub/grub.cfg",
            id="taken out of grub.cfg only",
        ),
        pytest.param(
            host_facts(grub={"/etc/default/grub": DEFAULT_GRUB}),
            Layer.CONFIGURED,
            "no file under /etc/default sets it",
            id="drop-in removed, still booted",
        ),
        pytest.param(
            host_facts(grub={**OURS, ZZZ: APPENDED}),
            Layer.CONFIGURED,
            ZZZ,
            id="another drop-in behind ours",
        ),
        pytest.param(
            host_facts(cmdline=f"{LINE} {PARAMETERS} {OLD}"),
            Layer.BOOTED,
            "8126464",
            id="older value later on the line",
        ),
        pytest.param(
            host_facts(cmdline=f"{LINE} quiet"),
            Layer.BOOTED,
            "no ttm.pages_limit",
            id="not rebooted yet",
        ),
        pytest.param(
            host_facts(cmdline=f"{LINE} {PARAMETERS} amdgpu.gttsize=32768"),
            Layer.BOOTED,
            "amdgpu.gttsize=32768",
            id="gttsize outweighs it",
        ),
        pytest.param(
            host_facts(modules=PARTS["modules"].replace("12582912", "3145728")),
            Layer.LIVE,
            "/sys/module/ttm/parameters/pages_limit has 3145728",
            id="written to /sys",
        ),
        pytest.param(
            host_facts(modules=f"{PARTS['modules']}loaded amdttm\n"),
            Layer.LIVE,
            "amdttm",
            id="DKMS driver in charge",
        ),
        pytest.param(
            host_facts(gpus=GPU_780M.replace(str(48 * GIB), str(31 * GIB))),
            Layer.EFFECTIVE,
            "mem_info_gtt_total",
            id="the driver made less",
        ),
        pytest.param(host_facts(gpus=""), Layer.EFFECTIVE, "1002", id="no AMD GPU"),
    ],
)
def test_gtt_names_the_first_layer_that_differs(
    facts: HostFacts, layer: Layer, evidence: str
) -> None:
    found = verdict(facts, "kernel.gtt")
    assert (found.status, found.layer) == (Status.FAIL, layer)
    assert evidence in found.evidence


def test_an_older_value_earlier_on_the_line_is_harmless() -> None:
    assert verdict(host_facts(cmdline=f"{LINE} {OLD} {PARAMETERS}"), "kernel.gtt").status == "pass"


def test_a_capped_gtt_is_right_when_more_than_memory_was_asked() -> None:
    facts = host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in("ttm.pages_limit=17825792")},
        grub_cfg=menu("ttm.pages_limit=17825792"),
        cmdline=f"{LINE} ttm.pages_limit=17825792",
        modules=PARTS["modules"].replace("12582912", "17825792"),
        gpus=GPU_780M.replace(str(48 * GIB), str(63 * GIB)),
    )
    found = verdict(facts, "kernel.gtt", kernel_gtt_gib=68)
    assert (found.status, found.observed) == (
        "pass",
        "63 GiB GTT: the kernel cut 68 GiB down to its memory",
    )


def test_a_gpu_without_a_gtt_is_wrong_even_when_any_size_would_do() -> None:
    line = "amd_iommu=off amdgpu.lockup_timeout=10000"
    small: dict[str, Any] = {
        "grub": {"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(line)},
        "grub_cfg": menu(line),
        "cmdline": f"{LINE} {line}",
        "meminfo": f"MemTotal: {14 * 1024 * 1024} kB\n",
    }
    half = GPU_780M.replace(f"gtt={48 * GIB}", f"gtt={7 * GIB}")
    made = verdict(host_facts(**small, gpus=half), "kernel.gtt", kernel_gtt_gib="auto")
    assert (made.status, made.observed) == (Status.PASS, "the kernel's default GTT")
    gpus = GPU_780M.replace(f"gtt={48 * GIB}", "gtt=")
    silent = host_facts(**small, gpus=gpus, kernel_log="")
    found = verdict(silent, "kernel.gtt", kernel_gtt_gib="auto")
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert "no GTT" in found.observed


SILENT = GPU_780M.replace(f"gtt={48 * GIB}", "gtt=")
LOG = PARTS["kernel_log"]


def test_where_sysfs_is_silent_the_drivers_own_word_counts() -> None:
    assert verdict(host_facts(gpus=SILENT), "kernel.gtt").status == "pass"
    found = verdict(
        host_facts(gpus=SILENT, kernel_log=LOG.replace("49152M", "31744M")), "kernel.gtt"
    )
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.evidence == "kernel log: 31744M of GTT memory ready"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"kernel_log": "", "gpus": SILENT}, id="no log"),
        pytest.param({"gpus": SILENT.replace("driver=amdgpu", "driver=")}, id="no driver"),
        pytest.param({"gpus": SILENT, "kernel_log": LOG.replace("c6:", "c7:")}, id="another GPU's"),
    ],
)
def test_a_log_that_is_no_witness_does_not_count(parts: dict[str, Any]) -> None:
    found = verdict(host_facts(**parts), "kernel.gtt")
    assert (found.status, found.observed) == ("fail", "the GPU's driver made no GTT")


def test_sysfs_outweighs_the_log() -> None:
    facts = host_facts(kernel_log=LOG.replace("49152M", "31744M"))
    assert verdict(facts, "kernel.gtt").status == "pass"


def test_a_gtt_of_which_ttm_lets_only_a_part_be_used() -> None:
    said = "[drm] GTT size has been set as 51539607552 but TTM size has been set as 16638816256,"
    facts = host_facts(
        kernel_log=f"{LOG}[    3.110000] amdgpu 0000:c6:00.0: amdgpu: {said} this is unusual\n"
    )
    found = verdict(facts, "kernel.gtt")
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.observed == "GTT is 48.0 GiB, of which TTM lets 15.5 GiB be used"


def large(memory_gib: int) -> HostFacts:
    """96 GiB of GTT, as asked, on a host with so much memory beside 96 GiB of VRAM."""
    line = PARAMETERS.replace("12582912", "25165824")
    return host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(line)},
        grub_cfg=menu(line),
        cmdline=f"{LINE} {line}",
        modules=PARTS["modules"].replace("12582912", "25165824"),
        gpus=GPU_780M.replace(str(48 * GIB), str(96 * GIB)),
        meminfo=f"MemTotal: {memory_gib * 1024 * 1024} kB\n",
    )


def test_a_gtt_beyond_memory_is_named() -> None:
    found = verdict(large(31), "kernel.gtt", kernel_gtt_gib=96)
    assert (found.status, found.severity, found.layer) == ("fail", "recommended", "effective")
    assert "GTT is 96.0 GiB, more than the 31.0 GiB of memory" in found.observed
    assert verdict(large(125), "kernel.gtt", kernel_gtt_gib=96).status == "pass"


def test_a_wrong_gtt_beyond_memory_is_a_failure_that_says_both() -> None:
    gpus = GPU_780M.replace(str(48 * GIB), str(96 * GIB))
    found = verdict(host_facts(gpus=gpus), "kernel.gtt")
    assert (found.status, found.severity) == ("fail", "required")
    assert "more than the 63.0 GiB of memory" in found.observed


@pytest.mark.parametrize(
    "missing", ["cmdline", "grub", "grub_cfg", "modules", "gpus", "meminfo", "machine", "kernel"]
)
def test_what_could_not_be_read_is_unknown_never_pass(missing: str) -> None:
    complete = host_facts()
    readings = {name: text for name, text in complete.readings.items() if name != missing}
    found = verdict(HostFacts("minipc", complete.gathered, readings), "kernel.gtt")
    assert found.status == "unknown"
    assert missing in found.reason


def test_a_difference_outweighs_what_could_not_be_read() -> None:
    readings = dict(host_facts(cmdline=f"{LINE} quiet").readings)
    del readings["grub"]
    found = verdict(HostFacts("minipc", "", readings), "kernel.gtt")
    assert (found.status, found.layer) == (Status.FAIL, Layer.BOOTED)


def test_iommu_off_on_the_line_but_at_work() -> None:
    found = verdict(host_facts(iommu="unit=ivhd0\ngroups=20\ntranslated=20\n"), "kernel.iommu")
    assert (found.status, found.layer) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.observed.startswith("IOMMU translated (")


@pytest.mark.parametrize(
    ("iommu", "status", "fix"),
    [
        pytest.param("unit=ivhd0\ngroups=20\ntranslated=0\n", "pass", "", id="passthrough"),
        pytest.param("unit=ivhd0\ngroups=20\ntranslated=20\n", "fail", "reboot", id="translated"),
        pytest.param("groups=0\ntranslated=0\n", "fail", "firmware", id="off"),
    ],
)
def test_passthrough_is_not_the_same_as_off(iommu: str, status: str, fix: str) -> None:
    line = PARAMETERS.replace("amd_iommu=off", "iommu=pt")
    facts = host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(line)},
        grub_cfg=menu(line),
        cmdline=f"{LINE} {line}",
        iommu=iommu,
    )
    found = verdict(facts, "kernel.iommu", kernel_amd_iommu="pt")
    assert found.status == status
    assert fix in found.fix


ON_LINE = f"{LINE} quiet {PARAMETERS}\n"
WITHOUT_IOMMU = WITHOUT_GTT.replace("amd_iommu=off", PARAMETERS.split()[1])


@pytest.mark.parametrize(
    ("described", "cmdline", "who"),
    [
        pytest.param(
            "described=no\n",
            ON_LINE,
            "by the firmware and the kernel line (",
            id="both",
        ),
        pytest.param("described=yes\n", ON_LINE, "by the kernel line (", id="the kernel line"),
        pytest.param(
            "described=no\n", f"{LINE} {WITHOUT_IOMMU}", "by the firmware (", id="the firmware"
        ),
        pytest.param("", f"{LINE} {WITHOUT_IOMMU}", "IOMMU off (", id="nobody tells"),
    ],
)
def test_who_turned_the_iommu_off_is_said_with_its_price(
    described: str, cmdline: str, who: str
) -> None:
    facts = host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(cmdline.removeprefix(LINE))},
        grub_cfg=menu(cmdline.removeprefix(LINE).strip()),
        cmdline=cmdline,
        iommu=f"groups=0\ntranslated=0\n{described}",
    )
    choice = "off" if "amd_iommu" in cmdline else "default"
    found = verdict(facts, "kernel.iommu", kernel_amd_iommu=choice)
    assert found.status == "pass"
    assert who in found.observed
    assert "no NPU, no protection against DMA" in found.observed


@pytest.mark.parametrize(
    ("typed", "release", "status"),
    [
        pytest.param(
            "10000,60000,10000,10000", "6.12.1", "pass", id="6.12: one number, 60 s compute"
        ),
        pytest.param("10000,10000,10000,10000", "7.0.0", "pass", id="7.0: one number is all four"),
        pytest.param("10000,10000,10000,10000", "6.12.1", "fail", id="6.12: compute is cut"),
        pytest.param("2000", "7.0.0", "fail", id="another number"),
        pytest.param("10s", "7.0.0", "fail", id="the driver refuses it"),
    ],
)
def test_lockup_timeouts_are_compared_by_what_each_ring_gets(
    typed: str, release: str, status: str
) -> None:
    parameters = PARAMETERS.replace("lockup_timeout=10000", f"lockup_timeout={typed}")
    facts = host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(parameters)},
        grub_cfg=menu(parameters),
        cmdline=f"{LINE} {parameters}",
        kernel=f"running {release}\n",
        modules=PARTS["modules"].replace("lockup_timeout 10000", f"lockup_timeout {typed}"),
    )
    assert verdict(facts, "kernel.lockup_timeout").status == status


def test_a_misspelt_parameter_is_named_with_the_nearest() -> None:
    facts = host_facts(cmdline=f"{LINE} {PARAMETERS} amdgpu.gtt_size=49152")
    found = verdict(facts, "kernel.arguments")
    assert (found.status, found.layer) == (Status.FAIL, Layer.BOOTED)
    assert "amdgpu.gtt_size is not a parameter of amdgpu (amdgpu.gttsize?)" in found.observed


def refused(words: str, more: str = "") -> HostFacts:
    """A host whose kernel logged that it does not know these words."""
    words = f'parameters "BOOT_IMAGE=/boot/vmlinuz splash {words}", will be passed to user space.'
    log = PARTS["kernel_log"].splitlines(keepends=True)
    line = f"[    0.011222] Unknown kernel command line {words}\n"
    return host_facts(kernel_log="".join([*log[:2], line, *log[3:], more]))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("amd_iomu=off", "amd_iommu"),
        ("ttm_pages_limit=12582912", "ttm.pages_limit"),
        ("pages_limit=12582912", "ttm.pages_limit"),
        ("lockup_timeout=10000", "amdgpu.lockup_timeout"),
        ("mitigatons=off", "mitigations"),
    ],
)
def test_a_word_that_the_kernel_refused_is_named_with_what_was_meant(word: str, meant: str) -> None:
    found = verdict(refused(word), "kernel.arguments")
    assert (found.status, found.layer) == (Status.FAIL, Layer.BOOTED)
    assert found.observed.endswith(f"is no kernel parameter ({meant}?)")
    assert word in found.evidence


def test_words_for_init_are_not_misspelt() -> None:
    found = verdict(refused("ds=nocloud biosdevname=0"), "kernel.arguments")
    assert (found.status, found.observed) == (
        "pass",
        "none misspelt; left to init: ds=nocloud biosdevname=0",
    )


def test_an_option_that_a_gpu_module_refused_is_named() -> None:
    said = "[    2.900000] amdgpu: unknown parameter 'gtt_size' ignored\n"
    found = verdict(refused("", said), "kernel.arguments")
    assert (found.status, found.layer) == (Status.FAIL, Layer.BOOTED)
    assert found.observed == "amdgpu.gtt_size is not a parameter of amdgpu"
    assert "modprobe.d" in found.fix


def test_parameters_are_judged_without_a_kernel_log() -> None:
    assert verdict(host_facts(kernel_log=""), "kernel.arguments").status == "pass"


@pytest.mark.parametrize("parameter", ["amdgpu.dyndbg=+p", "ttm.async_probe", "amdgpu.gttsize=-1"])
def test_a_parameter_that_every_module_has_is_not_misspelt(parameter: str) -> None:
    facts = host_facts(cmdline=f"{LINE} {PARAMETERS} {parameter}")
    assert verdict(facts, "kernel.arguments", kernel_remove_args=[]).status == "pass"


def test_a_misspelt_flag_is_shown_as_it_stands() -> None:
    facts = host_facts(cmdline=f"{LINE} {PARAMETERS} amdgpu.no_such")
    assert verdict(facts, "kernel.arguments").evidence == "/proc/cmdline has amdgpu.no_such"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        pytest.param("nosmt a=b", "pass", id="as asked"),
        pytest.param("a=b", "fail", id="the flag is missing"),
        pytest.param("nosmt=force a=b", "fail", id="the flag has a value"),
        pytest.param("nosmt a=c", "fail", id="another value"),
    ],
)
def test_further_parameters_are_on_the_line(line: str, status: str) -> None:
    facts = host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(f"{PARAMETERS} {line}")},
        grub_cfg=menu(f"{PARAMETERS} {line}"),
        cmdline=f"{LINE} {PARAMETERS} {line}",
    )
    found = verdict(facts, "kernel.arguments", kernel_extra_args=["nosmt", "a=b"])
    assert found.status == status


def test_a_further_parameter_is_observed_with_its_key() -> None:
    facts = host_facts(
        grub={"/etc/default/grub": DEFAULT_GRUB, DROP_IN: drop_in(f"{PARAMETERS} a=c")}
    )
    assert verdict(facts, "kernel.arguments", kernel_extra_args=["a=b"]).observed == "a=c"


def test_an_unwanted_module_option_is_named_before_it_is_live() -> None:
    path = "/etc/modprobe.d/amd.conf"
    facts = host_facts(modprobe={path: "options amdgpu gttsize=16384\n"})
    found = verdict(facts, "kernel.arguments")
    assert (found.status, found.layer) == (Status.FAIL, Layer.CONFIGURED)
    assert found.observed == "amdgpu.gttsize=16384"
    assert found.evidence == f"{path} has options amdgpu gttsize=16384"
    assert found.fix == "apuhost deploy INVENTORY"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("# a word\n", "pass", id="a comment"),
        pytest.param("GRUB_TIMEOUT=0\n", "pass", id="nothing of the line"),
        pytest.param(APPENDED, "fail", id="the line"),
        pytest.param("GRUB_TIMEOUT=0\0\n", "fail", id="not readable"),
    ],
)
def test_a_drop_in_behind_ours_that_may_have_the_last_word(text: str, status: str) -> None:
    found = verdict(host_facts(grub={**OURS, ZZZ: text}), "kernel.drop_in")
    assert found.status == status
    assert (ZZZ in found.evidence) is (status == "fail")


@pytest.mark.parametrize("live", ["²", "9" * 5000, "", "-1", "0x"])
def test_a_live_value_that_is_no_number_is_a_failure_not_a_crash(live: str) -> None:
    facts = host_facts(modules=PARTS["modules"].replace("12582912", live))
    found = verdict(facts, "kernel.gtt")
    assert (found.status, found.layer) == (Status.FAIL, Layer.LIVE)


def test_a_simulated_gpu_is_a_skip_with_its_reason_on_a_virtual_machine_only() -> None:
    simulated = {"memory_gib": 61, "gpu": "1002:1900"}
    virtual = host_facts(machine="hostname=vm\nvirtualization=qemu\n", gpus="")
    found = verdict(virtual, "kernel.gtt", host_simulated=simulated)
    assert found.status == "skip"
    assert "mem_info_gtt_total" in found.reason
    real = verdict(host_facts(gpus=""), "kernel.gtt", host_simulated=simulated)
    assert real.status == "fail"
    assert "BIOS" in real.fix


def test_a_virtual_machine_without_a_gpu_is_told_what_a_virtual_machine_can_do() -> None:
    virtual = host_facts(machine="hostname=vm\nvirtualization=qemu\n", gpus="")
    found = verdict(virtual, "kernel.gtt")
    assert found.status == "fail"
    assert "pass the GPU through to this VM" in found.fix


def test_a_kernel_installed_since_the_boot_waits_for_a_reboot() -> None:
    facts = host_facts(
        kernel=f"{PARTS['kernel']}installed 6.12.120+deb13-amd64 {NOW} {NOW} amdgpu ttm\n"
    )
    found = verdict(facts, "kernel.current")
    assert (found.status, found.severity) == ("fail", "recommended")
    assert "6.12.120" in found.observed


BARE = host_facts(
    grub={"/etc/default/grub": DEFAULT_GRUB}, grub_cfg=menu("quiet"), cmdline=f"{LINE} quiet"
)


def test_a_bare_host_is_not_called_set_up_by_hand() -> None:
    found = verdict(BARE, "kernel.drop_in")
    assert found.status == "skip"
    assert "none of the parameters is set yet" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('GRUB_CMDLINE_LINUX_DEFAULT="quiet amd_iommu=off"\n', id="one of them"),
        pytest.param('GRUB_CMDLINE_LINUX="$(cat /etc/line)"\n', id="only a shell could tell"),
    ],
)
def test_a_host_set_up_by_hand_needs_no_drop_in(text: str) -> None:
    found = verdict(host_facts(grub={"/etc/default/grub": text}), "kernel.drop_in")
    assert (found.status, found.observed) == ("pass", "not there: set up by hand")


@pytest.mark.parametrize("verdict_id", ["kernel.gtt", "gpu.device", "gpu.driver"])
def test_no_gpu_is_told_with_what_to_do(verdict_id: str) -> None:
    assert "BIOS" in verdict(host_facts(gpus=""), verdict_id).fix


def judged(facts: HostFacts, verdict_id: str) -> Verdict:
    found = judge("minipc", ASKED, facts).verdicts
    return next(each for each in found if each.id == verdict_id)


def test_a_deploy_is_not_the_fix_of_a_host_that_it_refuses() -> None:
    assert judged(BARE, "kernel.gtt").fix == "apuhost deploy INVENTORY"
    readings = {**BARE.readings, "os_release": Reading('ID=fedora\nNAME="Fedora"\n', 0)}
    found = judged(HostFacts("minipc", "", readings), "kernel.gtt")
    assert found.fix == "apuhost doctor INVENTORY"
    assert "Fedora, not Debian or Ubuntu" in found.reason
