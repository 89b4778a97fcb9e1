"""The part of JSON Schema that docs/verify.schema.json uses; jsonschema where it is installed."""

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TYPES: Mapping[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool}
KNOWN = {
    *("$schema", "$defs", "$ref", "title", "description", "type", "required", "properties"),
    *("items", "const", "enum", "pattern"),
}


def faults(schema: Mapping[str, Any], document: object) -> list[str]:
    """What the document has that the schema does not allow; nothing where it is valid."""
    if importlib.util.find_spec("jsonschema"):
        validator = importlib.import_module("jsonschema").Draft202012Validator(schema)
        return [error.message for error in validator.iter_errors(document)]
    return list(_faults(schema, schema, document, "$"))


def _faults(root: Mapping[str, Any], part: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:  # noqa: ANN401
    if not part.keys() <= KNOWN:
        raise ValueError(f"{at}: not checked: {sorted(part.keys() - KNOWN)}")
    if "$ref" in part:
        part = root["$defs"][part["$ref"].removeprefix("#/$defs/")]
    if "type" in part and not isinstance(value, TYPES[part["type"]]):
        yield f"{at}: no {part['type']}"
        return
    if "const" in part and (value != part["const"] or isinstance(value, bool)):
        yield f"{at}: not {part['const']}"
    if "enum" in part and value not in part["enum"]:
        yield f"{at}: not one of {part['enum']}"
    if "pattern" in part and not re.search(part["pattern"], value):
        yield f"{at}: not like {part['pattern']}"
    yield from _missing(part.get("required", ()), value, at)
    for name, inner in part.get("properties", {}).items():
        if name in value:
            yield from _faults(root, inner, value[name], f"{at}.{name}")
    for number, item in enumerate(value if "items" in part else ()):
        yield from _faults(root, part["items"], item, f"{at}[{number}]")


def _missing(required: Sequence[str], value: Any, at: str) -> Iterator[str]:  # noqa: ANN401
    yield from (f"{at}: no {name}" for name in required if name not in value)
