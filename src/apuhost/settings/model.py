"""What every settings model is: frozen, no unknown key, no silent conversion."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

MAX_PORT = 65535


class Model(BaseModel):
    """A role's settings, or a part of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def refuse(faults: Iterable[str]) -> None:
    """Refuse a value for all that is wrong in it, at once; "" is no fault.

    Raises:
        ValueError: something is.
    """
    if found := [fault for fault in faults if fault]:
        raise ValueError("; ".join(found))
