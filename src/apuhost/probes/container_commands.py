"""The sh texts that ask docker for its containers: all of them, and which one runs Ollama.

Of the environment only the variables of Ollama, llama.cpp, the GPU and the proxies leave the
host, without passwords and keys; of the labels only Compose's and the OCI's.
"""

from apuhost.probes.secrets import HIDDEN, hide_userinfo

DOCKER_TIMEOUT_S = 20
"""For one docker command: a daemon that hangs must not use up the host's time for all probes."""

OLLAMA = "ollama"
COMPOSE = "com.docker.compose."
SERVICE = f"{COMPOSE}service"
MADE_FROM = "apuhost.made-from"
"""The label of the container that apuhost's own compose file describes."""

_CHOICE = (
    f'{{{{.Id}}}}\t{{{{.State.Running}}}}\t{{{{.Name}}}}\t{{{{index .Config.Labels "{SERVICE}"}}}}'
    f'\t{{{{.Config.Image}}}}\t{{{{with index .Config.Labels "{MADE_FROM}"}}}}ours{{{{end}}}}'
)
CHOSEN = "OLLAMA_CONTAINER"
CONTAINER = f"""
ollama_container() {{
  if [ "${{{CHOSEN}+asked}}" ]; then
    [ "${CHOSEN}" != unknown ] && printf '%s' "${CHOSEN}"
    return
  fi
  command -v docker >/dev/null || return 0
  ids=$(timeout {DOCKER_TIMEOUT_S} docker ps -aq --no-trunc) || return
  [ -n "$ids" ] || return 0
  found=$(timeout {DOCKER_TIMEOUT_S} docker inspect --type container --format '{_CHOICE}' $ids)
  [ -n "$found" ] || return 1
  printf '%s\\n' "$found" | awk -F '\\t' '
    $6 == "ours" {{ choose(-2) }}
    $3 == "/{OLLAMA}" || $4 == "{OLLAMA}" {{ choose(0) }}
    $5 ~ /(^|\\/){OLLAMA}([\\/:@]|$)/ {{ choose(2) }}
    function choose(rank) {{
      rank += $2 != "true"
      if (best == "" || rank < least) {{ best = $1; least = rank }}
    }}
    END {{ if (best != "") print best }}'
}}
"""
"""sh text: `ollama_container` prints the id of the container that runs Ollama, or nothing.

It is the one that apuhost made, else one named or, by Compose, labelled `ollama`, else one of an
image named ollama; a running one first. The status is 0 without docker, and not 0 when docker
does not answer. CHOOSE asks once for every probe of a script.
`Containers.ollama` (containers.py) chooses by the same rule.
"""

CHOOSE = f"""{CONTAINER}
{CHOSEN}=$(ollama_container 2>/dev/null </dev/null) || {CHOSEN}=unknown
export {CHOSEN}"""

_KEPT = "OLLAMA|LLAMA|GGML|GPU|HIP|HSA|ROCR|RADV|AMD|VK|MESA"
_HIDDEN = "KEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|CREDENTIALS"
_FILTER = f"""
/^env "[A-Za-z0-9_]*({_HIDDEN})=/s/=.*/={HIDDEN}"/
/^env "({_KEPT})_[A-Za-z0-9_]*=[a-z]+:/{hide_userinfo('env "[A-Za-z0-9_]*=')}
/^env "[A-Za-z0-9_]*_(PROXY|proxy)=/{hide_userinfo('env "[A-Za-z0-9_]*=')}
/^env "({_KEPT})_/b
/^env "[A-Za-z0-9_]*_(PROXY|proxy)=/b
/^env /d
/^label \\["com\\.docker\\.compose\\./b
/^label \\["apuhost\\./b
/^label \\["org\\.opencontainers\\.image\\./{{
  {hide_userinfo('label ."[^"]*","')}
  b
}}
/^label /d
"""

# `.Id` is only in the answer of docker's API, not in the type that the client would read it
# into: so the template sees the answer itself, where what is empty may be missing: `index`.
# `json` prints every value on one line. A trailing null closes a list without a comma.
_LABELS = (
    '{{range $name, $value := index .Config "Labels"}}'
    "label [{{json $name}},{{json $value}}]\n{{end}}"
)
_CONTAINER = (
    'container {"id":{{json .Id}},"name":{{json .Name}},"image_id":{{json .Image}},'
    '"image":{{json .Config.Image}},"running":{{json .State.Running}},'
    '"status":{{json .State.Status}},"pid":{{json .State.Pid}},'
    '"health":{{with index .State "Health"}}{{json .Status}}{{else}}null{{end}},'
    '"started_at":{{json .State.StartedAt}},"restart_count":{{json .RestartCount}},'
    '"restart_policy":{{json .HostConfig.RestartPolicy.Name}},'
    '"devices":{{json (index .HostConfig "Devices")}},'
    '"group_add":{{json (index .HostConfig "GroupAdd")}},'
    '"ports":{{json (index .HostConfig "PortBindings")}},'
    '"published":{{json (index .NetworkSettings "Ports")}},'
    '"mounts":{{json .Mounts}},"network_mode":{{json .HostConfig.NetworkMode}},'
    '"privileged":{{json (index .HostConfig "Privileged")}},"addresses":['
    '{{range index .NetworkSettings "Networks"}}{{json (index . "IPAddress")}},'
    '{{json (index . "GlobalIPv6Address")}},{{end}}null]}\n'
    '{{range index .Config "Env"}}env {{json .}}\n{{end}}' + _LABELS
)
_IMAGE = (
    'image {"id":{{json .Id}},"repo_digests":{{json (index . "RepoDigests")}},'
    '"repo_tags":{{json (index . "RepoTags")}},"architecture":{{json .Architecture}}}\n'
    f'{{{{if index . "Config"}}}}{_LABELS}{{{{end}}}}'
)

_MOST_BYTES = 8 * 1024 * 1024
# What is removed between two commands is left out by docker, with exit 1. An image that was pulled
# by its digest has no tag: since 29.0 `docker image ls` tells of it with -a only (docker/cli#6574).
_READ = f"""
said=$(docker ps -aq --no-trunc 2>&1) || {{
  printf 'refused %s\\n' "$(printf '%s\\n' "$said" | tail -n 1)"
  exit 0
}}
ids=$(printf '%s\\n' "$said" | grep -xE '[0-9a-f]{{64}}')
if [ -n "$ids" ]; then
  containers=$(docker inspect --type container --format '{_CONTAINER}' $ids)
  [ -n "$containers" ] || exit 0
  printf '%s\\n' "$containers" | sed -E '{_FILTER}'
fi
ids=$(docker image ls -aq --no-trunc) || exit 0
if [ -n "$ids" ]; then
  images=$(docker image inspect --format '{_IMAGE}' $(printf '%s\\n' "$ids" | sort -u))
  [ -n "$images" ] || exit 0
  printf '%s\\n' "$images" | sed -E '{_FILTER}'
fi
volumes=$(docker volume ls -q) || exit 0
printf '%s\\n' "$volumes" | sed 's/^./volume &/'
echo end
"""
ALL = f"""
command -v docker >/dev/null || {{ echo absent; exit 0; }}
docker() {{ timeout {DOCKER_TIMEOUT_S} docker "$@"; }}
({_READ}) | head -c {_MOST_BYTES}
"""
