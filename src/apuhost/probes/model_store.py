"""Ollama's models as files on the host: manifests, blobs, and the manifests that are kept aside.

Layout (Ollama's manifest/*.go): manifests/HOST/NAMESPACE/MODEL/TAG, and blobs/sha256-HEX. Kept
manifests lie in the same order below KEPT, each in a folder with its parameters.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError, files, model_manifest
from apuhost.probes.container_commands import CONTAINER, DOCKER_TIMEOUT_S, OLLAMA
from apuhost.probes.files import TextFile
from apuhost.probes.model_manifest import (
    CONFIG,
    PARAMS,
    Layer,
    Manifest,
    Offer,
    parse_offer,
    sha256,
)
from apuhost.probes.model_names import name_at, short_name
from apuhost.probes.pairs import whole_number

__all__ = ["Layer", "Offer", "parse_offer"]

KEPT = "/var/lib/apuhost/models"
"""Where manifests stay as their registries gave them: setting parameters changes Ollama's own."""

_MODELS = "/root/.ollama/models"
_ANY = "*/*/*/*"
_MOST_BYTES = 16 * 1024 * 1024
_MOST_BYTES_OF_A_BLOB = 64 * 1024
_TOLD = f"{PARAMS}|{CONFIG}".replace("+", "[+]")
"""The kinds of blobs whose text is read, as sed's expression."""

# `.Id` makes the client take docker's answer as it is: see containers.py.
_PLACE = (
    "{{.Id}}\n{{range .Mounts}}mount\t{{.Destination}}\t{{.Source}}\n{{end}}"
    '{{range index .Config "Env"}}env {{json .}}\n{{end}}'
)
# The store's path in the container, led through the mount that it lies in.
FIND = f"""
{CONTAINER}
frame() {{ printf '==> %d %s\\n%s\\n' "${{#2}}" "$1" "$2"; }}
refuse() {{ frame error 'docker does not answer'; exit 0; }}
id=$(ollama_container) || refuse
source= store=
if [ -n "$id" ]; then
  place=$(timeout {DOCKER_TIMEOUT_S} docker inspect --type container --format '{_PLACE}' "$id") ||
    refuse
  models=$(printf '%s\\n' "$place" | sed -nE 's~^env "OLLAMA_MODELS=(.+[^/])/*"$~\\1~p')
  mounted=$(printf '%s\\n' "$place" | awk -F '\\t' -v models="${{models:-{_MODELS}}}" '
    $1 == "mount" && index(models "/", $2 "/") == 1 && length($2) > length(mount) {{
      mount = $2
      source = $3
    }}
    END {{ if (mount != "") print source "\\t" substr(models, length(mount) + 1) }}')
  source=${{mounted%%\t*}}
  store=$source${{mounted#*\t}}
elif command -v docker >/dev/null; then
  source=$(timeout {DOCKER_TIMEOUT_S} docker volume inspect --format '{{{{.Mountpoint}}}}' {OLLAMA})
  [ -z "$source" ] || store=$source/models
fi
"""
"""sh text: where `source` is mounted and the `store` in it are on the host, both "" without one.

It leaves `frame NAME TEXT`, too; where Docker does not answer it frames that as an error and ends.
"""

# What is below the mount is the container's: a link there would lead to a file of the host's, so
# only what is in its own place is read, and plain (a FIFO would wait for a writer).
_READ = f"""
{FIND}
in_place() {{ [ -f "$1" ] && [ "$(readlink -f "$1")" = "$real${{1#"$source"}}" ]; }}
{files.command(f"{KEPT}/{_ANY}/*")}
case "$store" in */models)
  real=$(readlink -f "$source")
  folder=$store
  [ -d "$folder" ] || folder=${{store%/models}}
  frame directory "${{store%/models}}"
  frame owner "$(stat -c %u:%g "$folder")"
  frame free "$(df -B1 --output=avail "$folder" | tail -n 1)"
  frame blobs "$(find "$store/blobs" -maxdepth 1 -type f -printf '%f %s\\n')"
  set --
  for file in "$store"/manifests/{_ANY}; do
    in_place "$file" && set -- "$@" "$file"
  done
  {files.command('"$@"')}
  for digest in $(cat "$@" </dev/null | tr -d ' \\t\\r\\n' | tr '{{}}' '\\n\\n' |
    sed -nE '\\~"mediaType":"({_TOLD})"~s/.*"digest":"sha256:([0-9a-f]{{64}})".*/\\1/p' | sort -u)
  do
    blob=$store/blobs/sha256-$digest
    in_place "$blob" && [ "$(wc -c <"$blob")" -le {_MOST_BYTES_OF_A_BLOB} ] || continue
    {files.command('"$blob"')}
  done
esac
frame end ''
"""
COMMAND = f"({_READ}) | head -c {_MOST_BYTES}"


@dataclass(frozen=True)
class StoredModel:
    """A model in the store, by the short name that Ollama shows.

    `digest` is that of /api/tags; `parameters` are its options, {} without any; `whole` says
    that every blob is there in its size and that the parameters can be read (other blobs are
    not hashed: they are gigabytes). `requires` is the version of Ollama that it needs, "" when it
    does not say, None where its configuration cannot be read.
    """

    name: str
    path: str
    digest: str
    layers: tuple[Layer, ...]
    config: Layer
    parameters: Mapping[str, Any]
    requires: str | None
    whole: bool


@dataclass(frozen=True)
class KeptManifest:
    """A manifest in KEPT, with its text as it is, and the parameters that it came with."""

    name: str
    path: str
    digest: str
    layers: tuple[Layer, ...]
    config: Layer
    parameters: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class ModelStore:
    """The store, as far as there is one.

    `directory` on the host is Ollama's folder, which has models/ in it (perhaps not yet); it is
    None without a container or volume, or where its models lie in no mount. `owner` is UID:GID
    of models/ (or of the folder). `blobs` are whole ones' names with bytes, `partial` the names
    of downloads that were not finished. `broken` are paths of the store's manifests that cannot
    be read; a kept one that is not whole is left out: it is kept anew.
    """

    directory: str | None
    owner: str | None
    free_bytes: int | None
    models: tuple[StoredModel, ...]
    kept: tuple[KeptManifest, ...]
    blobs: Mapping[str, int]
    partial: tuple[str, ...]
    broken: tuple[str, ...]

    def named(self, name: str) -> StoredModel | None:
        """Return the stored model of a name, short or in full; its case does not matter."""
        wanted = short_name(name).lower()
        return next((each for each in self.models if each.name.lower() == wanted), None)

    def kept_named(self, name: str) -> KeptManifest | None:
        """Return the kept manifest of a name, short or in full; its case does not matter."""
        wanted = short_name(name).lower()
        return next((each for each in self.kept if each.name.lower() == wanted), None)


def parse(text: str) -> ModelStore:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: docker does not answer, or the frames do not add up.
    """
    found = files.parse_files(text)
    told = {file.path: file.text for file in found if not file.path.startswith("/")}
    if "error" in told:
        raise ParseError(told["error"])
    if "end" not in told:
        raise ParseError("the store's files end in the middle")
    directory = told.get("directory") or None
    sizes = dict(_sizes(told.get("blobs", "")))
    partial = tuple(sorted(name for name in sizes if "-partial" in name))
    blobs = {name: size for name, size in sizes.items() if name not in partial}
    texts = {sha256(file.text): file.text for file in found}
    stored = [file for file in found if file.path.startswith(f"{directory}/models/manifests/")]
    read = {file.path: manifest for file in stored if (manifest := _manifest(file))}
    return ModelStore(
        directory=directory,
        owner=told.get("owner") or None,
        free_bytes=whole_number(told.get("free")),
        models=tuple(_stored(path, manifest, blobs, texts) for path, manifest in read.items()),
        kept=tuple(_kept(found, texts)),
        blobs=blobs,
        partial=partial,
        broken=tuple(file.path for file in stored if file.path not in read),
    )


def _sizes(listing: str) -> Iterator[tuple[str, int]]:
    for line in listing.split("\n"):
        name, _, size = line.rpartition(" ")
        number = whole_number(size)
        if name and number is not None:
            yield name, number


def _manifest(file: TextFile) -> Manifest | None:
    try:
        return model_manifest.parse(file.text)
    except ParseError:
        return None


def _stored(
    path: str, manifest: Manifest, blobs: Mapping[str, int], texts: Mapping[str, str]
) -> StoredModel:
    whole = all(
        blobs.get(layer.blob) == layer.size for layer in (*manifest.layers, manifest.config)
    )
    try:
        parameters = model_manifest.parameters(manifest, texts)
    except ParseError:
        parameters, whole = {}, False
    return StoredModel(
        name=name_at(path),
        path=path,
        digest=manifest.digest,
        layers=manifest.layers,
        config=manifest.config,
        parameters=parameters,
        requires=_requires(manifest, texts),
        whole=whole,
    )


def _requires(manifest: Manifest, texts: Mapping[str, str]) -> str | None:
    try:
        return model_manifest.requires(manifest.config, texts)
    except ParseError:
        return None


def _kept(found: tuple[TextFile, ...], texts: Mapping[str, str]) -> Iterator[KeptManifest]:
    for file in found:
        folder, _, name = file.path.rpartition("/")
        if not folder.startswith(f"{KEPT}/") or name != "manifest":
            continue
        with suppress(ParseError):
            manifest = model_manifest.parse(file.text)
            yield KeptManifest(
                name=name_at(folder),
                path=file.path,
                digest=manifest.digest,
                layers=manifest.layers,
                config=manifest.config,
                parameters=model_manifest.parameters(manifest, texts),
                text=file.text,
            )
