"""Collecting rollouts, on this machine or on many."""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import warnings
from typing import Any, Iterable, Mapping

from . import _core
from ._core import InputError
from .environments import given_to, kind_of
from .program import environment_settings, options_of, run
from .settings import flatten
from .tasks import each


@functools.lru_cache(maxsize=4)
def _maker(config: str, directory: str) -> _core.ShardMaker:
    return _core.ShardMaker(config, directory)


def make_shard(config: str, directory: str, shard: int) -> bytes:
    """The bytes of a shard: a function of the configuration alone, on whatever machine."""
    return _maker(config, directory).make(shard)


def collect(
    name: str,
    out: Any,
    *,
    seed: int = 0,
    executor: concurrent.futures.Executor | None = None,
    workers: int | None = None,
    resume: bool = False,
    ppo: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Plays episodes and writes them as rollouts, which are those of the command `collect`.

    name      id of an environment, such as "Rewrite-v0"
    out       a new directory
    executor  makes shards wherever it runs tasks: any concurrent.futures.Executor, such as Dask's
              client.get_executor(). Its machines see the inputs under the same paths. The bytes do
              not depend on it. None: `workers` threads of this process
    resume    goes on with a directory in which a collection was interrupted
    ppo       settings of agent="ppo", which learns before it plays, such as {"updates": 10}. It
              plays in a process of its own, and so does agent="FILE.pt", a network in TorchScript
    settings  keys of the collection (episodes, agent, shard_episodes, ...) and of the environment,
              with its inputs

    Returns what was collected: episodes, steps, mean_improvement_percent, ... An executor that loses
    a worker gives its shard to another, or raises; then `resume` keeps the shards that are there.
    """
    kind = kind_of(name)
    known = set(_core.collect_settings())
    directory = os.path.abspath(os.fspath(out))
    of_environment = {key: value for key, value in settings.items() if key not in known}
    of_collection = {key: value for key, value in settings.items() if key in known}
    agent = str(settings.get("agent", ""))
    if ppo is not None and agent != "ppo":
        raise InputError("ppo has the settings of agent='ppo', and another agent plays")
    if agent == "ppo" or agent.endswith(".pt"):
        if executor is not None:
            raise InputError(f"agent {agent} needs LibTorch; without an executor it collects here")
        inputs, given = environment_settings(kind, of_environment)
        words = {"env": kind, "out": directory, "seed": seed, "workers": workers, "resume": resume}
        given += flatten((), {"collect": of_collection, "ppo": ppo or {}})
        return run("collect", [*inputs, *options_of(words)], given, progress=False)
    collection = _core.Collection(
        kind,
        given_to(kind, of_environment),
        flatten(known, of_collection),
        seed,
        directory,
        resume,
    )
    for warning in collection.warnings:
        warnings.warn(warning, stacklevel=2)
    try:
        if executor is not None:
            shards = collection.missing()
            make = functools.partial(make_shard, collection.config, directory)
            for index, content in each(executor, [functools.partial(make, one) for one in shards]):
                collection.write(shards[index], content)
        return json.loads(collection.finish(workers or os.cpu_count() or 1))
    finally:
        collection.release()
