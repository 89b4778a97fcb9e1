"""systemd units of ours: checked, enabled, started."""

from collections.abc import Callable

from pyinfra import host
from pyinfra.api import operation

from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from deploy.facts import Known
from deploy.operations import Commands, asks_host, root_script

CHANGING = ("units", "containers", "firewall", "ollama_api", "model_store")

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


@operation()
@asks_host(CHANGING)
def enable(host_is: Known, unit: str, due: Due) -> Commands:
    """Enable a unit and start it anew.

    + unit: its name
    + due: what tells from the host's facts why it must be started
    """
    if not due(host_is.derived, host_is.facts):
        host.noop(f"{unit} is as it should be")
        return
    yield root_script(ENABLE, unit)
