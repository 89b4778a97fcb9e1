"""Keys of a host that are pyinfra's own: how the host is reached, and how commands run there."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from apuhost.settings import destination
from apuhost.settings.model import MAX_PORT, Model, refuse

# pyinfra's own keys (ConnectorData of its ssh connector and its global arguments): an offline test
# compares them with the installed pyinfra, which is too slow to import here.
PYINFRA_KEYS = tuple(
    """
    ssh_hostname ssh_port ssh_user ssh_password ssh_key ssh_key_password ssh_allow_agent
    ssh_look_for_keys ssh_forward_agent ssh_config_file ssh_known_hosts_file
    ssh_strict_host_key_checking ssh_paramiko_connect_kwargs ssh_connect_retries
    ssh_connect_retry_min_delay ssh_connect_retry_max_delay ssh_file_transfer_protocol
    _sudo _sudo_user _use_sudo_login _sudo_password _preserve_sudo_env _su_user _use_su_login
    _preserve_su_env _su_shell _su_password _doas _doas_user _dzdo _dzdo_user _shell_executable
    _chdir _env _success_exit_codes _timeout _get_pty _stdin _temp_dir _ignore_errors
    _continue_on_error _if _parallel _run_once _serial _retries _retry_delay _retry_until
    """.split()  # noqa: SIM905  (a list of names, not of strings)
)

SECRETS = frozenset({"ssh_password", "ssh_key_password", "_sudo_password"})


def _hostname(value: str) -> str:
    refuse([destination.why_no_address(value)])
    return value


Hostname = Annotated[str, AfterValidator(_hostname)]
# ssh reads one that begins with - as an option; USER@DOMAIN is a name in a directory service.
Login = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]*$")]
Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$")]
Port = Annotated[int, Field(ge=1, le=MAX_PORT)]
Seconds = Annotated[float, Field(ge=0)]
Unused = Literal["", False] | None

UNSET: Any = None

_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "True or False",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "names with values",
}
"""What a secret is called where it is of the wrong kind."""


class ConnectionSettings(Model):
    """pyinfra's keys that apuhost uses, those of its ssh connector, and those that must be unset.

    It only judges: who connects asks the host's data.
    """

    ssh_hostname: Hostname = UNSET
    ssh_port: Port = UNSET
    ssh_user: Login = UNSET
    ssh_password: Literal[""] = UNSET
    ssh_key: Text = UNSET
    ssh_key_password: Literal["", "a text"] = UNSET
    ssh_allow_agent: bool = UNSET
    ssh_look_for_keys: bool = UNSET
    ssh_forward_agent: bool = UNSET
    ssh_config_file: Text = UNSET
    ssh_known_hosts_file: Text = UNSET
    ssh_strict_host_key_checking: Literal["yes", "accept-new", "ask", "no", "off"] = UNSET
    ssh_paramiko_connect_kwargs: dict[str, Any] = UNSET
    ssh_connect_retries: Annotated[int, Field(ge=0)] = UNSET
    ssh_connect_retry_min_delay: Seconds = UNSET
    ssh_connect_retry_max_delay: Seconds = UNSET
    ssh_file_transfer_protocol: Literal["sftp", "scp"] = UNSET
    sudo: bool = Field(default=UNSET, alias="_sudo")
    sudo_password: Literal["", "a text"] | None = Field(default=UNSET, alias="_sudo_password")
    sudo_user: Unused = Field(default=UNSET, alias="_sudo_user")
    use_sudo_login: Unused = Field(default=UNSET, alias="_use_sudo_login")
    su_user: Unused = Field(default=UNSET, alias="_su_user")
    doas: Unused = Field(default=UNSET, alias="_doas")
    doas_user: Unused = Field(default=UNSET, alias="_doas_user")
    dzdo: Unused = Field(default=UNSET, alias="_dzdo")
    dzdo_user: Unused = Field(default=UNSET, alias="_dzdo_user")


_ROOT = "not used by apuhost: log in as root, or set _sudo = True"

CONNECTION_DESCRIPTIONS: Mapping[str, str] = {
    "ssh_hostname": "an address or a name, without user@ and port",
    "ssh_port": f"a number, 1 to {MAX_PORT}",
    "ssh_user": "the name to log in with, as text: no blank in it, no - before it",
    "ssh_password": "not used by apuhost: set ssh_key, or have the key in an agent",
    "ssh_key": "path of the private key, as text",
    "ssh_key_password": "text",
    "ssh_allow_agent": "True or False",
    "ssh_look_for_keys": "True or False",
    "ssh_forward_agent": "True or False",
    "ssh_config_file": "path of a file like ~/.ssh/config, as text",
    "ssh_known_hosts_file": "path of a file like ~/.ssh/known_hosts, as text",
    "ssh_strict_host_key_checking": "yes, accept-new, ask, no or off, as text",
    "ssh_paramiko_connect_kwargs": 'keywords for paramiko, as {"timeout": 30}',
    "ssh_connect_retries": "a number, 0 or more",
    "ssh_connect_retry_min_delay": "seconds",
    "ssh_connect_retry_max_delay": "seconds",
    "ssh_file_transfer_protocol": "sftp or scp",
    "_sudo": "True (become root by sudo) or False (the login is root's)",
    "_sudo_password": "text, or None",
    "_sudo_user": _ROOT,
    "_use_sudo_login": _ROOT,
    "_su_user": _ROOT,
    "_doas": _ROOT,
    "_doas_user": _ROOT,
    "_dzdo": _ROOT,
    "_dzdo_user": _ROOT,
}
"""What each key that is judged may be, in words."""


def judged(data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that ConnectionSettings judges; of a secret only what kind of value it is."""
    return {
        key: _kind(value) if key in SECRETS else value
        for key, value in data.items()
        if key in CONNECTION_DESCRIPTIONS
    }


def _kind(value: object) -> str | None:
    if value is None or value == "":
        return value
    return _KINDS.get(type(value), "no text")
