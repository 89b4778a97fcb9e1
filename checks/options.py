"""What the checks are told on pytest's command line.

A plugin that pyproject.toml names, not part of conftest.py: pytest has to know these options before
it looks for conftest.py files. It would take the folder after an unknown `--from` for one of tests,
and run the conftest.py that lies in it, which whoever sent the facts has written.
"""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("apuhost")
    group.addoption("--inventory", type=Path, help="the hosts to ask")
    group.addoption("--limit", action="append", default=[], help="only this host or group")
    group.addoption("--from", dest="saved", type=Path, help="judge facts saved in this folder")
    group.addoption("--active", action="store_true", help="ask for a token, and one prompt twice")
