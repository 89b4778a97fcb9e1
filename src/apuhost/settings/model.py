"""What every settings model is: frozen, no unknown key, no silent conversion."""

from pydantic import BaseModel, ConfigDict

MAX_PORT = 65535


class Model(BaseModel):
    """A role's settings, or a part of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
