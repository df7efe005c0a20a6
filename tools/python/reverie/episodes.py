"""Episodes that `reverie collect` wrote, with Minari's names."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Iterator, Sequence, Union, overload

import numpy as np

from . import _core
from .environments import Spec
from .observations import Graph


class _Observations(Sequence[Graph]):
    """The states of an episode, read when they are asked for."""

    def __init__(self, core: _core.RolloutReader, states: np.ndarray):
        self._core = core
        self._states = states

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, index: int) -> Graph:
        ...

    @overload
    def __getitem__(self, index: slice) -> list[Graph]:
        ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Graph, list[Graph]]:
        if isinstance(index, slice):
            return [Graph(self._core.graph(state)) for state in self._states[index].tolist()]
        return Graph(self._core.graph(int(self._states[index])))


@dataclasses.dataclass(frozen=True)
class Episode:
    """T steps and T + 1 states; step t leads from observations[t] to observations[t + 1]."""

    id: int
    observations: Sequence[Graph]
    actions: np.ndarray
    """int64 [T]: numbers, as the environment's; -1 for a choice behind `max_choices`."""
    named_actions: np.ndarray
    """int64 [T, 3]: primary action, entity and index."""
    rewards: np.ndarray
    """float64 [T]"""
    terminations: np.ndarray
    """bool [T]"""
    truncations: np.ndarray
    """bool [T]"""
    infos: dict[str, np.ndarray]
    """Of the T + 1 states: objective and feasible."""
    start: str
    """The name of the start state."""
    agent: str
    """Who acted: "random", "mixed:0.15"."""
    split: str
    """train, validation or test."""
    seed: int

    def __len__(self) -> int:
        return len(self.actions)


class Rollouts(Sequence[Episode]):
    """The episodes of a directory, or of one split of them."""

    def __init__(self, directory: Any, split: str | None = None, max_choices: int = 16):
        self._core = _core.RolloutReader(os.fspath(directory), max_choices)
        self._numbers = (
            list(range(len(self._core))) if split is None else self._core.episodes_in(split)
        )
        self.environment_spec = Spec.of(self._core.spec_json)
        """Of the environment that was played."""
        self.config = self._core.config
        """The configuration of the run that collected them, as YAML."""
        self.num_actions = self._core.actions
        """Numbers of actions, as large as masks are."""

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Episode:
        ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]:
        ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Episode, list[Episode]]:
        if isinstance(index, slice):
            return [self._episode(number) for number in self._numbers[index]]
        return self._episode(self._numbers[index])

    def __iter__(self) -> Iterator[Episode]:
        return map(self._episode, self._numbers)

    def _episode(self, number: int) -> Episode:
        values = self._core.episode(number)
        return Episode(observations=_Observations(self._core, values.pop("states")), **values)


def rollouts(directory: Any, split: str | None = None, max_choices: int = 16) -> Rollouts:
    """The episodes that `reverie collect` wrote to a directory.

    split        "train", "validation" or "test"; None: all
    max_choices  as an environment's, so that numbers of actions and masks are the same

    InputError where a file is damaged or there is none.
    """
    return Rollouts(directory, split, max_choices)
