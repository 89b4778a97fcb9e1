"""A box that somebody set up by hand is taken over: engine, volume and models stay."""

import base64

import pytest

from tests.vm.conftest import WHOLE, Lab
from tests.vm.test_adoption import BY_HAND
from tests.vm.test_stack import post

pytestmark = pytest.mark.long

FOLDER = "/home/operator/ollama"
COMPOSE = """services:
  ollama:
    image: IMAGE
    container_name: ollama
    restart: unless-stopped
    devices:
      - /dev/dri
    ports:
      - "11434:11434"
    volumes:
      - ollama:/root/.ollama
      - ./site.crt:/etc/ssl/certs/site.crt:ro
    environment:
      OLLAMA_VULKAN: "1"
      OLLAMA_IGPU_ENABLE: "1"
      OLLAMA_KEEP_ALIVE: "-1"
      OLLAMA_NO_CLOUD: "true"
      OLLAMA_CONTEXT_LENGTH: "8192"
volumes:
  ollama:
"""
BY_HAND_LACKS = {
    "docker.daemon_json", "ollama.environment", "ollama.exposure", "ollama.prompt_cache",
    "ollama.runner", "models.loaded", "models.parameters", "models.preload", "boot.unit",
}  # fmt: skip
"""What is not as the inventory asks on such a box; all else verifies as it is."""

# docs/way-back.md: nothing of ours stays but what every box has, packages and an engine.
WAY_BACK = """
cd /etc/systemd/system
systemctl disable --now $(ls apuhost-*.service)
docker compose -f /etc/apuhost/ollama/compose.yaml down
rm apuhost-*.service
systemctl daemon-reload
rm -r /etc/apuhost /usr/local/lib/apuhost /var/lib/apuhost
docker volume rm ollama
rm /etc/docker/daemon.json
systemctl restart docker
rm /etc/default/grub.d/zz-apuhost.cfg
"""
KERNEL = f"""
sed -i 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT="quiet {BY_HAND}"/' \\
  /etc/default/grub
update-grub
"""


def put(lab: Lab, path: str, text: str) -> None:
    """Write a file on the machine."""
    encoded = base64.b64encode(text.encode()).decode()
    lab.root(f"mkdir -p $(dirname {path}) && echo {encoded} | base64 -d >{path}")


@pytest.fixture(scope="module")
def by_hand(lab: Lab, first_serving: object) -> Lab:
    """Parameters in /etc/default/grub, a compose project of the operator's, a model."""
    lab.restore("served")
    lab.root(WAY_BACK)
    lab.root(KERNEL)
    put(lab, f"{FOLDER}/site.crt", lab.machine.ca.read_text())
    put(lab, f"{FOLDER}/docker-compose.yml", COMPOSE.replace("IMAGE", lab.machine.image))
    lab.root(f"cd {FOLDER} && docker compose up -d && sleep 15")
    post(lab, "/api/pull", model=lab.machine.model, stream=False)
    return lab


def test_a_box_set_up_by_hand_is_adopted(by_hand: Lab) -> None:
    weights = "ls -iS /var/lib/docker/volumes/ollama_ollama/_data/models/blobs | head -n 1"
    before = by_hand.root(weights), by_hand.boot_id()
    assert by_hand.wrong(WHOLE).keys() <= BY_HAND_LACKS
    planned = by_hand.apuhost("plan", str(WHOLE)).stdout
    assert "no reboot" in planned
    assert "keeps docker.io" in planned
    assert "keeps volume ollama_ollama with its models" in planned
    assert "11434 is open to every address today" in planned
    assert "image  " not in planned
    assert "manifest kept" in planned
    assert f"{FOLDER}/docker-compose.yml stays" in planned
    done = by_hand.deploy(WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    # The same file: the weights did not come again.
    assert (by_hand.root(weights), by_hand.boot_id()) == before
    assert by_hand.root("docker volume ls -q") == "ollama_ollama"
    ports = by_hand.root("docker port ollama")
    assert ports == "11434/tcp -> 127.0.0.1:11434"
    assert by_hand.root(f"test -f {FOLDER}/docker-compose.yml && echo there") == "there"
    assert "nothing to change" in by_hand.apuhost("plan", str(WHOLE)).stdout
