"""What an exception of an inventory's own code means for who wrote the file, and what to do."""

import re
import sys
from collections.abc import Callable
from pathlib import PurePath

from apuhost import roles

_ENVIRONMENT = frozenset({"os.py", "<frozen os>"})
"""Where os.environ lives; newer Pythons freeze it."""

_CONSTANTS = {"true": "True", "false": "False", "null": "None", "none": "None"}
"""How JSON and YAML write what Python writes otherwise."""


_MODULE = (
    f"{sys.executable} runs this: install the module there; "
    "of a file beside this one, put sys.path.append(os.path.dirname(__file__)) above"
)


def _name(found: re.Match[str]) -> str:
    name = found[1]
    if name.lower() in _CONSTANTS:
        return f"Python writes {_CONSTANTS[name.lower()]}"
    return f'a text stands in quotes ("{name}"), a name is set or imported above'


def _file(found: re.Match[str]) -> str:
    return (
        f'paths start in {roles.CHECKOUT}; beside this file: Path(__file__).parent / "{found[1]}"'
    )


_ADVICE: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"ModuleNotFoundError: No module named '.+'"), lambda _: _MODULE),
    (re.compile(r"NameError: name '(.+?)' is not defined"), _name),
    (re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '([^/].*)'"), _file),
    (re.compile(r"SystemExit: .*"), lambda _: "the file ends here: raise an error that says why"),
)


def advised(sentence: str, raised_in: str) -> str:
    """An exception's line with what to do; `raised_in` is the file that its last frame is of."""
    variable = re.fullmatch(r"KeyError: '(.+)'", sentence)
    if variable and PurePath(raised_in).name in _ENVIRONMENT:
        name = variable[1]
        return (
            f'{name} is not in the environment: export {name}=..., or os.environ.get("{name}", "")'
        )
    for pattern, advice in _ADVICE:
        if found := pattern.match(sentence):
            return f"{sentence}: {advice(found)}"
    return sentence
