"""The steps that learn: what the commands train_vae, train_mdnrnn, dream_train and evaluate do.

Each runs the program `reverie`. Settings are keys of the command's --set; a section is a
dictionary.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
from typing import Any, Iterable, Mapping

from .environments import kind_of
from .program import environment_settings, options_of, run
from .settings import Setting, flatten
from .tasks import Command, anywhere, each


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
    executor: concurrent.futures.Executor | None = None,
    evaluate: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Compares a policy with solvers for real, and writes a report into `out`.

    name      id of an environment, such as "Rewrite-v0"
    policy    policy.pt, as `dream_train` wrote it
    solvers   what to compare with: names, NAME:BUDGET, "usual"
    evaluate  settings of the comparison, such as {"seeds": 5}
    executor  evaluates each input in a task of its own. Then each has a report in a folder of
              `out`, 000 and so on, and report.json holds what all of them tell
    settings  of the environment, with its inputs, as in `make`

    The others as in `train_vae`.
    """
    kind = kind_of(name)
    inputs, given = environment_settings(kind, settings)
    given += flatten((), {"evaluate": dict(evaluate or {})})
    options = {
        "env": kind,
        "policy": policy,
        "solvers": solvers,
        "seed": seed,
        "device": device,
        "threads": threads,
    }
    if executor is None:
        words = [*inputs, *options_of({"out": out, **options})]
        return run("evaluate", words, given, progress)
    options["policy"] = os.path.abspath(policy)
    return _evaluate_by(executor, inputs, options_of(options), given, pathlib.Path(out))


def _evaluate_by(
    executor: concurrent.futures.Executor,
    inputs: list[str],
    options: list[str],
    settings: list[Setting],
    out: pathlib.Path,
) -> dict[str, Any]:
    """A task and a folder for each input, and what all told together in report.json."""
    subjects = [[anywhere(one)] for one in inputs] or [[]]
    tasks = [
        Command("evaluate", [*subject, *options, "--out", "{}/report"], settings)
        for subject in subjects
    ]
    told: dict[int, dict[str, Any]] = {}
    for index, done in each(executor, tasks):
        done.extract(out / f"{index:03}")
        told[index] = done.told
    whole = {**told[0], "starts": [start for i in sorted(told) for start in told[i]["starts"]]}
    (out / "report.json").write_text(json.dumps(whole, indent=2) + "\n")
    return whole
