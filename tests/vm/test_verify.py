"""Beyond one look: saved facts, waivers, the last report, a host that judges itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apuhost.rehearsal import machine, ssh
from tests.vm.conftest import CHECKOUT, WHOLE, Lab, Site

ANOTHER_KERNEL = """
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && apt-get install -qy --no-install-recommends linux-image-rt-amd64
release=$(ls /lib/modules | grep rt-amd64)
sed -i "s/^GRUB_DEFAULT=.*/GRUB_DEFAULT='1>Debian GNU\\/Linux, with Linux $release'/" \
  /etc/default/grub
update-grub
"""


def judged(done: "subprocess.CompletedProcess[str]") -> dict[str, dict[str, Any]]:
    """The verdicts of verify --json -, by id."""
    (host,) = json.loads(done.stdout)["hosts"]
    return {verdict["id"]: verdict for verdict in host["verdicts"]}


def test_saved_facts_are_judged_alike_without_the_host(served: Lab, tmp_path: Path) -> None:
    saved = served.apuhost("facts", str(WHOLE), "-o", str(tmp_path / "facts"))
    assert saved.returncode == 0, saved.stderr
    live = served.apuhost("verify", str(WHOLE), "--json", "-", APUHOST_STATE=str(tmp_path))
    machine.kill(served.machine)
    later = served.apuhost("verify", "--from", str(tmp_path / "facts"), "--json", "-")
    assert live.returncode == later.returncode == 0
    assert judged(later) == judged(live)


def test_a_waiver_holds_until_its_day(served: Lab, site: Site) -> None:
    served.root("gpasswd -d operator render")
    waiver = "{'id': 'vulkan.groups', 'reason': 'no logins here', 'until': %r}"
    found = served.verdicts(site(f"'host_waivers': [{waiver % '2999-12-31'}]"))["vulkan.groups"]
    assert (found["status"], found["until"]) == ("waived", "2999-12-31")
    found = served.verdicts(site(f"'host_waivers': [{waiver % '2020-01-31'}]"))["vulkan.groups"]
    assert (found["status"], found["layer"]) == ("fail", "configured")


@pytest.mark.long
def test_another_kernel_since_the_last_report_is_told(served: Lab, tmp_path: Path) -> None:
    state = str(tmp_path)
    before = served.apuhost("verify", str(WHOLE), "--json", "-", APUHOST_STATE=state)
    assert judged(before)["boot.unchanged"]["status"] != "fail"
    running = served.root("uname -r")
    served.root(ANOTHER_KERNEL)
    served.reboot()
    now = served.root("uname -r")
    assert now != running
    served.root("systemctl is-system-running --wait || true")
    after = served.apuhost("verify", str(WHOLE), "--json", "-", APUHOST_STATE=state)
    told = judged(after)["boot.unchanged"]
    assert told["status"] == "fail"
    assert running in told["observed"] + told["evidence"]
    assert now in told["observed"] + told["evidence"]


@pytest.mark.long
def test_a_host_that_judges_itself_is_read_without_the_controller(
    served: Lab, site: Site, tmp_path: Path
) -> None:
    installed(served, tmp_path)
    done = served.deploy(site("'boot_checkout': '/opt/apuhost'"))
    assert done.returncode == 0, done.stdout + done.stderr
    served.root("gpasswd -d operator render")
    served.reboot()
    served.root("systemctl is-system-running --wait || true")
    told = json.loads(served.root("cat /var/lib/apuhost/report.json"))
    (host,) = told["hosts"]
    assert [each["id"] for each in host["verdicts"] if each["status"] == "fail"] == [
        "vulkan.groups"
    ]
    assert "1 failed (vulkan.groups), " in served.root("cat /run/motd.d/apuhost")


def installed(lab: Lab, folder: Path) -> None:
    """This checkout on the machine, made there as the README says, its wheels brought along."""
    python = lab.root("python3 -c 'import sys; print(*sys.version_info[:2], sep=\".\")'")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"),
            *("--only-binary=:all:", "--python-version", python),
            *("--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64"),
            *("--dest", str(folder / "wheels"), "-r", str(CHECKOUT / "requirements.lock")),
        ],
        check=True,
    )
    left_out = [f"--exclude=./{name}" for name in (".venv", ".git", ".mypy_cache", ".ruff_cache")]
    packed = subprocess.run(
        ["tar", "-c", "-C", str(CHECKOUT), *left_out, ".", "-C", str(folder), "./wheels"],
        stdout=subprocess.PIPE,
        check=True,
    )
    unpack = "mkdir -p /opt/apuhost && tar -x --no-same-owner -C /opt/apuhost"
    subprocess.run(
        ssh.batch_command(lab.machine, ["sudo", "sh", "-c", unpack]),
        input=packed.stdout,
        check=True,
    )
    lab.root(
        "export DEBIAN_FRONTEND=noninteractive && apt-get update -q && "
        "apt-get install -qy --no-install-recommends make python3-venv && "
        "PIP_NO_INDEX=1 PIP_FIND_LINKS=/opt/apuhost/wheels make -C /opt/apuhost install"
    )
