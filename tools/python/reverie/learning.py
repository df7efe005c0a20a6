"""The steps that learn: what the commands train_vae, train_mdnrnn, dream_train and evaluate do.

Each runs the program `reverie` in a process of its own, so that LibTorch and the PyTorch of this
process do not meet. Settings are keys of the command's --set; a section is a dictionary.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Iterable, Mapping

from ._core import InputError
from .environments import given_to, kind_of
from .settings import Setting, as_list, flatten


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
    command: str, arguments: Iterable[Any], settings: Iterable[Setting], progress: bool
) -> dict[str, Any]:
    """What the command tells as JSON.

    Ctrl-C lets it end as it does on the command line, keeping what it has.
    """
    words = [_program(), command, "--json", *as_list(arguments)]
    for key, value in settings:
        words += ["--set", f"{key}={value if isinstance(value, str) else ','.join(value)}"]
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
    return json.loads(output.splitlines()[-1])


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


def train_vae(
    rollouts: Any,
    out: Any,
    *,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    resume: bool = False,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Trains V: graphs to latents. The file is in the result's "encoder".

    rollouts  a directory that `collect` wrote
    out       a directory for this run
    device    "cpu", "cuda", "cuda:1"
    threads   of LibTorch; with 1, equal runs give equal weights
    resume    goes on with the run in `out`
    progress  shows it on sys.stderr
    settings  such as vae={"epochs": 10}
    """
    options = options_of(
        {"out": out, "seed": seed, "device": device, "threads": threads, "resume": resume}
    )
    return run("train_vae", [rollouts, *options], flatten((), settings), progress)


def train_mdnrnn(
    rollouts: Any,
    encoder: Any,
    out: Any,
    *,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    resume: bool = False,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Trains M: what an action does in latent space. The file is in the result's "world".

    encoder   encoder.pt, as `train_vae` wrote it
    settings  such as mdnrnn={"epochs": 10}

    The others as in `train_vae`.
    """
    options = options_of(
        {
            "encoder": encoder,
            "out": out,
            "seed": seed,
            "device": device,
            "threads": threads,
            "resume": resume,
        }
    )
    return run("train_mdnrnn", [rollouts, *options], flatten((), settings), progress)


def dream_train(
    rollouts: Any,
    world: Any,
    out: Any,
    *,
    rounds: int | None = None,
    policy: Any = None,
    inputs: Any = None,
    validate_source: str | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    resume: bool = False,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Trains C in the dream and checks it for real. It writes policy.pt into `out`.

    world            world.pt, as `train_mdnrnn` wrote it
    rounds           of collect, fit and dream
    policy           policy.pt to go on from
    inputs           folder with the files that the rollouts were collected on, if they were moved
    validate_source  source of the metrics in validation, such as one that measures
    settings         such as dream={"updates": 100}

    The others as in `train_vae`.
    """
    options = options_of(
        {
            "world": world,
            "out": out,
            "iterate": rounds,
            "policy": policy,
            "inputs": inputs,
            "validate-source": validate_source,
            "seed": seed,
            "device": device,
            "threads": threads,
            "resume": resume,
        }
    )
    return run("dream_train", [rollouts, *options], flatten((), settings), progress)


def evaluate(
    name: str,
    policy: Any,
    out: Any,
    *,
    solvers: Iterable[str] | str | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    progress: bool = False,
    evaluate: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Compares a policy with solvers for real, and writes a report into `out`.

    name      id of an environment, such as "Rewrite-v0"
    policy    policy.pt, as `dream_train` wrote it
    solvers   what to compare with: names, NAME:BUDGET, "usual"
    evaluate  settings of the comparison, such as {"seeds": 5}
    settings  of the environment, with its inputs, as in `make`

    The others as in `train_vae`.
    """
    kind = kind_of(name)
    options = options_of(
        {
            "env": kind,
            "policy": policy,
            "out": out,
            "solvers": solvers,
            "seed": seed,
            "device": device,
            "threads": threads,
        }
    )
    inputs, given = environment_settings(kind, settings)
    given += flatten((), {"evaluate": dict(evaluate or {})})
    return run("evaluate", [*inputs, *options], given, progress)
