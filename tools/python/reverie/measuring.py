"""Measurements and trainings that are recorded, on this machine or on many."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import tempfile
from typing import Any, Iterable, Mapping

from . import _core
from .program import options_of, run
from .settings import as_list, bindings, flatten
from .tasks import Command, anywhere, each

_OPERATORS_OF_A_TASK = 32


def profile(
    models: Iterable[Any] | Any,
    out: Any,
    *,
    cost: str = "cpu",
    search_depth: int = 3,
    rules: Iterable[str] = (),
    dims: Mapping[str, int] | Iterable[str] = (),
    shapes: Mapping[str, Iterable[int]] | Iterable[str] = (),
    executor: concurrent.futures.Executor | None = None,
) -> dict[str, Any]:
    """Measures every operator that rewriting can reach: what the command `profile` does.

    out           a cost table, for cost="table:FILE"; what it has is not measured again
    cost          where to measure: "cpu", "cuda"
    search_depth  rewrites on top of one another; 0: the operators of the models alone
    executor      measures 32 operators in a task. A machine has to run one task at a time.
                  InputError where machines are of different kinds, as the table names its machine;
                  what was measured before stays

    Returns how many operators there are, were measured, and cannot be run alone.
    """
    table = os.path.abspath(os.fspath(out))
    words = as_list(models) + options_of({"cost": cost, "search-depth": search_depth})
    repeated = {"--rules": as_list(rules), "--shape": bindings(shapes), "--dim": bindings(dims)}
    words += [word for option in repeated for one in repeated[option] for word in (option, one)]
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        listed = os.path.join(folder, "operators")
        run("profile", [*words, "--list", "--out", listed], tells=False)
        total = len(pathlib.Path(listed).read_text().splitlines())
        wanted = _core.unmeasured(listed, table)
        tasks = [
            Command(
                "profile",
                ["--from", "{}/operators", "--out", "{}/table.h5", "--cost", cost],
                files={"operators": "\n".join(wanted[first : first + _OPERATORS_OF_A_TASK])},
            )
            for first in range(0, len(wanted), _OPERATORS_OF_A_TASK)
        ]
        measured = 0
        for index, done in each(executor, tasks):
            own = os.path.join(folder, str(index))
            done.extract(own)
            _core.join_cost_tables(table, [os.path.join(own, "table.h5")])
            measured += done.told["measured"]
    unmeasured = len(wanted) - measured
    return {"table": table, "operators": total, "measured": measured, "unmeasured": unmeasured}


def record(
    network: Any,
    out: Any,
    *,
    runs: int = 1,
    seed: int = 1,
    executor: concurrent.futures.Executor | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Trains every sequence of decisions for a network: what `adapt --record` does.

    out       a table, for Adapt-v0; what it has is not trained again
    runs      trainings of each sequence, from the seed on
    executor  trains with one seed in a task. The table does not depend on it
    settings  of the training, such as train={"budget": 8}; a folder of data has to be the same
              everywhere
    """
    table = os.path.abspath(os.fspath(out))
    given = flatten((), {"adapt": settings})
    seeds = [one for one in range(seed, seed + runs) if one not in _recorded(table)]
    tasks = [
        Command(
            "adapt",
            [anywhere(network), "--record", "{}/table.json", "--runs", "1", "--seed", str(one)],
            given,
            tells=False,
        )
        for one in seeds
    ]
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        for index, done in each(executor, tasks):
            own = os.path.join(folder, str(index))
            done.extract(own)
            _core.join_recordings(table, [os.path.join(own, "table.json")])
    return {"table": table, "recorded": len(seeds)}


def _recorded(table: str) -> set[int]:
    """Seeds with which every sequence of a table was trained."""
    if not os.path.exists(table):
        return set()
    sequences = json.loads(pathlib.Path(table).read_text())["sequences"]
    seeds = [{run["seed"] for run in sequence["runs"]} for sequence in sequences]
    return set.intersection(*seeds) if seeds else set()
