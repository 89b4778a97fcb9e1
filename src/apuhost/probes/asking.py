"""The bash text that asks Ollama what is loaded, before it asks those models for something.

It stands between single quotes of sh, after PLACE of ollama_api.py: $1 is the host, $2 the port.
"""

from apuhost.probes.ollama_api import PS

API_ANSWER_S = 4
"""For what costs Ollama nothing."""

NO_TEXT = "does not support generate"
"""Ollama's words for a model that only embeds."""

_MOST_BYTES = 256 * 1024

# bash, as in ollama_api.py. Names are quoted in JSON and by blanks here, so they are plain ones.
ASKING = f"""
host=$1 port=$2
frame() {{ printf "==> %d %s\\n%s\\n" "${{#2}}" "$1" "$2"; }}
ask() {{
  answer=
  {{
    printf "%s HTTP/1.0\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n" "$1" >&4
    printf "Content-Length: %d\\r\\n\\r\\n%s" "${{#2}}" "$2" >&4
    answer=$(timeout "$3" head -c {_MOST_BYTES} <&4; echo x)
  }} 4<>"/dev/tcp/$host/$port" || return
  answer=${{answer%x}}
  [ -n "$answer" ]
}}
refuse() {{ frame error "$1"; exit 0; }}
ask "GET {PS}" "" {API_ANSWER_S} || refuse "the API does not answer"
case "$answer" in "HTTP/1."?" 200 "*) ;; *) refuse "GET {PS}: no list of models" ;; esac
models=$(printf "%s" "$answer" | tr -d "\\n" | grep -o "\\"name\\": *\\"[A-Za-z0-9._:/-]*\\"" |
  cut -d "\\"" -f 4)
"""
"""It leaves the loaded `models`, and `ask METHOD_AND_PATH BODY SECONDS`, whose `answer` is empty
when none came, and `frame NAME TEXT`; where nothing can be asked it frames the `error` and ends.
"""
