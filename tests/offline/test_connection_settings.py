"""Connection keys that cannot be right are told before any contact, each in one line."""

import pytest

from apuhost.settings import resolve
from apuhost.settings.connection import CONNECTION_DESCRIPTIONS, PYINFRA_KEYS, ConnectionSettings


def sentences(**data: object) -> list[str]:
    return [problem.sentence for problem in resolve("box1", data)[1]]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ssh_hostname", "192.0.2.10"),
        ("ssh_hostname", "fe80::1%eth0"),
        ("ssh_hostname", "bøx.example"),
        ("ssh_port", 1),
        ("ssh_port", 65535),
        ("ssh_user", "admin"),
        ("ssh_key", "~/.ssh/my key"),
        ("ssh_password", ""),
        ("ssh_strict_host_key_checking", "no"),
        ("ssh_connect_retry_min_delay", 1),
        ("_sudo", False),
        ("_sudo_password", None),
        ("_sudo_password", "right horse"),
        ("_su_user", None),
        ("_doas", False),
        ("_timeout", "pyinfra's own business"),
    ],
)
def test_what_is_allowed(key: str, value: object) -> None:
    assert sentences(**{key: value}) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        *[
            pytest.param("ssh_port", value, "1 to 65535", id=f"port {value!r}")
            for value in ("22", None, 22.5, 22.0, [22], -1, 0, 65536, True)
        ],
        pytest.param("ssh_hostname", 127, "an address or a name", id="a number for a name"),
        pytest.param("ssh_hostname", "", "an address or a name", id="no name"),
        pytest.param("ssh_hostname", "-oProxyCommand=x", "an address", id="an option of ssh"),
        pytest.param("ssh_hostname", "admin@box1", "without user@", id="a user before it"),
        pytest.param("ssh_hostname", "box 1", "an address", id="a blank"),
        pytest.param("ssh_user", 5, "as text", id="a number for a user"),
        pytest.param("ssh_user", "", "as text", id="no user"),
        pytest.param("ssh_user", "a\nb", "as text", id="a line end"),
        pytest.param("ssh_user", "-oProxyCommand=x", "as text", id="an option for a user"),
        pytest.param("ssh_key", ["~/.ssh/id"], "as text", id="a list of keys"),
        pytest.param("ssh_key", "\udc80", "as text", id="half a character"),
        pytest.param("ssh_key", "a\0b", "as text", id="a NUL byte"),
        pytest.param("ssh_known_hosts_file", 3, "as text", id="a number for known_hosts"),
        pytest.param("ssh_config_file", False, "as text", id="no ssh config"),
        pytest.param("ssh_strict_host_key_checking", True, "as text", id="strict, but no text"),
        pytest.param("ssh_forward_agent", "yes", "True or False", id="a word for yes"),
        pytest.param("ssh_paramiko_connect_kwargs", [1], "keywords", id="a list for keywords"),
        pytest.param("_sudo", "no", "True (become root", id="a word for no: it would mean yes"),
        pytest.param("_sudo", 1, "True (become root", id="a number for yes"),
        pytest.param("_sudo_user", "admin", "not used", id="another user by sudo"),
        pytest.param("_use_sudo_login", True, "not used", id="a login shell"),
        pytest.param("_su_user", "root", "log in as root, or set _sudo", id="su"),
        pytest.param("_doas", True, "log in as root, or set _sudo", id="doas"),
        pytest.param("_dzdo_user", "root", "log in as root, or set _sudo", id="dzdo"),
    ],
)
def test_what_is_not_allowed_says_what_is(key: str, value: object, told: str) -> None:
    (sentence,) = sentences(**{key: value})
    assert sentence.startswith(f"{key} is ")
    assert told in sentence.partition(": ")[2]
    assert "\n" not in sentence


LONG = "a" * 63


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("127.0.0.1:1", 'write "ssh_hostname": "127.0.0.1", "ssh_port": 1 ('),
        ("box1:22", 'write "ssh_hostname": "box1", "ssh_port": 22 ('),
        ("[2001:db8::1]:22", 'write "ssh_hostname": "2001:db8::1", "ssh_port": 22 ('),
        ("[2001:db8::1]", 'write "ssh_hostname": "2001:db8::1" ('),
        ("admin@box1", 'write "ssh_hostname": "box1", "ssh_user": "admin" ('),
        ("admin@box1:22", '"ssh_hostname": "box1", "ssh_user": "admin", "ssh_port": 22 ('),
        ("ssh://admin@box1:22", '"box1", "ssh_user": "admin", "ssh_port": 22 ('),
        ("https://box1.example/x?y", 'write "ssh_hostname": "box1.example" ('),
        (" box1", 'write "ssh_hostname": "box1" ('),
        ("box1\n", 'write "ssh_hostname": "box1" ('),
        ("box 1", "letters, digits"),
        ("192.0.2.0/24", "letters, digits"),
        ("box1:ssh", "letters, digits"),
        ("a..b", "letters, digits"),
        ("$(reboot)", "letters, digits"),
        (f"{LONG}a", "up to 63 between two dots"),
        (f"{LONG}.{LONG}.{LONG}.{LONG}", "250 in all"),
    ],
)
def test_a_hostname_is_told_which_key_takes_the_rest(value: str, told: str) -> None:
    (sentence,) = sentences(ssh_hostname=value)
    assert sentence.startswith("ssh_hostname is ")
    assert told in sentence


@pytest.mark.parametrize("value", ["box_1", "box1.example.", "::1", "fe80::1%eth0", LONG])
def test_what_ssh_takes_for_a_host_is_taken(value: str) -> None:
    assert sentences(ssh_hostname=value) == []


def test_a_password_before_a_hostname_is_not_told() -> None:
    (sentence,) = sentences(ssh_hostname="ssh://admin:hush@box1")
    assert "hush" not in sentence


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("_sudo_password", 5551234, "a number"),
        ("_sudo_password", ["hush"], "a list"),
        ("_sudo_password", {"hush": 1}, "names with values"),
        ("ssh_password", "hush", "a text"),
        ("ssh_password", b"hush", "no text"),
        ("ssh_key_password", True, "True or False"),
    ],
)
def test_a_wrong_secret_is_named_and_not_shown(key: str, value: object, kind: str) -> None:
    (sentence,) = sentences(**{key: value})
    assert sentence.startswith(f"{key} is {kind}: ")
    assert not any(secret in sentence for secret in ("5551234", "hush"))


def test_all_wrong_keys_are_told_at_once() -> None:
    assert len(sentences(ssh_port="22", ssh_user=5, _sudo="no", kernel_gtt_gib="lots")) == 4


def test_every_key_that_is_judged_is_pyinfras_and_described() -> None:
    fields = ConnectionSettings.model_fields
    keys = [field.alias or name for name, field in fields.items()]
    assert keys == list(CONNECTION_DESCRIPTIONS)
    assert set(keys) <= set(PYINFRA_KEYS)
