"""Who reaches Ollama's port: only whom the inventory allows, also after a restart of Docker."""

import pytest

from tests.vm.conftest import Lab, Site

pytestmark = pytest.mark.long

# Two neighbours, each in a network namespace of its own behind the machine.
NEIGHBOURS = """
sysctl -qw net.ipv4.ip_forward=1
for number in 1 2; do
  ip netns add n$number
  ip link add v$number type veth peer name e$number netns n$number
  ip addr add 198.51.100.$((number * 64 + 1))/26 dev v$number
  ip link set v$number up
  ip -n n$number addr add 198.51.100.$((number * 64 + 2))/26 dev e$number
  ip -n n$number link set e$number up
  ip -n n$number route add default via 198.51.100.$((number * 64 + 1))
done
"""
ASK = "exec 3<>/dev/tcp/10.0.2.15/11434 && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"


def reached(lab: Lab, neighbour: int) -> bool:
    """Whether a neighbour gets an answer."""
    asked = f'ip netns exec n{neighbour} timeout 5 bash -c "{ASK}"'
    return "Ollama is running" in lab.root(f"{asked} || true")


@pytest.fixture
def open_to_one(served: Lab, site: Site) -> Lab:
    """The port on the machine's own address, for the first neighbour's network."""
    to_one = "'ollama_listen': '10.0.2.15:11434', 'ollama_allow_from': ['198.51.100.64/26']"
    done = served.deploy(site(to_one))
    assert done.returncode == 0, done.stdout + done.stderr
    served.root(NEIGHBOURS)
    return served


def test_only_who_is_allowed_gets_an_answer(open_to_one: Lab) -> None:
    assert "APUHOST-OLLAMA" in open_to_one.root("iptables -S DOCKER-USER")
    assert (reached(open_to_one, 1), reached(open_to_one, 2)) == (True, False)
    open_to_one.root("systemctl restart docker")
    assert (reached(open_to_one, 1), reached(open_to_one, 2)) == (True, False)
