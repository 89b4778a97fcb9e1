"""systemd units of ours: checked, enabled, started."""

from collections.abc import Callable

from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.steps import Step, Target, Work, script

CHANGING = ("units", "containers", "firewall", "ollama_api", "model_store")

UNITS = ("units",)
"""What tells of unit files, of programs that units start, and of units that touch nothing else."""

# systemd-analyze goes by the file's name, and the new file has another one beside the real one.
# What it only warns of, such as an unknown key, is an error here, in this file alone.
VERIFIED = """folder=$(mktemp -d)
name=$(basename "$1" .apuhost-new)
cp "$1" "$folder/$name"
said=$(systemd-analyze verify "$folder/$name" 2>&1)
status=$?
case "$said" in *"$folder/$name:"*) status=1 ;; esac
echo "$said"
rm -r "$folder"
exit "$status" """

ENABLE = f"""set -e
{LOCK}
systemctl daemon-reload
systemctl enable --quiet -- "$1"
systemctl restart -- "$1" || {{ journalctl -u "$1" -b -n 20 --no-pager -o cat >&2; exit 1; }}
"""

Due = Callable[[Derived, HostFacts], tuple[str, ...]]


def enabled(name: str, unit: str, due: Due, changing: tuple[str, ...] = CHANGING) -> Step:
    """A step that enables a unit and starts it anew, for what `due` tells from the host's facts."""

    def work(target: Target) -> Work:
        now = target.known()
        if not due(now.derived, now.facts):
            target.nothing_due(f"{unit} is as it should be")
            return
        yield script(ENABLE, unit)

    return Step(name, work, changing)
