"""What goes wrong while the stack is set up is said, loses nothing, and a repeat is enough."""

import shlex
from pathlib import Path

import pytest

from tests.vm.conftest import WHOLE, Lab, Site
from tests.vm.test_interruption import kill_at
from tests.vm.test_stack import RUNNER

pytestmark = pytest.mark.long

OPERATIONS = (
    "network | trusted certificates",
    "vulkan | Vulkan and GPU firmware",
    "docker | Docker",
    "docker | Docker runs",
    "reboot",
    "ollama | image",
    "ollama | container",
    "models | models",
    "models | models are loaded",
)

# The registries are at the VM's gateway, and so is whoever is logged in by ssh.
NO_NETWORK = """
iptables -I OUTPUT -d 10.0.2.2 -p tcp ! --sport 22 -j REJECT
iptables -I FORWARD -d 10.0.2.2 -j REJECT
"""
NETWORK = NO_NETWORK.replace("-I", "-D")
WHEN_PULLING = "until pgrep -f '^docker pull'; do sleep 0.1; done; sleep 1" + NO_NETWORK

FORGET_MODELS = "rm -r /var/lib/docker/volumes/ollama/_data/models/*"


def test_a_run_killed_at_every_operation_of_the_stack_then_repeated(bare: Lab) -> None:
    for operation in OPERATIONS:
        before = bare.boot_id()
        kill_at(bare, operation, 1.5, WHOLE)
        if operation == "reboot":
            bare.wait_for_another_boot(before)
        # What began on the machine goes on there; a run that finds apt at work is refused.
        bare.root("flock -w 300 /run/apuhost.lock true")
    done = bare.deploy(WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert bare.wrong(WHOLE) == {}
    assert "nothing to change" in bare.apuhost("plan", str(WHOLE)).stdout


def test_a_setup_that_meets_no_network_and_no_room_is_finished_by_a_repeat(served: Lab) -> None:
    served.root("docker rm --force ollama && docker image prune --all --force")
    served.root(FORGET_MODELS)
    served.root(f"nohup sh -c {shlex.quote(WHEN_PULLING)} >/dev/null 2>&1 &")
    ends(served, WHOLE, served.machine.image.partition("@")[2])
    served.root(NETWORK)
    models = f"-p tcp -d 10.0.2.2 --dport {served.machine.models_port} -j REJECT"
    served.root(f"iptables -I OUTPUT {models}")
    ends(served, WHOLE, f"10.0.2.2:{served.machine.models_port}")
    served.root(f"iptables -D OUTPUT {models}")
    served.root("fallocate -l $(($(df --output=avail -B1 / | tail -n 1) - 1000000)) /full")
    ends(served, WHOLE, "free")
    served.root("rm /full")
    done = served.deploy(WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.wrong(WHOLE) == {}


def ends(lab: Lab, inventory: Path, words: str) -> None:
    """The deploy fails with these words."""
    done = lab.deploy(inventory)
    assert done.returncode != 0
    assert words in done.stdout + done.stderr, done.stdout + done.stderr


def test_what_cannot_be_had_leaves_what_serves_as_it_is(served: Lab, site: Site) -> None:
    """A registry with another model, one without the image, a port that another program has."""
    running = "docker inspect -f '{{.Id}} {{.State.StartedAt}}' ollama"
    before = served.root(running)
    wanted = "'models_list': [{**data['models_list'][0], 'digest': 'ab' * 32}]"
    ends(served, site(wanted), "pinned is abab")
    wanted = "'ollama_image': data['ollama_image'].split('@')[0] + '@sha256:' + 'ab' * 32"
    ends(served, site(wanted), "manifest unknown")
    served.root("nohup python3 -m http.server --bind 127.0.0.1 11500 >/dev/null 2>&1 &")
    ends(served, site("'ollama_listen': '127.0.0.1:11500'"), "port 11500 is taken")
    assert served.root(running) == before
    assert served.wrong(WHOLE) == {}


def test_a_render_group_that_an_upgrade_renumbered_is_followed(served: Lab) -> None:
    served.root(
        "groupmod -g 1999 render && systemctl restart systemd-udevd && "
        "udevadm trigger --settle --action=add --subsystem-match=drm"
    )
    assert served.wrong(WHOLE)["ollama.container"] == "configured"
    done = served.deploy(WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1999" in served.root("docker inspect -f '{{.HostConfig.GroupAdd}}' ollama")


def test_user_namespaces_are_kept(served: Lab) -> None:
    """The daemon has a store of its own for remapped users: images and volumes come anew."""
    served.root(
        "docker stop ollama && "  # live-restore would let it run on in the store of before
        'python3 -c \'import json; p = "/etc/docker/daemon.json"; d = json.load(open(p)); '
        'd["userns-remap"] = "default"; json.dump(d, open(p, "w"))\' && systemctl restart docker'
    )
    done = served.deploy(WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "name=userns" in served.root("docker info -f '{{.SecurityOptions}}'")
    assert " -b 256 -ub 256" in served.root(RUNNER)
    assert "nothing to change" in served.apuhost("plan", str(WHOLE)).stdout
