"""The ollama role on a host: a compose project, taken over where one was set up by hand."""

from apuhost.changes import compose, container, image, port
from apuhost.changes import models as model_changes
from apuhost.changes import ollama as changes
from apuhost.changes.scripts import LOCK
from apuhost.steps import Step, StepFailed, Target, Work, script, told
from apuhost.steps.files import files
from apuhost.steps.units import UNITS, VERIFIED, enabled

CHANGING = ("containers", "ollama_api", "units", "model_store", "firewall", "disk")

VALID = 'docker compose -f "$1" config --quiet 2>&1'

VOLUME = f'set -e\n{LOCK}\ndocker volume create -- "$1"'

# $1 the image: what broke off is taken up again, layers that are here are not fetched again. Says
# how far it is every ten seconds.
PULL = f"""set -e
{LOCK}
mkdir -p /run/apuhost
said=/run/apuhost/pull-$$
trap 'rm -f "$said"' EXIT
count() {{ grep -c "$1" "$said" || :; }}
for wait in 5 20 0; do
  docker pull -- "$1" >"$said" 2>&1 9>&- & # no lock: it may outlive this run
  seconds=0
  while sleep 1; kill -0 $! 2>/dev/null; do
    seconds=$((seconds + 1))
    [ $((seconds % 10)) != 0 ] ||
      echo "$(count ': Pull complete') of $(count ': Pulling fs layer') layers"
  done
  wait $! && exit 0
  [ "$wait" = 0 ] || sleep "$wait"
done
tail -n 3 "$said" >&2
exit 1
"""

# Ollama answers once it has looked for GPUs; that may take 30 s. In a pipe of its own: who writes
# to a connection that is closed already is ended for it.
ANSWERS = """answers() {
  timeout 180 bash -c '
until (exec 3<>"/dev/tcp/$0/$1" && printf "GET /api/version HTTP/1.0\\r\\n\\r\\n" >&3 &&
  timeout 5 cat <&3) 2>/dev/null | grep -q "\\"version\\""
do sleep 1; done' "$1" "$2" ||
  { echo "Ollama does not answer on $1:$2; its last words:" >&2
    docker logs --tail 20 -- "$3" >&2; return 1; }
}
"""

RUN_WITH = "{{.HostConfig.AutoRemove}}{{range .Mounts}} {{.Name}}{{end}}"

# $1 how compose makes it; $2 and $3 where the API is; $4 the container; $5 what the one of somebody
# else is called until ours answers in its place: else it comes back; $6 "foreign": it has that name
# still (one of `docker run --rm` goes by itself). Its models are in a volume: one without was
# refused. The rest: how compose makes it again where it was made in our project, whose containers
# are ours.
RUN = f"""set -e
{LOCK}
{ANSWERS}
how=$1 address=$2 port=$3 name=$4 before=$5 whose=$6
shift 6
exists() {{ docker container inspect -- "$1" >/dev/null 2>&1; }}
if [ "$whose" = foreign ]; then
  # Docker removes the nameless volumes of a container that was run with --rm, too.
  if docker inspect -f '{RUN_WITH}' -- "$name" | grep -qE '^true.* [0-9a-f]{{64}}'; then
    echo "container $name was run with --rm: its models would go with it; copy them first" >&2
    exit 1
  fi
  ! exists "$before" || docker rm --force -- "$before" >/dev/null
  docker stop -t 30 -- "$name" >/dev/null || :
  ! exists "$name" || docker rename -- "$name" "$before"
fi
# An earlier run may have ended here; then a boot starts it again, at our port.
! exists "$before" || docker stop -t 30 -- "$before" >/dev/null
if docker compose -f {compose.PATH} up --detach --no-build --pull never "$how" 2>&1 &&
  answers "$address" "$port" "$name"; then
  ! exists "$before" || docker rm -- "$before" >/dev/null
  exit 0
fi
if exists "$before"; then
  docker rm --force -- "$name" >/dev/null 2>&1 || :
  docker rename -- "$before" "$name"
  docker start -- "$name" >/dev/null
elif [ "$#" = 0 ] ||
  ! docker compose "$@" up --detach --no-build --pull never --no-deps {compose.SERVICE} 2>&1; then
  exit 1
fi
echo "the container before runs again" >&2
exit 1
"""


def make_volume(target: Target) -> Work:
    """Make the volume of the models, if it is one and is not there."""
    now = target.known()
    missing = changes.volume(now.derived, now.facts)
    if not missing:
        target.nothing_due("it is there")
    for name in missing:
        yield script(VOLUME, name)


def pull(target: Target) -> Work:
    """Pull the image by its digest."""
    now = target.known()
    if not changes.image(now.derived, now.facts):
        target.nothing_due("the image is here")
        return
    yield told(PULL, image.reference(now.derived, now.facts))
    if changes.image(now.derived, target.known().facts):
        raise StepFailed("docker pulled, but no image has the pinned digest")


def run(target: Target) -> Work:
    """Make the container as the compose file says, or start it; wait until its API answers."""
    now = target.known()
    asked = now.settings.ollama
    if not container.differences(now.derived, now.facts):
        target.nothing_due("it runs as it should")
        return
    name = asked.ollama_container_name
    found = now.facts.containers.named(name)
    foreign = found is not None and not container.of_project(asked, found)
    stays = found and not container.made_otherwise(now.derived, now.facts)
    # Compose that was cut off between two containers left one by another name: made again, too.
    again = "--no-recreate" if stays else "--force-recreate"
    address = model_changes.api(now.derived)
    whose = "foreign" if foreign else "ours"
    back = container.by_compose(asked, found) if found else ()
    yield script(RUN, again, *address, name, container.before(asked), whose, *back)
    if still := container.differences(now.derived, target.known().facts):
        raise StepFailed(f"the container was made again, but {still[0]}")


# The port is guarded before a container listens.
STEPS = (
    files("port's rules", port.program, 'sh -n "$1"', UNITS),
    files("port's unit", port.unit, VERIFIED, UNITS),
    enabled("port's guard", port.UNIT_NAME, port.unguarded, ("units", "firewall")),
    # Before the file names it: at a boot in between there would be none.
    Step("image", pull, ("containers", "disk")),
    Step("volume of the models", make_volume, ("containers", "model_store")),
    files("compose file", compose.file, VALID, ("compose",)),
    Step("container", run, CHANGING),
    files("unit", changes.unit, VERIFIED, UNITS),
    enabled("container at every boot", changes.UNIT_NAME, changes.unstarted),
)
