"""The models role on a host: pulled by digest, run with our parameters, loaded after every boot."""

import json
import secrets

from apuhost.changes import models as changes
from apuhost.changes import offer, store
from apuhost.changes.scripts import LOCK
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.probes import files, model_store
from apuhost.settings.models import PinnedModel
from apuhost.steps import Known, Step, StepFailed, Target, Work, script, told
from apuhost.steps.fetch import CLEAN, FETCH
from apuhost.steps.files import files as written
from apuhost.steps.units import UNITS, VERIFIED, enabled

CHANGING = ("model_store", "ollama_api", "units", "disk")

FORGET = 'rm -rf "$1"'

# $1 folder to put it, $2 where the manifest is, $3 what the blobs' addresses begin with. apt's own
# downloader knows the proxy and the certificates of site and mirror, and is on every host; its own
# `Accept: text/*` would exclude what a registry has.
OFFER = f"""set -e
{CLEAN}
mkdir -p /run/apuhost; mkdir -m 0700 "$1"; cd "$1"
blobs=$3
get() {{ /usr/lib/apt/apt-helper -q -o APT::Sandbox::User=root -o Acquire::Retries=3 \\
  -o Acquire::http::SendAccept=false download-file "$1" "$2" >said 2>&1 ||
  {{ tail -n 3 said >&2; exit 1; }}; }}
get "$2" manifest
blob() {{ # $1 what the layer's type ends with, $2 the file
  digest=$(tr -d ' \\t\\r\\n' <manifest | grep -o "{{[^{{}}]*$1\\"[^{{}}]*}}" |
    grep -o 'sha256:[0-9a-f]*' | head -n 1)
  [ -n "$digest" ] || return 0
  get "$blobs${{digest#sha256:}}" "$2"
  echo "${{digest#sha256:}}  $2" | sha256sum --check --status ||
    {{ echo "for $digest the registry gave another blob" >&2; exit 1; }}
}}
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

# How far a pull is by Ollama's last whole line, whose folder is $1.
FAR = """far() {
  tail -c 400 "$1/said" | grep -o '"total":[0-9]*,"completed":[0-9]*' | tail -n 1 |
    awk -F '[:,]' '{ printf "%.1f of %.1f GB\\n", $4 / 1e9, $2 / 1e9 }'
}
"""

# $1 folder of the offer, $2 address, $3 port. Says how far it is every ten seconds.
PULL = f"""set -e
{CLEAN}
{LOCK}
{ASK}
exec 4<&0 # a command in the background has no standard input of its own
(exec 9>&-; ask "$2" "$3" /api/pull) <&4 >"$1/said" & # no lock: it may outlive this run
{FAR}seconds=0
while sleep 1; kill -0 $! 2>/dev/null; do
  seconds=$((seconds + 1))
  [ $((seconds % 10)) != 0 ] || far "$1"
done
tail -n 1 "$1/said" | grep -q '"success"' ||
  {{ echo "the pull broke off: $(tail -c 600 "$1/said" | tail -n 1)" >&2; exit 1; }}
"""

# $1 folder of the offer ("": what is kept is the store's own), $2 where it is kept, $3 the
# manifest, $4 its sha256, $5 the blob of its parameters ("": it has none), $6 its digest.
KEEP = f"""set -e
{CLEAN}
{LOCK}
mkdir -p "$2"
take() {{ # $1 file, $2 its sha256, $3 where it goes: a container may have put another there
  cp -- "$1" "$3.new"
  [ "$(sha256sum <"$3.new" | cut -d' ' -f1)" = "$2" ] || {{
    rm "$3.new"; echo "$1 was changed by someone else meanwhile: run again" >&2; exit 1; }}
  sync "$3.new"
}}
take "$3" "$4" "$2/manifest"
[ -z "$5" ] || {{ take "$5" "${{6#sha256:}}" "$2/params"; mv -T "$2/params.new" "$2/params"; }}
mv -T "$2/manifest.new" "$2/manifest"
sync "$2"
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


def keep(target: Target) -> Work:
    """Keep a copy of manifests that the store has as their registries gave them."""
    now = target.known()
    due = [m for m in now.settings.models.models_list if changes.keep(m, now.facts)]
    if not due:
        target.nothing_due("every manifest is kept")
    for model in due:
        yield from _keep(model, now.facts)
    still = [m for m in due if changes.keep(m, target.known().facts)]
    if still:
        raise StepFailed(f"the manifest of {still[0].name} was copied, and is not kept")


def _keep(model: PinnedModel, facts: HostFacts) -> Work:
    found = changes.given(model, facts)
    if found:
        given = next((each for each in found.layers if each.is_params), None)
        params = (offer.blob(given, facts), given.digest) if given else ("", "")
        kept_at = offer.kept_at(model.name, facts)
        yield script(KEEP, "", kept_at, found.path, found.digest, *params)


def pull(target: Target) -> Work:
    """Ask the registry what it offers, judge that, and only then pull."""
    now = target.known()
    due = [m for m in now.settings.models.models_list if changes.pull(m, now.facts)]
    if not due:
        target.nothing_due("every model is here")
    for model in due:
        folder = f"/run/apuhost/offer-{secrets.token_hex(4)}"
        wrong = ""
        try:
            yield from _pull(model, target, now, folder)
        except ApuhostError as error:
            wrong = f"{model.name}: {error}"
        yield script(FORGET, folder)
        if wrong:
            raise StepFailed(wrong)


def _pull(model: PinnedModel, target: Target, began: Known, folder: str) -> Work:
    source = offer.source(model.name, began.derived, began.facts)
    yield script(OFFER, folder, *source)
    offered = model_store.parse_offer(target.output(files.command(f"{folder}/*")))
    facts = target.known().facts  # another model may have filled the disk meanwhile
    locked = store.pinned(model, began.derived, facts)
    if wrong := offer.obstacles(locked, offered, began.derived, facts):
        raise StepFailed(f"not pulled: {'; '.join(wrong)}")
    if not offer.here(model, offered, facts):
        if began.settings.mirrored("models"):
            manifest, blobs = store.manifest_at(model.name, facts), store.blobs(offered)
            into = str(facts.model_store.directory)
            yield told(FETCH, folder, source[1], into, manifest, stdin=blobs)
        else:
            body = json.dumps({"model": model.name, "stream": True})
            yield told(PULL, folder, *changes.api(began.derived), stdin=body)
        if not offer.here(model, offered, target.known().facts):
            raise StepFailed("its registry gave another manifest meanwhile: run again")
    given = next((each for each in offered.layers if each.is_params), None)
    params = (f"{folder}/params", given.digest) if given else ("", "")
    kept_at = offer.kept_at(model.name, facts)
    yield script(KEEP, folder, kept_at, f"{folder}/manifest", offered.digest, *params)
    if still := changes.pull(model, target.known().facts):
        raise StepFailed(f"pulled, but {still[0]}")


def set_parameters(target: Target) -> Work:
    """Set parameters in the model itself, under the same name: its weights stay as they are."""
    now = target.known()
    due = [m for m in now.settings.models.models_list if changes.unset(m, now.facts)]
    if not due:
        target.nothing_due("every model has its parameters")
    for model in due:
        parameters = changes.wanted(model, now.facts)
        body = json.dumps({"model": model.name, "from": model.name, "parameters": parameters})
        yield script(SET, *changes.api(now.derived), stdin=body)
    still = [m for m in due if changes.unset(m, target.known().facts)]
    if still:
        raise StepFailed(f"Ollama did not take {changes.unset(still[0], target.known().facts)[0]}")


# Every model of the list, then the unit that loads those that are to be loaded.
STEPS = (
    Step("models' manifests", keep, CHANGING),
    Step("models", pull, CHANGING),
    Step("models' parameters", set_parameters, CHANGING),
    written("preload", changes.program, 'bash -n "$1"', UNITS),
    written("preload's unit", changes.unit, VERIFIED, UNITS),
    enabled("models are loaded", changes.UNIT_NAME, changes.unloaded, ("units", "ollama_api")),
)
