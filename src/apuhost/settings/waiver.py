"""What may be waived: a verdict by its id, with a reason, until a day."""

import re
from datetime import date
from difflib import get_close_matches
from typing import Annotated

from pydantic import BeforeValidator, field_validator

from apuhost import verdict_ids
from apuhost.settings.model import Model

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _day(value: object) -> date | None:
    # As text, since a date of Python's does not come through the JSON in which pyinfra lists its
    # hosts; fromisoformat takes 20270301 and 2027-W09-1, too.
    if value is None or type(value) is date:
        return value
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError('as text: "2027-03-01"')
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise ValueError("no day of the calendar") from error


class Waiver(Model):
    """What somebody answers for: the verdict of this id may fail, warn or be unknown.

    until is the last day on which that counts, as text; the next day the verdict fails the host.
    [checks.md](checks.md#waivers) has the ids, and an example.
    """

    id: str
    reason: str
    until: Annotated[date | None, BeforeValidator(_day)] = None

    @field_validator("id")
    @classmethod
    def _verdict(cls, value: str) -> str:
        if value not in verdict_ids.ALL:
            near = get_close_matches(value, verdict_ids.ALL, n=1)
            raise ValueError(f"no verdict{f': {near[0]}?' if near else ''}")
        return value

    @field_validator("reason")
    @classmethod
    def _sentence(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("one line that says why")
        return value.strip()
