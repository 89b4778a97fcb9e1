"""The throw-away VM of `apuhost rehearse`: what stands in its state directory.

Its address and keys, and what it pulls from the registries beside it: the stand-in's image and
model by their digests, and the CA that signed the registries' certificate.
"""

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
            "docker_site_ca": _machine.ca.read_text(encoding="ascii"),
            "ollama_image": _machine.image,
            "models_list": [
                {
                    "name": _machine.model,
                    "digest": _machine.model_digest,
                    "parameters": {"num_batch": 256, "num_ctx": 8192},
                    "preload": True,
                },
            ],
        },
    ),
]
