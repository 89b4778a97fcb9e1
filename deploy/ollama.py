"""The ollama role on a host: a compose project, taken over where one was set up by hand."""

from pyinfra import host
from pyinfra.api import deploy, operation

from apuhost.changes import compose, container, image, port
from apuhost.changes import models as model_changes
from apuhost.changes import ollama as changes
from apuhost.changes.scripts import LOCK
from deploy.facts import Known, known
from deploy.operations import Commands, asks_host, fails, root_script, told_script, write_files
from deploy.units import VERIFIED, enable

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


@deploy("ollama")
def ollama() -> None:
    """The port is guarded before a container listens."""
    write_files(name="port's rules", changes=port.program, check='sh -n "$1"')
    write_files(name="port's unit", changes=port.unit, check=VERIFIED)
    enable(name="port's guard", unit=port.UNIT_NAME, due=port.unguarded)
    pull(name="image")  # before the file names it: at a boot in between there would be none
    volume(name="volume of the models")
    write_files(name="compose file", changes=compose.file, check=VALID)
    run(name="container")
    write_files(name="unit", changes=changes.unit, check=VERIFIED)
    enable(name="container at every boot", unit=changes.UNIT_NAME, due=changes.unstarted)


@operation()
@asks_host(("containers", "model_store"))
def volume(host_is: Known) -> Commands:
    """Make the volume of the models, if it is one and is not there."""
    missing = changes.volume(host_is.derived, host_is.facts)
    if not missing:
        host.noop("it is there")
    for name in missing:
        yield root_script(VOLUME, name)


@operation()
@asks_host(("containers", "disk"))
def pull(host_is: Known) -> Commands:
    """Pull the image by its digest."""
    if not changes.image(host_is.derived, host_is.facts):
        host.noop("the image is here")
        return
    yield told_script(PULL, image.reference(host_is.derived, host_is.facts))
    if changes.image(host_is.derived, known().facts):
        yield fails("docker pulled, but no image has the pinned digest")


@operation()
@asks_host(CHANGING)
def run(host_is: Known) -> Commands:
    """Make the container as the compose file says, or start it; wait until its API answers."""
    asked = host_is.settings.ollama
    if not container.differences(host_is.derived, host_is.facts):
        host.noop("it runs as it should")
        return
    name = asked.ollama_container_name
    found = host_is.facts.containers.named(name)
    foreign = found is not None and not container.of_project(asked, found)
    stays = found and not container.made_otherwise(host_is.derived, host_is.facts)
    # Compose that was cut off between two containers left one by another name: made again, too.
    again = "--no-recreate" if stays else "--force-recreate"
    address = model_changes.api(host_is.derived)
    whose = "foreign" if foreign else "ours"
    back = container.by_compose(asked, found) if found else ()
    yield root_script(RUN, again, *address, name, container.before(asked), whose, *back)
    still = container.differences(host_is.derived, known().facts)
    if still:
        yield fails(f"the container was made again, but {still[0]}")
