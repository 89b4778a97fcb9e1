"""Hosts that cannot be reached, trusted or touched: one clear line each, the others go on."""

from pathlib import Path
from typing import Any

import pytest

from apuhost.rehearsal import state
from tests.vm.conftest import INVENTORY, Lab

DROP_IN = "/etc/default/grub.d/zz-apuhost.cfg"


def host_data(lab: Lab, **changed: object) -> dict[str, Any]:
    """What inventories/rehearsal says of the machine, with something else in places."""
    return {
        "_sudo": True,
        "host_roles": ["kernel"],
        "host_simulated": {"memory_gib": 61, "gpu": "1002:1900"},
        "kernel_gtt_gib": 48,
        "ssh_hostname": "127.0.0.1",
        "ssh_key": str(lab.machine.key),
        "ssh_known_hosts_file": str(lab.machine.known_hosts),
        "ssh_paramiko_connect_kwargs": {"banner_timeout": 3, "auth_timeout": 10, "timeout": 5},
        "ssh_port": lab.machine.port,
        "ssh_user": lab.machine.user,
        **changed,
    }


def inventory(folder: Path, **hosts: dict[str, Any]) -> str:
    """An inventory file with these hosts."""
    path = folder / "site.py"
    path.write_text(f"hosts = {list(hosts.items())!r}\n")
    return str(path)


def test_an_unknown_host_key_ends_it(deployed: Lab, tmp_path: Path) -> None:
    (tmp_path / "known_hosts").touch()
    data = host_data(deployed, ssh_known_hosts_file=str(tmp_path / "known_hosts"))
    done = deployed.apuhost("verify", inventory(tmp_path, box=data))
    assert done.returncode == 2
    assert "box  not reached: its host key is not known" in done.stdout
    assert (tmp_path / "known_hosts").read_text() == ""


def test_another_host_key_ends_it(deployed: Lab, tmp_path: Path) -> None:
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHbsNSXzMNWFYK8Cdq8/dTF0uFYKRWNjqwDuZlbb1Yi5"
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{deployed.machine.port} {other}\n")
    data = host_data(deployed, ssh_known_hosts_file=str(known))
    done = deployed.apuhost("plan", inventory(tmp_path, box=data))
    assert done.returncode == 2
    assert "its host key is another than the known one" in done.stdout


def test_a_host_that_is_switched_off_does_not_stop_the_others(
    deployed: Lab, tmp_path: Path
) -> None:
    site = inventory(tmp_path, off=host_data(deployed, ssh_port=1), on=host_data(deployed))
    done = deployed.apuhost("deploy", "-y", site)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "off  not reached: connection refused" in done.stdout
    assert "on  nothing to change" in done.stdout


def test_a_refused_host_is_left_alone_and_the_other_is_done(deployed: Lab, tmp_path: Path) -> None:
    deployed.root(f"rm {DROP_IN}")
    site = inventory(
        tmp_path, good=host_data(deployed), greedy=host_data(deployed, kernel_gtt_gib=60)
    )
    done = deployed.apuhost("deploy", "-y", site)
    assert done.returncode == 1
    assert "greedy  refused: kernel_gtt_gib 60 of 61.0 GiB leaves the system 1.0 GiB" in done.stdout
    assert "ttm.pages_limit=12582912" in deployed.root(f"cat {DROP_IN}")


@pytest.mark.long
def test_pyinfra_alone_fails_the_refused_host_and_does_the_other(
    deployed: Lab, tmp_path: Path
) -> None:
    deployed.root(f"rm {DROP_IN}")
    site = inventory(
        tmp_path, good=host_data(deployed), greedy=host_data(deployed, kernel_gtt_gib=60)
    )
    done = deployed.pyinfra("-y", inventory=site)
    assert done.returncode == 1
    assert "leaves the system 1.0 GiB" in done.stderr
    assert "ttm.pages_limit=12582912" in deployed.root(f"cat {DROP_IN}")


def test_sudo_that_asks(deployed: Lab, tmp_path: Path) -> None:
    user = deployed.machine.user
    deployed.root(f"echo '{user}:right horse' | chpasswd")
    deployed.root(f"echo '{user} ALL=(ALL) ALL' > /etc/sudoers.d/zz-asks")
    asked = deployed.apuhost("verify", inventory(tmp_path, box=host_data(deployed)))
    assert asked.returncode == 2
    assert "sudo asks for a password" in asked.stdout
    wrong = host_data(deployed, _sudo_password="wrong")
    refused = deployed.apuhost("verify", inventory(tmp_path, box=wrong))
    assert "sudo refuses the password" in refused.stdout
    assert "wrong" not in refused.stdout.replace("sudo refuses the password", "")
    right = host_data(deployed, _sudo_password="right horse")
    good = deployed.apuhost("deploy", "-y", inventory(tmp_path, box=right))
    assert good.returncode == 0, good.stdout + good.stderr
    assert "right horse" not in good.stdout + good.stderr
    doctor = deployed.apuhost("doctor", inventory(tmp_path, box=right))
    assert "_sudo_password is set: pyinfra puts it on the host's process list" in doctor.stdout


def test_a_jump_host_of_the_ssh_config_is_used(deployed: Lab, tmp_path: Path) -> None:
    """The machine is its own jump host: inside, its sshd listens on port 22."""
    config = tmp_path / "config"
    known = tmp_path / "known_hosts"
    key = deployed.machine.known_hosts.read_text().split(" ", 1)[1]
    known.write_text(f"inner {key}{deployed.machine.known_hosts.read_text()}127.0.0.1 {key}")
    config.write_text(
        f"Host jump\n HostName 127.0.0.1\n Port {deployed.machine.port}\n"
        "Host inner\n HostName 127.0.0.1\n Port 22\n ProxyJump jump\n"
        f"Host *\n User {deployed.machine.user}\n IdentityFile {deployed.machine.key}\n"
        f" UserKnownHostsFile {known}\n IdentitiesOnly yes\n"
    )
    data = {
        key: value
        for key, value in host_data(deployed, ssh_config_file=str(config)).items()
        if key not in ("ssh_hostname", "ssh_port", "ssh_user", "ssh_key", "ssh_known_hosts_file")
    }
    deployed.root(f"rm {DROP_IN}")
    done = deployed.apuhost("deploy", "-y", inventory(tmp_path, inner=data))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ttm.pages_limit=12582912" in deployed.root(f"cat {DROP_IN}")


def refused(lab: Lab) -> str:
    """The plan of a host that must not be touched."""
    planned = lab.apuhost("plan", str(INVENTORY))
    assert planned.returncode == 1, planned.stdout
    return planned.stdout


@pytest.mark.long
def test_another_apt_at_work(deployed: Lab) -> None:
    deployed.root(
        "systemd-run --unit=holder python3 -c 'import fcntl, time; "
        'lock = open("/var/lib/dpkg/lock-frontend", "w"); fcntl.lockf(lock, fcntl.LOCK_EX); '
        "time.sleep(600)'; sleep 2"
    )
    assert "refused: another apt or dpkg is at work (process" in refused(deployed)


def test_no_room(deployed: Lab) -> None:
    deployed.root(
        "fallocate -l $(($(df --output=avail -B1 / | tail -n 1) - 20000000)) /var/filler || true"
    )
    assert "MiB free, 64 are needed" in refused(deployed)


@pytest.mark.parametrize(
    ("sabotage", "sentence"),
    [
        pytest.param(
            "sed -i s/^ID=.*/ID=fedora/ /etc/os-release", "not Debian or Ubuntu", id="fedora"
        ),
        pytest.param("chmod -x $(command -v grub-mkconfig)", "has no GRUB", id="no grub-mkconfig"),
        pytest.param("touch /etc/kernel/proxmox-boot-uuids", "proxmox-boot-tool", id="proxmox"),
    ],
)
def test_hosts_that_are_not_for_apuhost(deployed: Lab, sabotage: str, sentence: str) -> None:
    deployed.root(sabotage)
    assert sentence in refused(deployed)


@pytest.mark.long
def test_a_host_that_does_not_come_back(bare: Lab, tmp_path: Path) -> None:
    """Its default target is poweroff: the reboot is the last that is seen of it."""
    bare.root("systemctl set-default poweroff.target")
    data = host_data(bare, host_reboot_timeout_s=60)
    done = bare.apuhost("deploy", "-y", inventory(tmp_path, **{state.HOST_NAME: data}))
    assert done.returncode == 1
    assert "did not come back within 60 s: look at its console" in done.stdout
