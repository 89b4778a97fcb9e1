"""The pages of the documentation, and the code in them."""

import re
from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

DOCS = CHECKOUT / "docs"
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
NAMES = [str(page.relative_to(CHECKOUT)) for page in PAGES]

every_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)

CODE = re.compile(r"^```.*?^```|`[^`]+`", re.MULTILINE | re.DOTALL)


def text(page: Path) -> str:
    """A page as it is written."""
    return page.read_text(encoding="utf-8")


def code(page: Path) -> list[str]:
    """Its blocks of code, and the code within its sentences, fences and quotes included."""
    return CODE.findall(text(page))


def lines_of_code(page: Path) -> list[str]:
    """The lines of all its code, without fences, quotes and prompts."""
    lines = [line for block in code(page) for line in block.strip("`").splitlines()]
    return [line.removeprefix("$ ") for line in lines]
