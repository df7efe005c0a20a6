"""The program `reverie`, run in a process of its own.

So LibTorch and the PyTorch of this process do not meet.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Iterable, Mapping

from ._core import InputError
from .environments import given_to
from .settings import Setting, as_list


def _program() -> str:
    """The program beside this package where both were built, or the one on the path."""
    beside = pathlib.Path(__file__).resolve().parents[2] / "reverie"
    found = str(beside) if beside.is_file() else shutil.which("reverie")
    if found is None:
        raise InputError("this needs the program reverie; install it, or put its folder on PATH")
    return found


class _Lines(threading.Thread):
    """Passes on what the program says, as notebooks show sys.stderr alone, and keeps the last."""

    def __init__(self, stream: IO[str], shown: bool):
        super().__init__(daemon=True)
        self.last = ""
        self._stream = stream
        self._shown = shown
        self.start()

    def run(self) -> None:
        for line in self._stream:
            self.last = line.strip() or self.last
            if self._shown and not line.startswith("reverie: "):
                print(line, end="", file=sys.stderr, flush=True)


def run(
    command: str,
    arguments: Iterable[Any],
    settings: Iterable[Setting] = (),
    progress: bool = False,
    tells: bool = True,
) -> dict[str, Any]:
    """What the command tells as JSON, where it tells something.

    Ctrl-C lets it end as it does on the command line, keeping what it has.
    """
    words = [_program(), command, *as_list(arguments)]
    if tells:
        words.append("--json")
    for key, value in settings:
        text = value if isinstance(value, str) else f"[{','.join(value)}]"
        words += ["--set", f"{key}={text}"]
    if not progress:
        words.append("--quiet")
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None and process.stderr is not None
    said = _Lines(process.stderr, progress)
    try:
        output = process.stdout.read()
        status = process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    said.join()
    if status != 0:
        message = said.last.removeprefix("reverie: ") or f"{command} ended with status {status}"
        raise InputError(message) if status == 2 else RuntimeError(message)
    return json.loads(output.splitlines()[-1]) if tells else {}


def environment_settings(kind: str, given: dict[str, Any]) -> tuple[list[str], list[Setting]]:
    """The inputs and settings of an environment, as a command takes them."""
    inputs: list[str] = []
    settings: list[Setting] = []
    for key, value in given_to(kind, given):
        if key == "inputs":
            inputs = as_list(value)
        else:
            settings.append((f"env.{key}" if key == "horizon" else f"env.{kind}.{key}", value))
    return inputs, settings


def options_of(given: Mapping[str, Any]) -> list[str]:
    """Options of a command line; None and False are left out."""
    words = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        words.append("--" + name)
        if value is not True:
            words.append(",".join(as_list(value)))
    return words
