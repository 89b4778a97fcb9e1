"""The models role on a host: pulled by digest, run with our parameters, loaded after every boot."""

import json
import secrets

from pyinfra import host
from pyinfra.api import deploy, operation

from apuhost.changes import models as changes
from apuhost.changes import offer
from apuhost.probes import files, model_store
from apuhost.settings.models import PinnedModel
from deploy.facts import Known, RootOutput, known
from deploy.operations import LOCK, Commands, asks_host, fails, root_script, write_files
from deploy.units import VERIFIED, enable

CHANGING = ("model_store", "ollama_api", "units", "disk")

# $1 folder to put it, $2 URL of the manifest. apt's own downloader knows the proxy and the site's
# certificates, and is on every host; its own `Accept: text/*` would exclude what a registry has.
OFFER = """set -e
mkdir -p /run/apuhost; mkdir -m 0700 "$1"; cd "$1"
url=$2
get() { /usr/lib/apt/apt-helper -q -o APT::Sandbox::User=root -o Acquire::Retries=3 \\
  -o Acquire::http::SendAccept=false download-file "$1" "$2" >said 2>&1 ||
  { tail -n 3 said >&2; exit 1; }; }
get "$2/manifests/$3" manifest
blob() { # $1 what the layer's type ends with, $2 the file
  digest=$(tr -d ' \\t\\r\\n' <manifest | grep -o "{[^{}]*$1\\"[^{}]*}" |
    grep -o 'sha256:[0-9a-f]*' | head -n 1)
  [ -n "$digest" ] || return 0
  get "$url/blobs/$digest" "$2"
  echo "${digest#sha256:}  $2" | sha256sum --check --status ||
    { echo "for $digest the registry gave another blob" >&2; exit 1; }
}
blob container.image.v1+json config
blob ollama.image.params params
"""

# Everything that talks to the API is bash: it opens connections itself, so that the host needs no
# curl. HTTP/1.0: the answer ends with the connection.
ASK = """export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ask() { # $1 address, $2 port, $3 path; the body is standard input
  bash -c 'body=$(cat); LC_ALL=C; exec 3<>"/dev/tcp/$0/$1" || exit
    printf "POST %s HTTP/1.0\\r\\nHost: localhost\\r\\n" "$2" >&3
    printf "Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" "${#body}" >&3
    printf %s "$body" >&3
    cat <&3' "$1" "$2" "$3"
}
"""

# $1 address, $2 port, $3 folder of the offer, $4 where it is kept, $5 the model's manifest in the
# store ("": nothing is pulled, its blobs are here). Says how far it is every ten seconds.
PULL = f"""set -e
{LOCK}
{ASK}
if [ -n "$5" ]; then
  exec 4<&0 # a command in the background has no standard input of its own
  (exec 9>&-; ask "$1" "$2" /api/pull) <&4 >"$3/said" & # no lock: it may outlive this run
  seconds=0
  while sleep 1; kill -0 $! 2>/dev/null; do
    seconds=$((seconds + 1))
    [ $((seconds % 10)) != 0 ] || tail -c 300 "$3/said" | tail -n 1
  done
  tail -n 1 "$3/said" | grep -q '"success"' ||
    {{ echo "the pull broke off: $(tail -c 600 "$3/said" | tail -n 1)" >&2; exit 1; }}
  cmp -s "$5" "$3/manifest" ||
    {{ echo "the registry gave another manifest meanwhile: run again" >&2; exit 1; }}
fi
mkdir -p "$4"
for part in params manifest; do
  [ -e "$3/$part" ] || continue
  cp "$3/$part" "$4/$part.new"; sync "$4/$part.new"; mv -T "$4/$part.new" "$4/$part"
done
sync "$4"
rm -r "$3"
"""

SET = f"""set -e
{LOCK}
{ASK}
said=$(ask "$1" "$2" /api/create | tail -n 1)
case "$said" in
*'"success"'*) ;;
*) echo "Ollama did not set them: $said" >&2; exit 1 ;;
esac
"""


@deploy("models")
def models() -> None:
    """Every model of the list, then the unit that loads those that are to be loaded."""
    pull(name="models")
    set_parameters(name="models' parameters")
    write_files(name="preload", changes=changes.program, check='bash -n "$1"')
    write_files(name="preload's unit", changes=changes.unit, check=VERIFIED)
    enable(name="models are loaded", unit=changes.UNIT_NAME, due=changes.unloaded)


@operation()
@asks_host(CHANGING)
def pull(host_is: Known) -> Commands:
    """Ask the registry what it offers, judge that, and only then pull."""
    due = [m for m in host_is.settings.models.models_list if changes.pull(m, host_is.facts)]
    if not due:
        host.noop("every model is here")
    for model in due:
        yield from _pull(model, host_is)


def _pull(model: PinnedModel, host_is: Known) -> Commands:
    folder = f"/run/apuhost/offer-{secrets.token_hex(4)}"
    yield root_script(OFFER, folder, *offer.registry(model.name))
    answer = host.get_fact(RootOutput, script=files.command(f"{folder}/*"))
    offered = model_store.parse_offer(answer)
    facts = known().facts  # another model may have filled the disk meanwhile
    wrong = offer.obstacles(model, offered, host_is.derived, facts)
    if wrong:
        yield fails(f"{model.name} is not pulled: {'; '.join(wrong)}")
        return
    manifest = "" if offer.here(model, offered, facts) else offer.stored_at(model.name, facts)
    body = json.dumps({"model": model.name, "stream": True})
    where = (*changes.api(host_is.derived), folder, offer.kept_at(model.name), manifest)
    yield root_script(PULL, *where, stdin=body)
    still = changes.pull(model, known().facts)
    if still:
        yield fails(f"{model.name} was pulled, but {still[0]}")


@operation()
@asks_host(CHANGING)
def set_parameters(host_is: Known) -> Commands:
    """Set parameters in the model itself, under the same name: its weights stay as they are."""
    due = [m for m in host_is.settings.models.models_list if changes.unset(m, host_is.facts)]
    if not due:
        host.noop("every model has its parameters")
    for model in due:
        parameters = changes.wanted(model, host_is.facts)
        body = json.dumps({"model": model.name, "from": model.name, "parameters": parameters})
        yield root_script(SET, *changes.api(host_is.derived), stdin=body)
    still = [m for m in due if changes.unset(m, known().facts)]
    if still:
        yield fails(f"Ollama did not take {changes.unset(still[0], known().facts)[0]}")
