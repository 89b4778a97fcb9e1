"""Settings that cannot be right are told before any host is contacted, each in one line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hosts import settings

from apuhost import settings as module
from apuhost.settings import lists, resolve
from apuhost.settings.connection import PYINFRA_KEYS
from apuhost.settings.problems import SHOWN_LENGTH, Problem

SIMULATED = {"memory_gib": 61, "gpu": "1002:1900"}


STOPPING = {
    "single": "ends in a rescue shell",
    "S": "ends in a rescue shell",
    "rescue": "ends in a rescue shell",
    "emergency": "ends in a rescue shell",
    "recovery": "ends in a rescue shell",
    "systemd.unit=rescue.target": "starts no ssh",
    "systemd.unit=poweroff.target": "starts no ssh",
    "rd.systemd.unit=emergency.target": "stops the boot half-way",
    "break=mount": "stops the boot half-way",
    "rd.break": "stops the boot half-way",
    "systemd.run=/bin/true": "runs a command in place of the system",
    "systemd.volatile=yes": "boots without what is in /etc",
    "systemd.mask=ssh.service": "keeps away what ssh needs",
    "systemd.mask=networking.service": "keeps away what ssh needs",
    "pci=nomsi,off": "hides disk and network",
    "noinitrd": "boots without the initramfs",
    "init=/bin/sh": "is not for kernel_extra_args",
    "rootflags=subvol=x": "is not for kernel_extra_args",
    "boot=nfs": "is not for kernel_extra_args",
    "nomodeset": "keeps amdgpu from starting",
    "modprobe.blacklist=amdgpu": "keeps the driver away",
    "module_blacklist=nouveau,gpu-sched": "keeps the driver away",
    "initcall_blacklist=amdgpu_init": "keeps amdgpu from starting",
}
"""Parameters with which the host comes up no more, or without its GPU."""


def problems(**data: object) -> list[Problem]:
    resolved, found = resolve("box1", data)
    assert (resolved is None) == bool(found)
    return list(found)


def test_a_host_without_a_word_gets_the_roles_defaults() -> None:
    kernel = settings().kernel
    assert kernel.kernel_gtt_gib == "auto"
    assert kernel.kernel_amd_iommu == "off"
    assert kernel.kernel_lockup_timeout_ms == 10000
    assert kernel.kernel_extra_args == []
    assert kernel.kernel_remove_args == ["amdgpu.gttsize", "amdttm.pages_limit"]
    assert settings().host.host_simulated is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kernel_gtt_gib", "auto"),
        ("kernel_gtt_gib", 1),
        ("kernel_gtt_gib", 2048),
        ("kernel_amd_iommu", "pt"),
        ("kernel_amd_iommu", "default"),
        ("kernel_lockup_timeout_ms", 0),
        ("kernel_lockup_timeout_ms", -1),
        ("kernel_lockup_timeout_ms", 52),
        ("kernel_extra_args", ["systemd.unit=multi-user.target", "systemd.mask=cups.service"]),
        (
            "kernel_extra_args",
            ["modprobe.blacklist=nouveau,ttm", "net.ifnames=0", "amdgpu.runpm=0"],
        ),
        ("kernel_lockup_timeout_ms", "10000"),
        ("kernel_lockup_timeout_ms", "10000,60000,10000,10000"),
        ("kernel_extra_args", ["quiet", "console=ttyS0,115200", "mitigations=auto,nosmt"]),
        ("kernel_remove_args", ["amdgpu.gttsize", "quiet"]),
        ("host_simulated", SIMULATED),
        ("host_simulated", None),
        ("ssh_user", "admin"),
        ("_sudo", True),
        ("_sudo_password", "secret"),
    ],
)
def test_what_is_allowed(key: str, value: object) -> None:
    assert problems(**{key: value}) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        pytest.param("kernel_gtt_gib", "lots", "GiB", id="a word for a number"),
        pytest.param("kernel_gtt_gib", "48", "GiB", id="a number as text"),
        pytest.param("kernel_gtt_gib", 0, "1 to 2048", id="nothing"),
        pytest.param("kernel_gtt_gib", -48, "1 to 2048", id="negative"),
        pytest.param("kernel_gtt_gib", 2049, "1 to 2048", id="bytes or MiB by mistake"),
        pytest.param("kernel_gtt_gib", 48.5, "GiB", id="half a GiB"),
        pytest.param("kernel_gtt_gib", True, "GiB", id="yes"),
        pytest.param("kernel_gtt_gib", None, "auto", id="None"),
        pytest.param("kernel_amd_iommu", "on", "off", id="on is no value of amd_iommu"),
        pytest.param("kernel_amd_iommu", False, "off", id="YAML's off"),
        pytest.param("kernel_lockup_timeout_ms", "10s", "ms", id="a unit"),
        pytest.param("kernel_lockup_timeout_ms", "", "ms", id="empty"),
        pytest.param("kernel_lockup_timeout_ms", "1000,2000", "four", id="two rings"),
        pytest.param("kernel_lockup_timeout_ms", "1,2,3,4,5", "four", id="five rings"),
        pytest.param("kernel_lockup_timeout_ms", "1, 2, 3, 4", "four", id="blanks"),
        pytest.param("kernel_lockup_timeout_ms", "010000", "ms", id="octal for the driver"),
        pytest.param("kernel_lockup_timeout_ms", -2, "-1", id="less than never"),
        pytest.param("kernel_lockup_timeout_ms", 3_600_001, "ms", id="over an hour"),
        pytest.param("kernel_lockup_timeout_ms", 10**5000, "ms", id="huge"),
        pytest.param("kernel_lockup_timeout_ms", 10000.0, "ms", id="a float"),
        pytest.param("kernel_lockup_timeout_ms", [10000], "ms", id="a list"),
        pytest.param("kernel_extra_args", "quiet", "key=value", id="text for a list"),
        pytest.param("kernel_extra_args", [1], "key=value", id="a list of numbers"),
        pytest.param("kernel_extra_args", ["a b"], "key=value", id="a blank"),
        pytest.param("kernel_extra_args", ["a=$(reboot)"], "key=value", id="shell"),
        pytest.param("kernel_extra_args", ['a="b"'], "key=value", id="quotes"),
        pytest.param("kernel_extra_args", ["a=b\n"], "key=value", id="a line end"),
        pytest.param("kernel_extra_args", [""], "key=value", id="empty parameter"),
        pytest.param("kernel_extra_args", ["--"], "key=value", id="what ends the kernel's part"),
        pytest.param("kernel_extra_args", ["ttm.pages-limit=1"], "key=value", id="a managed key"),
        pytest.param("kernel_extra_args", ["iommu=pt"], "key=value", id="another managed key"),
        pytest.param("kernel_extra_args", ["a=b;c"], "key=value", id="what ends a GRUB command"),
        pytest.param("kernel_extra_args", ["root=/dev/sdb1"], "key=value", id="another root"),
        pytest.param("kernel_extra_args", ["ro"], "key=value", id="read-only"),
        pytest.param("kernel_extra_args", ["rw"], "key=value", id="writable"),
        pytest.param("kernel_extra_args", ["init=/bin/sh"], "key=value", id="another init"),
        pytest.param("kernel_extra_args", ["rdinit=/bin/sh"], "key=value", id="initramfs's init"),
        pytest.param("kernel_extra_args", ["initrd=/x"], "key=value", id="another initramfs"),
        pytest.param("kernel_extra_args", ["BOOT_IMAGE=/x"], "key=value", id="GRUB's own word"),
        pytest.param("kernel_extra_args", ["a=1", "a=2"], "each key once", id="a key twice"),
        *[
            pytest.param("kernel_extra_args", ["quiet", word], f"'{word}' {why}", id=word)
            for word, why in STOPPING.items()
        ],
        pytest.param(
            "kernel_extra_args",
            ["amdgpu.gttsize=5"],
            "'amdgpu.gttsize=5' is to be gone by kernel_remove_args",
            id="what kernel_remove_args takes out",
        ),
        pytest.param(
            "kernel_extra_args", ["amdttm.pages-limit=5"], "to be gone by", id="another spelling"
        ),
        pytest.param(
            "kernel_lockup_timeout_ms",
            1,
            "1 ms, and a batch of 512 tokens at 4096 takes 52 ms (as on a 780M)",
            id="shorter than any batch",
        ),
        pytest.param("kernel_lockup_timeout_ms", 51, "51 ms, and a batch", id="just too short"),
        pytest.param(
            "kernel_lockup_timeout_ms", "9000,9000,20,9000", "20 ms, and", id="one ring too short"
        ),
        pytest.param("kernel_extra_args", ["a_b", "a-b=1"], "each key once", id="two spellings"),
        pytest.param("kernel_remove_args", ["quiet=1"], "Keys", id="key and value to remove"),
        pytest.param("kernel_remove_args", ["root"], "Keys", id="root to remove"),
        pytest.param("kernel_remove_args", ["init"], "Keys", id="init to remove"),
        pytest.param("kernel_remove_args", ["ttm.pages-limit"], "Keys", id="a managed key to go"),
        pytest.param("kernel_remove_args", [None], "Keys", id="no text"),
        pytest.param("kernel_remove_args", ["a_b", "a-b"], "a_b stands twice", id="a key, twice"),
        pytest.param("host_simulated", True, "memory_gib", id="simulated what?"),
        pytest.param("host_simulated", {"memory_gib": 61}, "gpu", id="no GPU"),
        pytest.param("host_simulated", {**SIMULATED, "gpu": "10de:2684"}, "1002", id="not AMD"),
        pytest.param("host_simulated", {**SIMULATED, "memory_gib": 0}, "61", id="no memory"),
        pytest.param("host_simulated", {**SIMULATED, "disk": 1}, "61", id="more than that"),
    ],
)
def test_what_is_not_allowed_says_what_is(key: str, value: object, told: str) -> None:
    (problem,) = problems(**{key: value})
    assert (problem.host, problem.key) == ("box1", key)
    assert re.match(rf"{key}(\[0\]|\.\w+)? is ", problem.sentence)
    assert told in problem.sentence
    assert len(problem.sentence) < 400
    assert "\n" not in problem.sentence


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("kernel_extra_args", "quiet", 'write it as a list: ["quiet"] ('),
        ("kernel_extra_args", "quiet splash", 'write it as a list: ["quiet", "splash"] ('),
        ("ollama_allow_from", "192.0.2.0/24, ::1", 'as a list: ["192.0.2.0/24", "::1"] ('),
        ("host_roles", "kernel", 'write it as a list: ["kernel"] ('),
        ("models_list", "qwen3", 'write it as: [{"name": "qwen3"}] ('),
        ("models_list", ["qwen3"], 'write it as: {"name": "qwen3"} ('),
        ("models_list", {"name": "qwen3"}, 'write it as a list: [{"name": "qwen3"}] ('),
        ("kernel_gtt_gib", "48", 'gib is "48": write it without quotes: 48 ('),
        ("kernel_gtt_gib", 48.0, "write it without a point: 48 ("),
        ("kernel_gtt_gib", [48], "write it without [ ]: 48 ("),
        ("ssh_port", "22", "write it without quotes: 22 ("),
        ("docker_log_files", "3", "write it without quotes: 3 ("),
        ("ollama_keep_alive", "300", "write seconds without quotes ("),
        ("ollama_no_cloud", "True", "write it without quotes: True ("),
        ("ollama_no_cloud", 0, "write it as a word: False ("),
        ("_sudo", "no", "write it without quotes: False ("),
        ("ssh_user", 5, 'write it in quotes: "5" ('),
        ("docker_users", [5], 'write it in quotes: "5" ('),
        ("ollama_volume", ["models"], 'write it without [ ]: "models" ('),
        ("host_firmware", {"svm": "off"}, 'firmware.svm is "off": write it without quotes: False'),
        ("host_firmware", {"uma_mib": "1024"}, "firmware.uma_mib is"),
        ("host_firmware", {"memory_mts": 1}, "host_firmware.memory_mts is 1: what the BIOS"),
        ("host_firmware", [{"svm": False}], 'write it without [ ]: {"svm": false} ('),
        ("host_simulated", {"memory_gib": "61", "gpu": "1002:1900"}, "memory_gib is"),
        ("host_simulated", {"memory_gib": 61}, "host_simulated.gpu is missing: "),
        ("models_list", [{"name": "m", "preload": "yes"}], "write it without quotes: True ("),
        (
            "models_list",
            [{"name": "m", "parameters": {"num_ctx": "8192"}}],
            "num_ctx takes a whole number, 1 to 2147483647: write it without quotes",
        ),
        (
            "models_list",
            [{"name": "m", "parameters": {"stop": "</s>"}}],
            "without half a character: write it as a list",
        ),
        ("ollama_environment", {"OLLAMA_MAX_QUEUE": "8"}, "write it without quotes"),
        ("ollama_environment", {"OLLAMA_NOHISTORY": "true"}, "write it without quotes"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_as_it_should_be_written(
    key: str, value: object, told: str
) -> None:
    (problem,) = problems(**{key: value})
    assert told in problem.sentence


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kernel_gtt_gib", "lots"),
        ("kernel_gtt_gib", True),
        ("kernel_extra_args", None),
        ("kernel_extra_args", " "),
        ("ollama_volume", float("nan")),
        pytest.param("ollama_volume", 10**5000, id="huge"),
        ("ssh_port", 22.5),
    ],
)
def test_nothing_is_proposed_where_no_other_type_would_do(key: str, value: object) -> None:
    (problem,) = problems(**{key: value})
    assert "write it" not in problem.sentence


@pytest.mark.parametrize(
    "data",
    [
        {"docker_no_proxy": "http://u:hunter2@proxy"},
        {"docker_proxy": ["http://u:hunter2@proxy:1"]},
        {"docker_proxy": "http://u:hunter2@proxy:1"},
        {"docker_proxy": "u:hunter2@proxy:1"},
        {"docker_proxy": f"http://{'u' * SHOWN_LENGTH}:hunter2{'x' * SHOWN_LENGTH}@proxy:1"},
        {"docker_no_proxy": ["http://u:hunter2@proxy"]},
        {"ollama_environment": {"MY_KEY": "hunter2"}},
        {"ollama_environment": {"my_token": "hunter2"}},
        {"host_firmware": {"password": "hunter2"}},
    ],
)
def test_a_secret_that_is_refused_is_not_repeated(data: dict[str, object]) -> None:
    _, problems = resolve("box1", data)
    (problem,) = problems
    assert "hunter2" not in problem.sentence


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("host_roles", ["kernle"], "(kernel?)"),
        ("host_firmware", {"uma": 1024}, "(uma_mib?)"),
        ("models_list", [{"name": "m", "nam": "m"}], "(name?)"),
        (
            "models_list",
            [{"name": "m", "parameters": {"num_batch": 0}}],
            "num_batch takes a whole number, 1 to",
        ),
    ],
)
def test_a_word_inside_a_value_is_told_with_the_nearest_right_one(
    key: str, value: object, hint: str
) -> None:
    _, problems = resolve("box1", {key: value})
    assert hint in problems[0].sentence


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("kernel_gtt_gb", " (kernel_gtt_gib?)"),
        ("kernel_iommu", " (kernel_amd_iommu?)"),
        ("ssh_hostnam", " (ssh_hostname?)"),
        ("name", ""),
        ("zzz", ""),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_right_one(key: str, hint: str) -> None:
    (problem,) = problems(**{key: 1})
    assert problem.sentence == f"{key} is not a setting{hint}"


def test_all_problems_of_a_host_are_told_at_once() -> None:
    found = problems(kernel_gtt_gb=48, kernel_gtt_gib="lots", kernel_amd_iommu=1, host_simulated=1)
    assert {problem.key for problem in found} == {
        "kernel_gtt_gb",
        "kernel_gtt_gib",
        "kernel_amd_iommu",
        "host_simulated",
    }


TEXT = st.text(st.characters() | st.sampled_from("\n\0\udc80")) | st.sampled_from(
    ["auto", "off", "10000", "a=b", "1002:1900"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(module.variables()) | TEXT, JSON))
def test_no_data_makes_it_raise_and_no_unknown_key_is_passed_over(data: dict[str, object]) -> None:
    resolved, found = resolve("box1", data)
    assert (resolved is None) == bool(found)
    unknown = {key for key in data if key not in {*module.variables(), *PYINFRA_KEYS}}
    assert unknown <= {problem.key for problem in found}


def test_no_mirror_is_applied_where_none_is_named() -> None:
    assert "mirror" not in settings().applied
    assert not settings().mirrored("apt")
    assert settings(mirror_address="192.0.2.2").applied[0] == "mirror"


def test_a_host_takes_from_the_mirror_what_it_is_told_to() -> None:
    asked = settings(mirror_address="mirror.lan", mirror_parts=["images"])
    assert asked.mirrored("images")
    assert not asked.mirrored("apt")
    others = settings(mirror_address="mirror.lan", host_roles=["kernel"])
    assert not others.mirrored("images")


def test_the_mirror_leaves_ollamas_port_alone() -> None:
    serving = {"mirror_address": "192.0.2.2", "mirror_serve": True, "mirror_files_port": 11434}
    (problem,) = problems(**serving)
    assert problem.sentence == "mirror_files_port is 11434: ollama_listen has that port"
    assert problems(**{**serving, "mirror_serve": False}) == []


def test_a_mirror_has_its_places() -> None:
    asked = settings(mirror_address="192.0.2.2", mirror_registry_port=5001).mirror
    assert (asked.registry, asked.files) == ("192.0.2.2:5001", "https://192.0.2.2:8443")


WORDS = {
    "mirror_parts": "apt",
    "kernel_remove_args": "quiet",
    "kernel_extra_args": "quiet",
    "vulkan_packages": "vulkan-tools",
    "vulkan_users": "ada",
    "docker_users": "ada",
    "docker_no_proxy": "site.example",
    "ollama_allow_from": "192.0.2.0/24",
    "host_roles": "kernel",
    "mirror_files": {"url": "https://files.example/a", "sha256": "a" * 64},
    "models_list": {"name": "a:latest"},
    "host_waivers": {"id": "kernel.iommu", "reason": "why not"},
}
"""A right entry of every setting that is a list."""


def test_every_list_is_among_them() -> None:
    assert set(WORDS) == set(lists())


@pytest.mark.parametrize("key", WORDS)
def test_what_stands_twice_in_a_list_is_one_line(key: str) -> None:
    word = WORDS[key]
    assert not problems(**{key: [word]})
    (problem,) = problems(**{key: [word, word]})
    assert problem.sentence.startswith(f"{key} is [")
    assert " stands twice" in problem.sentence
    assert "\n" not in problem.sentence


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ollama_allow_from", ["192.0.2.5", "192.0.2.5/32"]),
        ("docker_no_proxy", ["site.example", "Site.Example"]),
    ],
)
def test_two_spellings_of_one_thing_stand_twice(key: str, value: list[str]) -> None:
    (problem,) = problems(**{key: value})
    assert "stands twice" in problem.sentence
