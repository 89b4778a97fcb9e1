"""The models in memory: GET /api/ps, or the table that `ollama ps` prints of it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number
from apuhost.probes.pasted_json import count, objects_in, word
from apuhost.probes.plain_text import plain

# For a negative keep_alive Ollama writes some 292 years; from 20 on its client says "Forever".
_FOR_GOOD = timedelta(days=20 * 365)
_HEADER = re.compile(r"\s*NAME\s+ID\s+SIZE\s+PROCESSOR\b")
# A line that was cut ends anywhere behind the id. Ollama counts bytes by thousands (HumanBytes).
_ROW = re.compile(
    r"(?P<name>\S+)\s+(?P<id>[0-9a-f]{12})"
    r"(?:\s+(?P<size>[0-9.]{1,9}) ?(?P<unit>[KMGT]?B)"
    r"(?:\s+(?P<processor>100% GPU|100% CPU|[0-9]{1,3}%/[0-9]{1,3}% CPU/GPU|Unknown)"
    r"(?:\s+(?P<context>[0-9]{1,9})(?!\S|\s+(?:second|minute|hour|day|week|month|year)))?"
    r"(?:\s+(?P<until>\S.*))?)?)?"
)
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class PsModel:
    """A model in memory: bytes in all and on the GPU; tokens of context that one slot has.

    The table shortens the digest to 12 digits and rounds the size; of a model in two parts it does
    not tell what is on the GPU, nor when it goes.
    """

    name: str | None
    digest: str | None
    size: int | None
    size_vram: int | None
    context_length: int | None
    expires_at: str | None
    forever: bool | None


@dataclass(frozen=True)
class Ps:
    """Every model in memory."""

    models: tuple[PsModel, ...]


def parse(text: str, now: datetime) -> Ps:
    """Read an answer of the API, or the table.

    Args:
        text: either of them.
        now: a time with a time zone, from which 20 years are counted.

    Raises:
        ParseError: it is none of both, or lists models in the store (/api/tags, /v1/models).
    """
    shown = plain(text)
    answers = [each for each in objects_in(shown) if "models" in each]
    if answers:
        return Ps(tuple(_answered(answers[-1], now)))
    lines = shown.splitlines()
    rows = tuple(_rows(lines))
    if not rows and shown.strip() and not any(map(_HEADER.match, lines)):
        raise ParseError("neither an answer of /api/ps nor the table of `ollama ps`")
    return Ps(rows)


def _answered(answer: Mapping[str, Any], now: datetime) -> Iterator[PsModel]:
    models = answer["models"]
    if not isinstance(models, list | None):
        raise ParseError("its models are no list")
    for model in models or ():
        if not isinstance(model, dict):
            raise ParseError("a model in it is no object")
        if "modified_at" in model:
            raise ParseError("it lists the models in a store, not those in memory")
        expires_at = word(model, "expires_at")
        yield PsModel(
            name=word(model, "name") or word(model, "model"),
            digest=word(model, "digest"),
            size=count(model, "size"),
            size_vram=count(model, "size_vram"),
            context_length=count(model, "context_length"),
            expires_at=expires_at,
            forever=lasts_for_good(expires_at or "", now),
        )


def lasts_for_good(expires_at: str, now: datetime) -> bool | None:
    """Whether a model stays, seen from a time with a time zone; None: its time is not readable."""
    try:
        expires = datetime.fromisoformat(expires_at)
    except ValueError:
        return None
    return (expires if expires.tzinfo else expires.replace(tzinfo=UTC)) - now > _FOR_GOOD


def _rows(lines: Iterable[str]) -> Iterator[PsModel]:
    """Models of the last table; without its head only of lines that no other table has."""
    headed = False
    rows: list[PsModel] = []
    for line in lines:
        if _HEADER.match(line):
            headed, rows = True, []
        elif (row := _ROW.fullmatch(line.strip())) and (headed or row["processor"]):
            rows.append(_row(row))
    yield from rows


def _row(row: re.Match[str]) -> PsModel:
    size = _bytes(row["size"], row["unit"])
    until = row["until"]
    known = until is not None and (until == "Forever" or until.endswith(("now", "...")))
    return PsModel(
        name=row["name"],
        digest=row["id"],
        size=size,
        size_vram={"100% GPU": size, "100% CPU": 0}.get(row["processor"]),
        context_length=whole_number(row["context"]),
        expires_at=None,
        forever=until == "Forever" if known else None,
    )


def _bytes(number: str | None, unit: str) -> int | None:
    if number is None or not _NUMBER.fullmatch(number):
        return None
    return round(float(number) * _UNITS[unit])
