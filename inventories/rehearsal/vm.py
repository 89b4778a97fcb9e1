"""The throw-away VM of `apuhost rehearse`: its address and keys stand in its state directory."""

from apuhost.rehearsal import state

_machine = state.load(state.state_directory())

hosts = [
    (
        state.HOST_NAME,
        {
            "ssh_hostname": "127.0.0.1",
            "ssh_port": _machine.port,
            "ssh_user": _machine.user,
            "ssh_key": str(_machine.key),
            "ssh_known_hosts_file": str(_machine.known_hosts),
        },
    ),
]
