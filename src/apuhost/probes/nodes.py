"""The GPU's device nodes: who may open them (DRM's under /dev/dri, ROCm's /dev/kfd)."""

import re
from dataclasses import dataclass

COMMAND = """
for node in /dev/dri/card* /dev/dri/renderD* /dev/kfd; do
  [ -c "$node" ] && stat -c 'node %a %u %g %G %n' "$node"
done
true
"""

_LINE = re.compile(r"node ([0-7]{1,4}) ([0-9]{1,10}) ([0-9]{1,10}) (\S+) (/dev/\S+)")


@dataclass(frozen=True)
class Node:
    """One character device: permission bits, owner's ids, the group's name on this host.

    A group id without a name has the name UNKNOWN (stat(1)).
    """

    path: str
    mode: int
    uid: int
    gid: int
    group: str


@dataclass(frozen=True)
class Nodes:
    """Every node, DRM's in the order of their names."""

    nodes: tuple[Node, ...]

    @property
    def render(self) -> Node | None:
        """The first render node: what Vulkan opens."""
        return next((node for node in self.nodes if node.path.startswith("/dev/dri/render")), None)

    @property
    def kfd(self) -> Node | None:
        """ROCm's node."""
        return next((node for node in self.nodes if node.path == "/dev/kfd"), None)


def parse(text: str) -> Nodes:
    """Read the lines that COMMAND prints; a line of another form is passed over."""
    found = [match for line in text.split("\n") if (match := _LINE.fullmatch(line))]
    return Nodes(
        tuple(
            Node(match[5], int(match[1], 8), int(match[2]), int(match[3]), match[4])
            for match in found
        )
    )
