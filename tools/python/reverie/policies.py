"""Trained policies. They need LibTorch, which is loaded when the first one is."""

from __future__ import annotations

import os
from typing import Any

from ._core import InputError
from .environments import Environment, Spec


def _loaded_libtorch() -> str | None:
    """The folder of the LibTorch that this process holds."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libtorch_cpu.so"):
                return os.path.realpath(os.path.dirname(path))
    return None


def _learning() -> Any:
    try:
        from ._libtorch import FOLDER  # type: ignore
    except ImportError:
        raise InputError("policies need LibTorch, and this package was built without it") from None
    loaded, needed = _loaded_libtorch(), os.path.realpath(FOLDER)
    if loaded not in (None, needed):
        raise InputError(
            f"policies need the LibTorch in {needed}, and this process has loaded another one, in "
            f"{loaded}; load the policy in a process that does not import that PyTorch"
        )
    from . import _learning

    return _learning


class Policy:
    """A policy that `dream_train` wrote: V, M and C."""

    def __init__(self, core: Any):
        self._core = core

    @property
    def environment_spec(self) -> Spec:
        """The environment that it was trained in; it meets others by these names."""
        return Spec.of(self._core.spec_json)

    @property
    def environment(self) -> str:
        """The configuration of that environment, as YAML."""
        return self._core.environment

    def act(self, env: Any, greedy: bool = True) -> int:
        """The number of the action that it takes in the present state of an environment.

        M remembers the states in which this was called. Call it in each state of an episode, from
        `reset` on: a policy that comes in later begins with an empty memory. It can follow several
        environments in turn.

        greedy  takes the most probable action; otherwise actions are drawn

        InputError where the environment lacks what the policy knows, or has actions that it does
        not know.
        """
        environment = getattr(env, "unwrapped", env)
        if not isinstance(environment, Environment):
            raise TypeError(f"a policy acts in an environment of reverie, not in {type(env)}")
        return environment.number_of(*self._core.act(environment._core, greedy))

    def __repr__(self) -> str:
        return f"<Policy: {self.environment_spec.name}>"


def load_policy(path: Any, *, seed: int = 0) -> Policy:
    """A policy from policy.pt.

    seed  of the actions that it draws

    Loads LibTorch. A process holds one LibTorch alone, so this raises InputError where a PyTorch is
    imported that brings another one, and such a PyTorch must not be imported later.
    """
    return Policy(_learning().Policy(os.fspath(path), seed))
