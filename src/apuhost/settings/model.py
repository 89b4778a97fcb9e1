"""What every settings model is: frozen, no unknown key, no silent conversion."""

from collections import Counter
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, field_validator

MAX_PORT = 65535


class Model(BaseModel):
    """A role's settings, or a part of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*")
    @classmethod
    def _each_word_once(cls, value: object) -> object:
        if isinstance(value, list):
            each_once(word for word in value if isinstance(word, str))
        return value


def each_once(names: Iterable[str]) -> None:
    """Refuse what stands twice in a list.

    Raises:
        ValueError: something does: who wrote it meant something else the second time.
    """
    counts = Counter(names)
    refuse(f"{name} stands twice" for name, count in counts.items() if count > 1)


def refuse(faults: Iterable[str]) -> None:
    """Refuse a value for all that is wrong in it, at once; "" is no fault.

    Raises:
        ValueError: something is.
    """
    if found := [fault for fault in faults if fault]:
        raise ValueError("; ".join(found))
