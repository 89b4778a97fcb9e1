"""A host that is cut off, by the real iptables, in a network namespace of its own."""

import os
import shutil
import subprocess
import sys
from ipaddress import IPv4Address, ip_network
from pathlib import Path

import pytest

from apuhost.changes import cut
from apuhost.changes.cut import Passage
from apuhost.probes import outbound
from apuhost.probes.outbound import CHAIN, Attempt, Outbound

PROGRAMS = ("iptables", "ip6tables", "unshare", "nsenter", "ip", "ss")
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    *(
        pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not here")
        for name in PROGRAMS
    ),
]

PASSAGE = Passage(
    ("docker0",), (IPv4Address("192.0.2.2"),), (5000, 8443), (ip_network("192.0.2.53"),)
)
# Everywhere somebody listens; `ask ADDRESS PORT` says what is answered.
SERVER = """
import selectors, socket, sys
with selectors.DefaultSelector() as waiting:
    for port in map(int, sys.argv[1:]):
        place = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        waiting.register(place, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            key.fileobj.accept()[0].sendall(b"hello")
"""
CLIENT = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 1) as server:
        print(server.recv(5).decode())
except OSError:
    print("nothing")
"""
# Outside there is everybody, below any of these addresses; docker0 leads to a container.
NETWORK = """
unshare -n sleep 90 >/dev/null & container=$!
unshare -n sleep 90 >/dev/null & outside=$!
trap 'kill $container $outside' EXIT
sleep 0.5
ip link set lo up
ip link add name docker0 type veth peer name eth0 netns $container
ip link add name lan0 type veth peer name eth0 netns $outside
in_container="nsenter -t $container -n" in_outside="nsenter -t $outside -n"
ip address add 172.18.0.1/16 dev docker0
ip address add 192.0.2.10/24 dev lan0
ip address add 2001:db8::10/64 dev lan0 nodad
$in_container ip address add 172.18.0.2/16 dev eth0
for address in 192.0.2.1 192.0.2.2 192.0.2.53 198.51.100.7; do
  $in_outside ip address add $address/24 dev eth0
done
$in_outside ip address add 2001:db8::1/64 dev eth0 nodad
for inside in "" "$in_container" "$in_outside"; do $inside ip link set lo up; done
ip link set docker0 up; ip link set lan0 up
$in_container ip link set eth0 up; $in_outside ip link set eth0 up
$in_container ip route add default via 172.18.0.1
ip route add default via 192.0.2.1
echo 1 >/proc/sys/net/ipv4/ip_forward
iptables -t nat -A POSTROUTING -s 172.18.0.0/16 ! -o docker0 -j MASQUERADE
iptables -t nat -A PREROUTING -i lan0 -p tcp --dport 8080 -j DNAT --to-destination 172.18.0.2:80
iptables -A FORWARD -i docker0 -j ACCEPT
"""


class Box:
    """Commands to run one after the other on a host with a container; a failure ends them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in {**cut.files(PASSAGE), "server": SERVER, "client": CLIENT}.items():
            (folder / name.rpartition("/")[2]).write_text(text)
        program = f"{sys.executable} {folder}/server"
        self.commands = [
            NETWORK,
            f"{program} 22 80 >/dev/null & servers=$!",
            f'$in_container {program} 80 >/dev/null & servers="$servers $!"',
            f'$in_outside {program} 53 443 5000 8443 >/dev/null & servers="$servers $!"',
            "trap 'kill $servers $container $outside' EXIT",
            "sleep 1.5",
            f'ask="{sys.executable} {folder}/client"',
        ]

    def __call__(self, *commands: str) -> "Box":
        """Add commands."""
        self.commands += commands
        return self

    def cut(self) -> "Box":
        """Cut the host off."""
        return self(f"sh {self.folder}/cut")

    def lift(self) -> "Box":
        """Let it out again: there is no systemd in the namespace, and its units are not here."""
        text = (self.folder / "lift").read_text().partition("systemctl")[0]
        (self.folder / "lift-rules").write_text(text)
        return self(f"sh {self.folder}/lift-rules")

    def said(self) -> list[str]:
        """The words that the commands print."""
        done = subprocess.run(
            ["unshare", "-n", "sh", "-ec", "\n".join(self.commands)],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split("\n")

    def read(self) -> tuple[list[str], Outbound]:
        """Words that the commands print, and what the probe tells at the end."""
        said = self("set +e", "echo told:", f"({outbound.COMMAND}) 2>/dev/null").said()
        told = said.index("told:")
        return said[:told], outbound.parse("\n".join(said[told + 1 :]))


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


KEPT = {
    "in by ssh": "$in_outside $ask 192.0.2.10 22",
    "in by ssh, IPv6": "$in_outside $ask 2001:db8::10 22",
    "in, to a published port": "$in_outside $ask 192.0.2.10 8080",
    "loopback": "$ask 127.0.0.1 22",
    "the host itself": "$ask 192.0.2.10 22",
    "to a container": "$ask 172.18.0.2 80",
    "from a container": "$in_container $ask 172.18.0.1 22",
    "the mirror's registry": "$ask 192.0.2.2 5000",
    "the mirror's files": "$ask 192.0.2.2 8443",
    "the mirror from a container": "$in_container $ask 192.0.2.2 8443",
    "what is allowed": "$ask 192.0.2.53 53",
}
GONE = {
    "outside": "$ask 198.51.100.7 443",
    "outside, IPv6": "$ask 2001:db8::1 443",
    "outside from a container": "$in_container $ask 198.51.100.7 443",
    "another port of the mirror": "$ask 192.0.2.2 443",
    "the mirror's port elsewhere": "$ask 192.0.2.1 5000",
}
# What others do to the rules meanwhile: Docker and firewalls when they start, an operator.
MEANWHILE = (
    "iptables -I FORWARD -i docker0 -j ACCEPT",
    "iptables -I OUTPUT -j ACCEPT",
    "iptables -F FORWARD",
)


def test_only_what_is_kept_gets_through_and_all_again_in_the_end(box: Box) -> None:
    asked = [*KEPT.values(), *GONE.values()]
    box(*asked).cut()("echo cut", *asked, *MEANWHILE, *GONE.values())
    said, found = box("echo lifted").lift()(*asked, "iptables -t mangle -S").read()
    before, rest = said[: len(asked)], said[len(asked) + 1 :]
    assert before == ["hello"] * len(asked)
    through = dict(zip([*KEPT, *GONE], rest[: len(asked)], strict=True))
    assert through == {**dict.fromkeys(KEPT, "hello"), **dict.fromkeys(GONE, "nothing")}
    later = rest[len(asked) : rest.index("lifted")]
    assert later == ["nothing"] * len(GONE)
    ended = rest[rest.index("lifted") + 1 :]
    assert ended[: len(asked)] == before
    assert not [line for line in ended if CHAIN in line]
    assert found.uncut == outbound.TOOLS


def test_the_probe_tells_that_the_host_is_cut_off_and_counts(box: Box) -> None:
    _, quiet = box.cut()(*KEPT.values()).read()
    assert quiet.uncut == ()
    assert quiet.inet6
    assert dict(quiet.stopped) == {"iptables": 0, "ip6tables": 0}


def test_the_probe_counts_what_tried_to_get_out(box: Box) -> None:
    _, found = box.cut()(*GONE.values()).read()
    assert found.uncut == ()
    assert found.stopped["iptables"] >= len(GONE) - 1
    assert found.stopped["ip6tables"] >= 1


@pytest.mark.parametrize(
    "command", ["iptables -t mangle -F", "iptables -t mangle -I POSTROUTING -j ACCEPT"]
)
def test_the_probe_tells_that_somebody_opened_the_way_out(box: Box, command: str) -> None:
    assert box.cut()(command).read()[1].uncut == ("iptables",)


def test_a_second_cut_takes_the_place_of_the_first(box: Box) -> None:
    said = box.cut().cut()("iptables -t mangle -S; ip6tables -t mangle -S").said()
    assert said.count(f"-A POSTROUTING -j {CHAIN}") == 2
    assert [line for line in said if line in cut.rules(PASSAGE)][-1] == cut.rules(PASSAGE)[-1]


KMSG = (
    "6,344,22739261201,-;apuhost-cut IN= OUT=lan0 SRC=192.0.2.10 DST=198.51.100.7 LEN=60 "
    "PROTO=TCP SPT=%s DPT=443 WINDOW=64240 RES=0x00 SYN URGP=0 UID=0 GID=0 "
)
SENDER = """
import socket, sys, time
wanting = socket.socket()
wanting.bind(("192.0.2.10", int(sys.argv[1])))
wanting.setblocking(False)
wanting.connect_ex(("198.51.100.7", 443))
time.sleep(30)
"""


def test_who_has_the_port_of_a_logged_packet_is_written_down(box: Box) -> None:
    """The kernel logs nothing of another namespace: its words are put into a file."""
    folder = box.folder
    (folder / "sender").write_text(SENDER)
    text = (folder / "attempts").read_text()
    (folder / "reader").write_text(
        text.replace("/dev/kmsg", f"{folder}/kmsg").replace("/run/apuhost", f"{folder}/run")
    )
    (folder / "kmsg").write_text(
        f"6,343,1,-;something else SPT=1\n{KMSG % 45001}\n SUBSYSTEM=net\n{KMSG % 45002}\n"
        "6,345,2,-;apuhost-cut IN= OUT=lan0 SRC=192.0.2.10 DST=198.51.100.9 LEN=84 PROTO=ICMP\n"
    )
    box.cut()(f"{sys.executable} {folder}/sender 45001 & sender=$!", "sleep 1")
    box(
        f"timeout 4 sh {folder}/reader || :",
        "kill $sender",
        f"sed 's/^/attempt /' {folder}/run/attempts",
        "echo end",
    )
    found = outbound.parse("\n".join(box.said()))
    assert [each.destination for each in found.attempts][:1] == ["198.51.100.7"]
    first, second, third, *_ = found.attempts
    assert first.process.startswith("python")
    assert first.cgroup.startswith("/")
    assert (first.port, first.user) == (443, 0)
    assert second == Attempt("198.51.100.7", 443, "TCP", "192.0.2.10", 0)
    assert third == Attempt("198.51.100.9", None, "ICMP", "192.0.2.10")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    units = {
        path.rpartition("/")[2]: text
        for path, text in cut.files(PASSAGE).items()
        if path in cut.UNITS
    }
    assert len(units) == 3
    for name, text in units.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / name) for name in units)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert str(tmp_path) not in done.stdout + done.stderr
