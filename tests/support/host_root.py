"""A folder that stands in for /, in which a deploy's root scripts run under the real sh."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN_S = 60

Done = subprocess.CompletedProcess[str]


def give(folder: Path, texts: Mapping[str, str]) -> None:
    """Put files with these texts below a folder."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@dataclass(frozen=True)
class Root:
    """Paths in `led` are led into the folder; programs in bin/ come before the machine's own."""

    folder: Path
    led: tuple[str, ...] = ("/run/apuhost", "/usr/lib/apt/apt-helper")

    def path(self, absolute: str) -> Path:
        """Where an absolute path of a script lies here."""
        return self.folder / absolute.lstrip("/")

    @property
    def said(self) -> list[str]:
        """What the programs of `program` were called with, in order."""
        log = self.folder / "said"
        return log.read_text().splitlines() if log.exists() else []

    def program(self, name: str, script: str = "") -> None:
        """A program that notes how it was called, then runs `script`."""
        path = self.path(name) if name.startswith("/") else self.folder / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        told = f'echo {path.name} "$*" >>{self.folder}/said'
        path.write_text(f"#!/bin/sh\n{told}\n{script}\n")
        path.chmod(0o755)

    def here(self, script: str, replaced: Mapping[str, str]) -> str:
        """A script for this folder; each key of `replaced` must stand in it."""
        for text, instead in replaced.items():
            assert text in script
            script = script.replace(text, instead)
        for path in self.led:
            script = script.replace(path, f"{self.folder}{path}")
        return script.replace("PATH=/", f"PATH={self.folder}/bin:/")

    def start(
        self, script: str, *arguments: str, replaced: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        """Begin a script as `root_script` does, in a session of its own."""
        return subprocess.Popen(
            ["sh", "-c", self.here(script, replaced or {}), "apuhost", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C", "PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
        )

    def run(
        self,
        script: str,
        *arguments: str,
        stdin: str = "",
        replaced: Mapping[str, str] | None = None,
    ) -> Done:
        """Run a script to its end."""
        with self.start(script, *arguments, replaced=replaced) as process:
            out, errors = process.communicate(stdin, timeout=RUN_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
