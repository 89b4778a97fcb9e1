"""The kinds of text that `apuhost parse` reads, and what shows a text to be of none."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from apuhost.probes import (
    ParseError,
    cmdline,
    daemon_json,
    docker_info,
    grub,
    grub_cfg,
    kernel_log,
    modprobe,
    ollama_final,
    ollama_log,
    ollama_ps,
    prefix_cache,
    runners,
)
from apuhost.probes.files import TextFile, frame
from apuhost.round_trip import PROBES

_FRAME = "==> "
# Of markup, JSON, and lines of a log or a table.
_NO_FIRST_WORD = re.compile(r'[<{\[]|.*(?:"|:\Z)', re.DOTALL)

Reader = Callable[[str], object]


def _framed(path: str, text: str) -> str:
    """One file's plain text as the probe frames it; framed text, as facts save it, stays."""
    return text if text.startswith(_FRAME) or not text else frame((TextFile(path, text),))


def _grub(text: str) -> grub.GrubDefaults:
    if text.startswith(_FRAME):
        raise ParseError("these are several framed files: give the text of one")
    return grub.defaults(text)


def _daemon_json(text: str) -> daemon_json.DaemonJson:
    """The file's text, or what facts save of it and of the unit's drop-ins."""
    if not text.startswith(_FRAME):
        return daemon_json.parse(text)
    found = daemon_json.parse_files_of(text).daemon_json
    if found is None:
        raise ParseError(f"{daemon_json.PATH} is not among these framed files")
    return daemon_json.parse(found)


def _cmdline(text: str) -> object:
    """The kernel takes any words: what no line begins with shows other text of one line."""
    found = cmdline.parse(text)
    first = next(iter(found.arguments), None)
    if first and first.value is None and _NO_FIRST_WORD.match(first.key):
        raise ParseError(f"no parameter looks like its first word, {first.key[:40]}")
    return cmdline.document(found)


# Probes whose text is of our own making, and means nothing to who has not read the probe.
_INNER = frozenset(
    {"accounts", "apt_sources", "compose", "container_packages", "containers", "dmi_memory"}
    | {"docker", "firewall", "gpu_firmware", "grub", "kernel_log", "mirror", "model_store", "nodes"}
    | {"mirror_answers", "mirror_serving"}
    | {"ollama_api", "packages", "runners", "units"}
)

OF_FACTS: Mapping[str, str] = {
    **{name: name.replace("_", "-") for name in PROBES if name not in _INNER},
    "docker": "docker-info",
    "kernel_log": "dmesg",
    "ollama_api": "ollama-ps",
}
"""Kinds that read a file of a facts folder, by its name without `.txt`."""

READERS: Mapping[str, Reader] = {
    **{kind: PROBES[name].parse for name, kind in OF_FACTS.items()},
    # One file's text, not the framed files of the probe; fields as the contract names them.
    "grub-cfg": lambda text: grub_cfg.parse(_framed("/boot/grub/grub.cfg", text)),
    "modprobe": lambda text: modprobe.parse(_framed("/etc/modprobe.d/file.conf", text)),
    "cmdline": _cmdline,
    "daemon-json": _daemon_json,
    "grub": _grub,
    "docker-info": docker_info.parse,
    "ollama-final": ollama_final.parse,
    "ollama-ps": lambda text: ollama_ps.parse(text, datetime.now(UTC)),
    # Command lines as people paste them; the probe's are framed with their environment.
    "runner-cmd": runners.parse,
    # Lines of the runners in the container's whole log; the probe's keeps what a start says.
    "prefix-cache": prefix_cache.parse,
}

LOGS: Mapping[str, Callable[[Iterable[str]], object]] = {
    "dmesg": kernel_log.read,
    "ollama-log": ollama_log.read,
    "prefix-cache": prefix_cache.read,
}
"""Kinds whose text may be of any length: they are read line by line."""

WITHOUT: Mapping[str, str] = {
    "boots": "no `boot` line in it",
    "daemon-json": "it does not begin as JSON does",
    "disk": "no line of `df -P -B1` in it",
    "grub": "no GRUB_ variable in it",
    "grub-cfg": "no command of a boot menu in it",
    "loader": "no line of the probe's in it",
    "machine": "no line of the probe's in it",
    "modprobe": "no line of a modprobe.d file in it",
    "modules": "no `loaded`, `known` or `live` line in it",
    "os-release": "no ID, NAME or VERSION_ID in it",
}
"""Kinds whose parser passes over what it does not know, and what is told of a foreign text."""


def _lines(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*(?:{pattern})", re.MULTILINE)


# Files may say much that is not read here, or nothing but comments. A line of prose may begin
# with `set`, `install` or `options`: what follows tells.
_SIGNS: Mapping[str, re.Pattern[str]] = {
    "boots": re.compile(r"\Aend\s*\Z|^(?:boot|saved) [0-9a-f-]{36} ", re.MULTILINE),
    # A broken file is one too, with the place where it breaks.
    "daemon-json": re.compile(
        rf"\A(?:{_FRAME}|\ufeff?\s*(?:(?://|\#|/\*)[^\n]*\n\s*)*"
        r"(?:[{}\],]|\"(?!\")|\[\s*[\[{\"\]]|(?:null|true|false)\b))"
    ),
    "grub": re.compile(
        r"(?:^[ \t]*(?:export[ \t]+)?|(?:[;&|]|then|do|else)[ \t]+)GRUB_\w*\+?="
        r"|^[ \t]*(?:\.|source)[ \t]+[\"']?[$~./]",
        re.MULTILINE,
    ),
    "grub-cfg": _lines(
        r"(?:menuentry|submenu)[ \t]+[\"'$\w]|set[ \t]+\w+=|load_env\b|insmod[ \t]+\w+[ \t]*$"
        r"|search[ \t]+-|(?:configfile|linux(?:16|efi)?)[ \t]+[\"'/($]"
    ),
    # Other files have such keys too: with blanks around the sign, or with other values.
    "loader": _lines(r"efi=yes$|(?:file|newer)=/|info=[^{]|tool=[\w-]+$"),
    "machine": _lines(r"(?:hostname|virtualization|(?:board|product)_name|sys_vendor|bios_\w+)=\S"),
    "modprobe": _lines(
        r"blacklist[ \t]+\S+[ \t]*(?:#|$)|options[ \t]+\S+[ \t]+(?:\S+[ \t]*$|(?:\S.*)?\w=)"
        r"|alias[ \t]+\S+[ \t]+[\w-]+[ \t]*$|(?:soft|weak)dep[ \t]+\S+[ \t]"
        r"|(?:install|remove)[ \t]+[\w-]+[ \t]+(?:[/:]|true|false)"
    ),
}
_CONTINUED = re.compile(r"\\\r?\n")
_SAYS_NOTHING = re.compile(rf"[ \t\r]*(?:#.*|{_FRAME}.*)?")
# What stands behind a module's name is any command of a shell, and may look like prose: it is
# one where no line of another form is beside it.
_COMMANDS: Mapping[str, re.Pattern[str]] = {
    "modprobe": re.compile(
        r"[ \t]*(?:install|remove)[ \t]+(?!(?:the|an?|it|this|that|your)[ \t])[\w-]+[ \t]+\S"
        r"(?:.*[^.,:!?\s])?\s*"
    )
}


def read(kind: str, text: str) -> object:
    """Return what a text of a kind says.

    Raises:
        ParseError: it is of another kind.
    """
    document = READERS[kind](text)
    if text.strip() and _is_foreign(kind, text, document):
        raise ParseError(WITHOUT[kind])
    return document


def _is_foreign(kind: str, text: str, document: object) -> bool:
    """Whether a text was read without an error only because nothing of its kind is in it."""
    if sign := _SIGNS.get(kind):
        return sign.search(text) is None and not all(
            _SAYS_NOTHING.fullmatch(line) or _is_command(kind, line)
            for line in _CONTINUED.sub(" ", text).split("\n")
        )
    return kind in WITHOUT and document == READERS[kind]("")


def _is_command(kind: str, line: str) -> bool:
    return kind in _COMMANDS and _COMMANDS[kind].fullmatch(line) is not None
