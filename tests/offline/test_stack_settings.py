"""Settings of the stack that cannot be right, and that what is right carries nothing else along."""

import json
import re
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hosts import host_facts, settings

from apuhost import environment, roles
from apuhost.changes import compose, docker, models, port
from apuhost.derived import derive
from apuhost.settings import resolve
from apuhost.settings.ollama import OWN_VARIABLES
from apuhost.settings.options import OPTIONS
from apuhost.settings.problems import Problem

DIGEST = "ab" * 32
PEM = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n"
IMAGE = f"docker.io/ollama/ollama:0.34.4@sha256:{DIGEST}"
ROCM = IMAGE.replace("0.34.4", "0.34.4-rocm")
LOOPBACK6 = "[::1]:11434"


def problems(**data: object) -> list[Problem]:
    resolved, found = resolve("box1", data)
    assert (resolved is None) == bool(found)
    return list(found)


def model(**members: object) -> list[dict[str, object]]:
    """A list of one model."""
    return [{"name": "qwen3.6:35b-a3b", **members}]


def parameters(**options: object) -> list[dict[str, object]]:
    """A list of one model with options."""
    return model(parameters=options)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vulkan_packages", []),
        ("vulkan_packages", ["mesa-vulkan-drivers", "g++", "libstdc++6", "x.org"]),
        ("vulkan_users", ["admin", "_svc", "a-b"]),
        ("docker_source", "docker-ce"),
        ("docker_data_root", ""),
        ("docker_data_root", "/srv/docker.d"),
        ("docker_log_max_mb", 10_000),
        ("docker_log_files", 1),
        ("docker_proxy", ""),
        ("docker_proxy", "http://proxy.example:3128"),
        ("docker_proxy", "https://192.0.2.1:443"),
        ("docker_proxy", "http://Proxy.Example:8080"),
        ("docker_proxy", "http://[2001:db8::1]:3128"),
        ("docker_no_proxy", []),
        ("docker_no_proxy", ["*", "::1", "10.0.0.0/8", ".example.com", "*.lan", "a.b:5000"]),
        ("docker_site_ca", ""),
        ("docker_site_ca", PEM),
        ("docker_site_ca", f"{PEM}\n{PEM}"),
        ("ollama_image", f"registry.lan:5000/a/ollama:1.0-x_y@sha256:{DIGEST}"),
        ("ollama_listen", "0.0.0.0:80"),
        ("ollama_listen", LOOPBACK6),
        ("ollama_listen", "[fe80::1]:65535"),
        ("ollama_allow_from", ["192.0.2.0/24", "192.0.2.1", "10.0.0.0/255.0.0.0"]),
        ("ollama_allow_from", ["0.0.0.0/0"]),
        ("ollama_project", "llm_1"),
        ("ollama_container_name", "My.Ollama-1"),
        ("ollama_volume", "ollama_ollama"),
        ("ollama_context_length", 262144),
        ("ollama_keep_alive", 0),
        ("ollama_keep_alive", "1h30m"),
        ("ollama_keep_alive", "1.5h"),
        ("ollama_num_parallel", 64),
        ("ollama_flash_attention", "on"),
        ("ollama_kv_cache_type", "q8_0"),
        ("ollama_prompt_cache_mib", 0),
        ("ollama_environment", {"OLLAMA_MAX_QUEUE": 9, "OLLAMA_NOPRUNE": True}),
        ("ollama_environment", {"GGML_VK_VISIBLE_DEVICES": "0,1", "LLAMA_ARG_CACHE_REUSE": -1}),
        ("ollama_environment", {"OLLAMA_ORIGINS": "http://a:1 #'\"\\%&<>{}"}),
        ("models_list", [{"name": "hf.co/user/Model-GGUF:Q4_K_M"}, {"name": "tiny"}]),
        ("models_list", [{"name": "registry.lan:5000/library/qwen3"}]),
        ("models_list", model(digest=f"sha256:{DIGEST}", preload=True, kv_bytes_per_token=1)),
        ("models_list", parameters(num_ctx=4096, temperature=0.7, stop=["\n", "<é>"], seed=-1)),
        ("models_list", parameters(use_mmap=False, top_p=1)),
        ("models_list", parameters(num_predict=-2, num_gpu=-1, repeat_last_n=-1, num_keep=-1)),
        ("models_list", parameters(presence_penalty=-0.5, temperature=0, num_thread=0, top_k=0)),
        ("mirror_address", "192.0.2.2"),
        ("mirror_address", "127.0.0.1"),
        ("mirror_address", "mirror"),
        ("mirror_address", "246.30.93.143"),
        ("mirror_address", "mirror-1.site.example"),
        ("mirror_parts", []),
        ("host_roles", ["vulkan"]),
        ("host_reboot_timeout_s", 7200),
        ("host_command_timeout_s", 86400),
        ("host_pull_timeout_s", 10),
    ],
)
def test_what_is_allowed(key: str, value: object) -> None:
    assert problems(**{key: value}) == []


PACKAGE = "not a package's name"
USER = "not a user's name"
NETWORK = "is no network"
VARIABLE = "Names with a text"

WRONG: list[Any] = [
    pytest.param("vulkan_packages", "mesa", "packages", id="text for a list"),
    pytest.param("vulkan_packages", ["mesa-"], PACKAGE, id="what apt-get would remove"),
    pytest.param("vulkan_packages", ["mesa."], PACKAGE, id="what apt-get would match"),
    pytest.param("vulkan_packages", ["-o"], PACKAGE, id="an option of apt-get"),
    pytest.param("vulkan_packages", ["Mesa"], PACKAGE, id="capitals"),
    pytest.param("vulkan_packages", ["a"], PACKAGE, id="one letter"),
    pytest.param("vulkan_packages", ["mesa:i386"], PACKAGE, id="another architecture"),
    pytest.param("vulkan_packages", ["mesa\n"], PACKAGE, id="a package and a line end"),
    pytest.param("vulkan_packages", [1], "packages", id="a list of numbers"),
    pytest.param("vulkan_users", ["root;reboot"], USER, id="shell"),
    pytest.param("vulkan_users", ["-G"], USER, id="an option of usermod"),
    pytest.param("vulkan_users", ["a b"], USER, id="a blank"),
    pytest.param("vulkan_users", [""], USER, id="nobody"),
    pytest.param("vulkan_users", ["u" * 33], USER, id="33 letters"),
    pytest.param("docker_users", ["Admin"], USER, id="a user with capitals"),
    pytest.param("docker_users", None, "users", id="None for a list"),
    pytest.param("docker_source", "podman", "docker-ce", id="another engine"),
    pytest.param("docker_source", True, "auto", id="yes"),
    pytest.param("docker_data_root", "srv", "absolute", id="a relative path"),
    pytest.param("docker_data_root", "/", "absolute", id="the root itself"),
    pytest.param("docker_data_root", "/srv/", "absolute", id="a slash at the end"),
    pytest.param("docker_data_root", "/srv/../etc", "absolute", id="upwards"),
    pytest.param("docker_data_root", '/srv/"a"', "absolute", id="quotes in a path"),
    pytest.param("docker_data_root", "/srv/a b", "absolute", id="a blank in a path"),
    pytest.param("docker_data_root", "/srv/$HOME", "absolute", id="a variable in a path"),
    pytest.param("docker_data_root", "/srv\n", "absolute", id="a path and a line end"),
    pytest.param("docker_log_max_mb", 0, "1 to 10000", id="no log"),
    pytest.param("docker_log_max_mb", "10m", "MB", id="a unit"),
    pytest.param("docker_log_files", 101, "1 to 100", id="too many logs"),
    pytest.param("docker_log_files", 1.5, "1 to 100", id="half a log"),
    pytest.param("docker_proxy", "proxy:3128", "http://HOST:PORT", id="no scheme"),
    pytest.param("docker_proxy", "http://proxy", "http://HOST:PORT", id="no port"),
    pytest.param("docker_proxy", "http://proxy:0", "http://HOST:PORT", id="port 0"),
    pytest.param("docker_proxy", "http://proxy:65536", "http://HOST:PORT", id="port 65536"),
    pytest.param("docker_proxy", "http://proxy:3128/", "http://HOST:PORT", id="a path"),
    pytest.param("docker_proxy", "socks5://proxy:1080", "http://HOST:PORT", id="SOCKS"),
    pytest.param("docker_proxy", "http://u:pw@proxy:1", "readable by every user", id="a password"),
    pytest.param("docker_proxy", "http://u@proxy:1", "readable by every user", id="a login"),
    pytest.param("docker_proxy", 'http://a"b:3128', "http://HOST:PORT", id="a quote"),
    pytest.param("docker_proxy", "http://a%b:3128", "http://HOST:PORT", id="systemd's percent"),
    pytest.param("docker_proxy", "http://a\\b:3128", "http://HOST:PORT", id="a backslash"),
    pytest.param("docker_proxy", "http://a b:3128", "http://HOST:PORT", id="a blank in a name"),
    pytest.param("docker_proxy", 'http://a";x:1', "http://HOST:PORT", id="apt.conf's end"),
    pytest.param("docker_proxy", "http://proxy:3128\n", "http://HOST:PORT", id="a line end"),
    pytest.param("docker_proxy", "http://$(id):3128", "http://HOST:PORT", id="a command"),
    pytest.param("docker_proxy", "http://[::1]x]:1", "http://HOST:PORT", id="half a bracket"),
    pytest.param("docker_no_proxy", "localhost", "Names", id="one name for a list"),
    pytest.param("docker_no_proxy", ["10.0.0.0/*"], "no name", id="apt.conf's comment"),
    pytest.param("docker_no_proxy", ["//x"], "no name", id="apt.conf's other comment"),
    pytest.param("docker_no_proxy", ["a,b"], "no name", id="two in one"),
    pytest.param("docker_no_proxy", ['a"'], "no name", id="a quote in a name"),
    pytest.param("docker_no_proxy", ["a{"], "no name", id="a brace"),
    pytest.param("docker_no_proxy", ["a%h"], "no name", id="a specifier of systemd's"),
    pytest.param("docker_no_proxy", ["#a"], "no name", id="a comment"),
    pytest.param("docker_no_proxy", ["a\n"], "no name", id="a name and a line end"),
    pytest.param("docker_no_proxy", [""], "no name", id="no name at all"),
    pytest.param("docker_site_ca", "/etc/ca.crt", "PEM", id="a path"),
    pytest.param("docker_site_ca", f"{PEM}x", "certificates alone", id="more than certificates"),
    pytest.param("docker_site_ca", PEM[:-5], "certificates alone", id="a certificate that is cut"),
    pytest.param("docker_site_ca", PEM.replace("\n", "\r\n"), "alone", id="CRLF"),
    pytest.param("docker_site_ca", PEM.replace("MAMCAQE=", "MAMCA"), "PEM", id="bad base64"),
    pytest.param("docker_site_ca", PEM.replace("MA", "AA"), "no certificate", id="no X.509"),
    pytest.param(
        "docker_site_ca", PEM.replace("CERTIFICATE", "PRIVATE KEY"), "private key", id="a key"
    ),
    pytest.param("ollama_image", "ollama/ollama:0.34.4", "no digest", id="a tag without a digest"),
    pytest.param("ollama_image", f"ollama@sha256:{DIGEST}", "not such", id="no tag"),
    pytest.param("ollama_image", IMAGE[:-1], "not such", id="63 digits"),
    pytest.param("ollama_image", f"{IMAGE}\n", "not such", id="an image and a line end"),
    pytest.param("ollama_image", IMAGE.replace(":0", ":$T"), "not such", id="a variable"),
    pytest.param("ollama_image", f"https://{IMAGE}", "not such", id="a URL"),
    pytest.param("ollama_image", "", "NAME:TAG@sha256", id="no image"),
    pytest.param("ollama_backend", "cuda", "vulkan", id="another GPU"),
    pytest.param("ollama_backend", "rocm", "not in the image", id="ROCm in the Vulkan image"),
    pytest.param("ollama_listen", "127.0.0.1", "ADDRESS:PORT", id="no port to listen on"),
    pytest.param("ollama_listen", "localhost:11434", "ADDRESS:PORT", id="a name to listen on"),
    pytest.param("ollama_listen", "127.0.0.1:0", "ADDRESS:PORT", id="port 0 to listen on"),
    pytest.param("ollama_listen", "127.0.0.1:011434", "ADDRESS:PORT", id="a port with a zero"),
    pytest.param("ollama_listen", "127.0.0.1:65536", "ADDRESS:PORT", id="65536 to listen on"),
    pytest.param("ollama_listen", "256.0.0.1:11434", "no such address", id="256"),
    pytest.param("ollama_listen", "::1:11434", "brackets", id="IPv6 without brackets"),
    pytest.param("ollama_listen", "[::1%lo]:11434", "ADDRESS:PORT", id="a zone"),
    pytest.param("ollama_listen", "[0:0:0:0:0:0:0:1]:1", "write it as ::1", id="IPv6 at length"),
    pytest.param("ollama_listen", "127.0.0.1:11434\n", "ADDRESS:PORT", id="port and line end"),
    pytest.param("ollama_listen", 11434, "ADDRESS:PORT", id="a number"),
    pytest.param("ollama_allow_from", "10.0.0.0/8", "IPv4 networks", id="one network for a list"),
    pytest.param("ollama_allow_from", ["10.0.0.1/8"], NETWORK, id="an address in a network"),
    pytest.param("ollama_allow_from", ["10.0.0"], NETWORK, id="three numbers"),
    pytest.param("ollama_allow_from", ["2001:db8::/32"], "of IPv6", id="a network of IPv6"),
    pytest.param("ollama_allow_from", ["site.lan"], NETWORK, id="a name"),
    pytest.param("ollama_allow_from", ["127.0.0.1"], "the host itself", id="loopback"),
    pytest.param("ollama_allow_from", ["127.0.0.0/8"], "the host itself", id="all of loopback"),
    pytest.param("ollama_allow_from", ["::1"], "of IPv6", id="loopback of IPv6"),
    pytest.param("ollama_allow_from", ["::/0"], "of IPv6", id="all of IPv6"),
    pytest.param("ollama_allow_from", ["0.0.0.0"], "no sender's", id="no address"),
    pytest.param("ollama_allow_from", ["224.0.0.0/4"], "no sender's", id="multicast"),
    pytest.param("ollama_allow_from", ["255.255.255.255"], "no sender's", id="broadcast"),
    pytest.param("ollama_allow_from", ["fe80::%$(reboot)/128"], NETWORK, id="a command as zone"),
    pytest.param("ollama_allow_from", ["10.0.0.0/8 -j ACCEPT"], NETWORK, id="a rule"),
    pytest.param("ollama_allow_from", ["10.0.0.0/8\n"], NETWORK, id="a network and a line end"),
    pytest.param("ollama_allow_from", [""], NETWORK, id="no network"),
    pytest.param("ollama_project", "Ollama", "compose takes", id="a project in capitals"),
    pytest.param("ollama_project", "", "compose takes", id="no project"),
    pytest.param("ollama_project", "a: b", "compose takes", id="YAML"),
    pytest.param("ollama_container_name", "o", "docker takes", id="a name of one letter"),
    pytest.param("ollama_container_name", "a/b", "docker takes", id="a slash"),
    pytest.param("ollama_container_name", "--rm", "docker takes", id="an option of docker"),
    pytest.param("ollama_container_name", "a\n", "docker takes", id="a name and a line's end"),
    pytest.param("ollama_volume", "/srv/models", "docker takes", id="a folder"),
    pytest.param("ollama_volume", "a:ro", "docker takes", id="a volume with an option"),
    pytest.param("ollama_volume", "$V", "docker takes", id="a volume that compose would replace"),
    pytest.param("ollama_context_length", -1, "0 to", id="less than nothing"),
    pytest.param("ollama_context_length", "262144", "Tokens", id="a number as text"),
    pytest.param("ollama_context_length", 10**9, "Tokens", id="too long a context"),
    pytest.param("ollama_keep_alive", "forever", "duration", id="a word"),
    pytest.param("ollama_keep_alive", "24", "duration", id="no unit"),
    pytest.param("ollama_keep_alive", -2, "-1", id="less than forever"),
    pytest.param("ollama_keep_alive", True, "duration", id="yes to a duration"),
    pytest.param("ollama_keep_alive", 1.5, "duration", id="half a second"),
    pytest.param("ollama_keep_alive", 10**5000, "duration", id="a huge number"),
    pytest.param("ollama_keep_alive", "999999h", "duration", id="more than Go can count"),
    pytest.param("ollama_keep_alive", "1h\n", "duration", id="a duration and a line end"),
    pytest.param("ollama_num_parallel", 0, "1 to 64", id="nobody at once"),
    pytest.param("ollama_num_parallel", 65, "1 to 64", id="too many at once"),
    pytest.param("ollama_no_cloud", "true", "True or False", id="true as text"),
    pytest.param("ollama_igpu_enable", 1, "True or False", id="1 for True"),
    pytest.param("ollama_flash_attention", True, "on", id="YAML's on"),
    pytest.param("ollama_kv_cache_type", "q8", "q8_0", id="half a type"),
    pytest.param("ollama_prompt_cache_mib", -1, "0", id="llama.cpp's no limit"),
    pytest.param("ollama_environment", [], VARIABLE, id="a list of variables"),
    pytest.param("ollama_environment", {"GGML_API_KEY": "x"}, "a secret", id="a secret"),
    pytest.param("ollama_environment", {"OLLAMA_DEBUGG": 1}, "OLLAMA_DEBUG?", id="a typo"),
    pytest.param("ollama_environment", {"PATH": "/"}, "knows no 'PATH'", id="not Ollama's"),
    pytest.param("ollama_environment", {"LD_PRELOAD": "x"}, "knows no", id="a library"),
    pytest.param("ollama_environment", {"OLLAMA_VULKAN": True}, "ollama_backend", id="a setting's"),
    pytest.param("ollama_environment", {"GGML_A=B": "1"}, "knows no", id="an equals sign"),
    pytest.param("ollama_environment", {"GGML_A: 1\nx": "1"}, "knows no", id="YAML in a name"),
    pytest.param("ollama_environment", {1: 1}, VARIABLE, id="a number for a name"),
    pytest.param("ollama_environment", {"OLLAMA_NOPRUNE": "off"}, "takes True or False", id="off"),
    pytest.param(
        "ollama_environment", {"OLLAMA_NOPRUNE": 1}, "takes True or False", id="1 for a bool"
    ),
    pytest.param(
        "ollama_environment", {"OLLAMA_MAX_QUEUE": "9"}, "takes a whole number", id="text"
    ),
    pytest.param("ollama_environment", {"OLLAMA_MAX_QUEUE": -1}, "takes a whole number", id="-1"),
    pytest.param(
        "ollama_environment", {"OLLAMA_MAX_QUEUE": 2**64}, "takes a whole number", id="2**64"
    ),
    pytest.param("ollama_environment", {"OLLAMA_MAX_QUEUE": 10**5000}, "number", id="10**5000"),
    pytest.param("ollama_environment", {"GGML_A": True}, "takes a text", id="yes for a text"),
    pytest.param("ollama_environment", {"GGML_A": 1.5}, VARIABLE, id="a float"),
    pytest.param("ollama_environment", {"GGML_A": None}, VARIABLE, id="no value"),
    pytest.param("ollama_environment", {"GGML_A": "$HOME"}, "no $", id="what compose replaces"),
    pytest.param("ollama_environment", {"GGML_A": "a\nb"}, "printable", id="two lines"),
    pytest.param("ollama_environment", {"GGML_A": "\x85"}, "printable", id="YAML's line end"),
    pytest.param(
        "ollama_environment", {"GGML_A": "\U0001f600"}, "printable", id="two UTF-16 units"
    ),
    pytest.param("ollama_environment", {"GGML_A": "\udc80"}, "printable", id="half a character"),
    pytest.param("models_list", {"name": "a"}, "Models", id="one model for a list"),
    pytest.param("models_list", ["qwen3"], "Models", id="a name for a model"),
    pytest.param("models_list", [{}], "name", id="a model without a name"),
    pytest.param("models_list", [{"name": ""}], "no such name", id="an empty name"),
    pytest.param("models_list", [{"name": "..:.."}], "no such name", id="a path upwards"),
    pytest.param("models_list", [{"name": "../a"}], "no such name", id="another path upwards"),
    pytest.param("models_list", [{"name": "a.b/c"}], "no such name", id="a registry for a user"),
    pytest.param("models_list", [{"name": "-x"}], "no such name", id="an option of ollama"),
    pytest.param("models_list", [{"name": "a:b:c"}], "no such name", id="two tags"),
    pytest.param("models_list", [{"name": "a$(id)"}], "no such name", id="a command in a name"),
    pytest.param("models_list", [{"name": "a'b"}], "no such name", id="a quote in a model's name"),
    pytest.param("models_list", [{"name": "a\n"}], "no such name", id="a model and a line end"),
    pytest.param("models_list", [{"name": f"a@sha256:{DIGEST}"}], "no such", id="digest in a name"),
    pytest.param("models_list", [{"name": "a" * 81}], "no such name", id="81 letters"),
    pytest.param("models_list", [{"name": "a"}, {"name": "a"}], "twice", id="a model twice"),
    pytest.param("models_list", [{"name": "a"}, {"name": "a:latest"}], "twice", id="twice, by tag"),
    pytest.param(
        "models_list", [{"name": "a"}, {"name": "library/A"}], "twice", id="twice, at length"
    ),
    pytest.param("models_list", model(digest=DIGEST[:-1]), "64 hex", id="63 hex digits"),
    pytest.param("models_list", model(digest=DIGEST.upper()), "64 hex", id="capital hex digits"),
    pytest.param("models_list", model(digest="sha256:"), "64 hex", id="no hex digits"),
    pytest.param("models_list", model(preload="yes"), "preload", id="yes to preload"),
    pytest.param("models_list", model(kv_bytes_per_token=0), "kv_bytes", id="no bytes"),
    pytest.param("models_list", model(kv_bytes_per_token=1.5), "kv_bytes", id="half a byte"),
    pytest.param("models_list", model(size=1), "size", id="an unknown member"),
    pytest.param("models_list", parameters(num_bach=1), "num_batch?", id="a typo in an option"),
    pytest.param(
        "models_list", parameters(num_batch="512"), "a whole number", id="an option as text"
    ),
    pytest.param(
        "models_list", parameters(num_batch=True), "a whole number", id="yes to an option"
    ),
    pytest.param(
        "models_list", parameters(num_batch=512.0), "a whole number", id="a float for an int"
    ),
    pytest.param("models_list", parameters(num_ctx=2**31), "2147483647", id="more than an int32"),
    pytest.param("models_list", parameters(num_ctx=10**5000), "2147483647", id="a huge option"),
    pytest.param("models_list", parameters(temperature=float("nan")), "takes a number", id="NaN"),
    pytest.param("models_list", parameters(top_p=float("inf")), "takes a number", id="infinity"),
    pytest.param("models_list", parameters(use_mmap=1), "True or False", id="1 for a bool option"),
    pytest.param("models_list", parameters(stop="x"), "a list of texts", id="one stop for a list"),
    pytest.param("models_list", parameters(stop=[1]), "a list of texts", id="a number to stop at"),
    *[
        pytest.param(
            "models_list", parameters(**{name: value}), f"{name} takes", id=f"{name} {value}"
        )
        for name, value in (
            *[(name, -1) for name in ("num_batch", "num_ctx", "num_thread", "top_k", "main_gpu")],
            *[("num_batch", 0), ("num_batch", -512), ("num_gpu", -2), ("num_predict", -3)],
            *[("temperature", -0.1), ("top_p", 1.5), ("top_p", 95), ("mirostat", 3), ("seed", -2)],
        )
    ],
    pytest.param("models_list", parameters(stop=["\udc80"]), "half a", id="half a stop"),
    *[
        pytest.param("mirror_address", text, "no such address or name", id=f"mirror at {text}")
        for text in (
            *("192.0.2.256", "192.0.2", "0.0.0.0", "224.0.0.1", "fd00::1"),
            *("255.255.255.255", "192.0.2.2:5000"),
            *("Mirror.lan", "mirror lan", "https://mirror.lan", "mirror.lan.", "-a", "a" * 64),
        )
    ],
    pytest.param("mirror_serve", True, "needs mirror_address", id="a mirror nowhere"),
    pytest.param("mirror_parts", ["wheels"], "Any of apt, images, models", id="no such part"),
    pytest.param("mirror_files_port", 5000, "has that port", id="both at one port"),
    pytest.param("mirror_registry_port", 0, "1 to 65535", id="no port"),
    pytest.param("mirror_downloads", 0, "1 to 1000", id="nobody is served"),
    pytest.param("host_roles", ["mirrors"], "roles", id="an unknown role"),
    pytest.param("host_roles", "kernel", "roles", id="one role for a list"),
    pytest.param("host_reboot_timeout_s", 9, "10 to 7200", id="too short"),
    pytest.param("host_reboot_timeout_s", "600", "10 to 7200", id="seconds as text"),
    pytest.param("host_command_timeout_s", 0, "10 to 86400", id="no time for a command"),
    pytest.param("host_pull_timeout_s", 604801, "10 to 604800", id="over a week for a pull"),
]


@pytest.mark.parametrize(("key", "value", "told"), WRONG)
def test_what_is_not_allowed_says_what_is(key: str, value: object, told: str) -> None:
    (problem,) = problems(**{key: value})
    assert (problem.host, problem.key) == ("box1", key)
    assert problem.sentence.startswith(key)
    assert told in problem.sentence
    assert len(problem.sentence) < 400
    assert "\n" not in problem.sentence


def meaning(key: str) -> str:
    """What a setting of a role may be."""
    return next(words[key] for role in roles.names() if key in (words := roles.descriptions(role)))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        pytest.param(
            "models_list",
            parameters(num_bach=1, num_ctxx=2, num_gpu=0),
            ["'num_bach' (num_batch?)", "'num_ctxx' (num_ctx?)"],
            id="options",
        ),
        pytest.param(
            "kernel_extra_args", ["a b", "ok", "ro"], ["'a b' is", "'ro' is"], id="kernel"
        ),
        pytest.param(
            "kernel_remove_args", ["a=1", "root"], ["'a=1' is", "'root' is"], id="removed"
        ),
        pytest.param("docker_no_proxy", ["a,b", "c d"], ["'a,b' is", "'c d' is"], id="no proxy"),
        pytest.param("ollama_allow_from", ["a", "::/0"], ["'a' is", "'::/0' is"], id="networks"),
        pytest.param(
            "ollama_environment",
            {"OLLAMA_DEBUGG": 1, "OLLAMA_NOPRUNE": [1]},
            ["OLLAMA_DEBUG?", "OLLAMA_NOPRUNE takes True or False"],
            id="variables",
        ),
        pytest.param(
            "models_list", [{"name": name} for name in "aabbc"], ["a:latest st", "b:l"], id="twice"
        ),
    ],
)
def test_all_that_is_wrong_in_a_value_is_told_before_what_is_allowed(
    key: str, value: object, told: list[str]
) -> None:
    (problem,) = problems(**{key: value})
    where, _, words = problem.sentence.partition(": ")
    assert where.startswith(f"{key}")
    places = [words.index(part) for part in (*told, f" ({meaning(key)})")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", OWN_VARIABLES)
def test_a_variable_that_a_setting_speaks_for_names_it(name: str) -> None:
    (problem,) = problems(ollama_environment={name: 1})
    assert f"{name} has a setting of its own: {OWN_VARIABLES[name]}" in problem.sentence


def test_the_image_and_the_backend_go_together() -> None:
    assert problems(ollama_image=ROCM, ollama_backend="rocm") == []
    (problem,) = problems(ollama_image=ROCM)
    assert problem.key == "ollama_backend"
    assert "not in the image 0.34.4-rocm" in problem.sentence


@pytest.mark.parametrize("kind", ["q8_0", "q4_0"])
def test_a_small_kv_cache_needs_flash_attention(kind: str) -> None:
    (problem,) = problems(ollama_kv_cache_type=kind, ollama_flash_attention="off")
    assert problem.key == "ollama_kv_cache_type"
    assert "it needs flash attention, and ollama_flash_attention is off" in problem.sentence
    for attention in ("auto", "on"):
        assert problems(ollama_kv_cache_type=kind, ollama_flash_attention=attention) == []
    assert problems(ollama_flash_attention="off") == []


@pytest.mark.parametrize("keep", [0, "0s", "0h0.0m"])
def test_what_is_preloaded_must_stay(keep: int | str) -> None:
    (problem,) = problems(ollama_keep_alive=keep, models_list=model(preload=True))
    assert problem.key == "ollama_keep_alive"
    assert problem.sentence == (
        f"ollama_keep_alive is {json.dumps(keep)}: qwen3.6:35b-a3b (preload) would be gone at "
        "once; -1 keeps it"
    )
    assert problems(ollama_keep_alive=keep, models_list=model(preload=False)) == []


@pytest.mark.parametrize("keep", [-1, 1, "0.5s", "10m"])
def test_what_is_preloaded_may_stay_for_a_while(keep: int | str) -> None:
    assert problems(ollama_keep_alive=keep, models_list=model(preload=True)) == []


@pytest.mark.parametrize("listen", [LOOPBACK6, "[::]:11434"])
def test_an_ipv6_port_cannot_be_guarded_and_is_refused_with_networks(listen: str) -> None:
    (problem,) = problems(ollama_listen=listen, ollama_allow_from=["192.0.2.0/24"])
    assert problem.key == "ollama_allow_from"
    assert "IPv4" in problem.sentence


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("qwen3", "qwen3:latest"),
        ("library/qwen3:8b", "qwen3:8b"),
        ("registry.ollama.ai/library/qwen3", "qwen3:latest"),
        ("user/m", "user/m:latest"),
        ("hf.co/u/m:Q4", "hf.co/u/m:Q4"),
    ],
)
def test_a_model_is_called_as_ollama_shows_it(typed: str, name: str) -> None:
    assert settings(models_list=[{"name": typed}]).models.models_list[0].name == name


def test_a_digest_may_be_pasted_with_or_without_its_prefix() -> None:
    plain, prefixed = (
        settings(models_list=model(digest=text)).models.models_list[0].digest
        for text in (DIGEST, f"sha256:{DIGEST}")
    )
    assert plain == prefixed == DIGEST


@pytest.mark.parametrize("name", [*environment.VARIABLES, "GGML_VK_VISIBLE_DEVICES"])
def test_no_variable_takes_what_ollama_would_misread(name: str) -> None:
    """`off` is true to Ollama: of texts, only a variable that is text takes it."""
    text = environment.VARIABLES.get(name, environment.TEXT) == environment.TEXT
    assert environment.fits(name, "off") == text
    assert not environment.fits(name, None)
    assert not environment.fits(name, 1.0)


def test_a_bool_is_written_as_ollama_reads_it() -> None:
    assert [environment.written(value) for value in (True, False, 0, 7, "x")] == list("1007x")


# Whatever is allowed arrives as that value, and brings nothing with it.

TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("aA0.:/-_@%$\"'\\#{}[]()&;*?!<>| \n\r\t\0\x85\u2028\udc80,=~`^"), max_size=12
)
ADDRESSES = st.builds(
    "".join, st.tuples(st.sampled_from(["", "http://", "http://a", "127.0.0.1"]), TEXT)
)
VALUES = TEXT | ADDRESSES
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | VALUES
NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
MODEL = st.fixed_dictionaries(
    {"name": VALUES},
    optional={
        "digest": SCALARS,
        "preload": SCALARS,
        "kv_bytes_per_token": SCALARS,
        "parameters": st.dictionaries(st.sampled_from(sorted(OPTIONS)) | TEXT, NESTED, max_size=3),
    },
)
NAMES = st.sampled_from([*environment.VARIABLES, "GGML_A", "LLAMA_ARG_B"]) | TEXT
DATA: dict[str, st.SearchStrategy[Any]] = {
    "vulkan_packages": st.lists(VALUES, max_size=2),
    "vulkan_users": st.lists(VALUES, max_size=2),
    "docker_data_root": VALUES,
    "docker_proxy": VALUES,
    "docker_no_proxy": st.lists(VALUES, max_size=2),
    "docker_site_ca": VALUES | st.builds(PEM.replace, st.just("MAMCAQE="), VALUES),
    "ollama_image": VALUES,
    "ollama_listen": VALUES,
    "ollama_allow_from": st.lists(VALUES, max_size=2),
    "ollama_project": VALUES,
    "ollama_container_name": VALUES,
    "ollama_volume": VALUES,
    "ollama_keep_alive": SCALARS,
    "ollama_environment": st.dictionaries(NAMES, SCALARS, max_size=3),
    "models_list": st.lists(MODEL, max_size=2),
    "host_roles": st.lists(VALUES, max_size=2),
}


@given(st.fixed_dictionaries({}, optional={**DATA, "ollama_backend": NESTED}))
def test_no_data_makes_it_raise(data: dict[str, object]) -> None:
    resolved, found = resolve("box1", data)
    assert (resolved is None) == bool(found)
    assert all("\n" not in problem.sentence for problem in found)


few = hypothesis.settings(max_examples=30)


def pieces(*texts: str) -> st.SearchStrategy[str]:
    """Texts made of these pieces, some of them right."""
    return st.lists(st.sampled_from(texts), max_size=4).map("".join)


FACTS = host_facts()
ENVIRONMENT = st.dictionaries(
    st.sampled_from(["OLLAMA_ORIGINS", "GGML_A", "LLAMA_ARG_B"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="$")),
)


@few
@given(ENVIRONMENT)
def test_a_variable_arrives_in_the_container_as_it_was_written(variables: dict[str, str]) -> None:
    derived = derive(settings(ollama_environment=variables), FACTS)
    text = compose.rendered(compose.PATH, derived, FACTS)
    found = yaml.safe_load(text)["services"]["ollama"]
    assert found["environment"] == compose.variables(derived)
    assert found["restart"] == "unless-stopped"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ollama_listen", "0.0.0.0:80"),
        ("ollama_listen", "[2001:db8::1]:11434"),
        ("ollama_project", "0"),
        ("ollama_project", "null"),
        ("ollama_container_name", "on"),
        ("ollama_volume", "1.0"),
        ("ollama_keep_alive", "24h"),
        ("docker_site_ca", PEM),
        ("docker_proxy", "http://[2001:db8::1]:3128"),
        ("docker_no_proxy", ["::1", "*.lan"]),
    ],
)
def test_every_value_of_the_compose_file_is_text_to_yaml(key: str, value: object) -> None:
    asked = settings(**{key: value})
    found = yaml.safe_load(compose.rendered(compose.PATH, derive(asked, FACTS), FACTS))
    service = found["services"]["ollama"]
    assert (found["name"], service["image"], service["container_name"]) == (
        asked.ollama.ollama_project,
        asked.ollama.ollama_image,
        asked.ollama.ollama_container_name,
    )
    assert service["ports"] == [f"{asked.ollama.ollama_listen}:11434"]
    assert service["volumes"][0] == "ollama:/root/.ollama"
    assert all(isinstance(text, str) for text in service["environment"].values())
    assert all(re.fullmatch(r"[0-9]+", group) for group in service["group_add"])


PLACES = pieces("a", "Z9", ".a", "*", "*.", "::1", "/8", "/", "//", "-", "[", "%", '"', "{", ";")


@few
@given(st.lists(PLACES, max_size=3))
def test_a_proxys_files_have_the_form_of_their_readers(tried: list[str]) -> None:
    places = [place for place in tried if not problems(docker_no_proxy=[place])]
    proxy = "http://proxy.example:3128"
    values = docker.values(
        derive(settings(docker_proxy=proxy, docker_no_proxy=places), FACTS), FACTS
    )
    unit = roles.render("docker", docker.PROXY_DROP_IN, values)
    assert unit.splitlines()[-1] == f'Environment="NO_PROXY={",".join(dict.fromkeys(places))}"'
    assert all(
        re.fullmatch(r'#.*|\[Service\]|Environment="[^"%\\]*"', x) for x in unit.splitlines()
    )
    apt = roles.render("docker", docker.APT_PROXY, values)
    option = r'Acquire::https?::Proxy(::[A-Za-z0-9.-]+)? "(DIRECT|[A-Za-z0-9:/.\[\]-]+)";'
    assert all(re.fullmatch(rf"//.*|{option}", line) for line in apt.splitlines())


@few
@given(pieces("a", "Z9_", ".", "-", "/b", ":c", "x/y", "'", '"', "$", " ", "\n", ";", "$(id)"))
def test_the_preload_program_has_one_line_for_each_model(name: str) -> None:
    entries = [{"name": name, "preload": True}]
    if problems(models_list=entries):
        return
    derived = derive(settings(models_list=entries, ollama_keep_alive="24h"), FACTS)
    text = roles.render("models", models.PROGRAM, models.values(derived))
    found = re.findall(
        r"^(load|check) ([A-Za-z0-9._/:-]+)( all|(?: '[^']*')*)$", text, re.MULTILINE
    )
    assert [word for word, _, _ in found] == ["load", "check"]


@few
@given(st.lists(pieces("10.0.0.", "0", "/8", "/32", "2001:db8:", ":1", "fe80::", "%a", "$(id)")))
def test_the_ports_rules_hold_nothing_but_networks(tried: list[str]) -> None:
    networks = [network for network in tried if not problems(ollama_allow_from=[network])]
    asked = settings(ollama_listen="192.0.2.10:11434", ollama_allow_from=networks).ollama
    rules = port.rules(asked)
    assert len(rules) == (len(networks) + 1 if networks else 0)
    form = rf"-A {port.CHAIN}( -s [0-9.]+/[0-9]+)? -p tcp -m conntrack [A-Za-z0-9 -]+ -j [A-Z]+"
    assert all(re.fullmatch(form, rule) for rule in rules)
