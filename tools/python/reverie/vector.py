"""Many environments that step together on C++ threads, as Gymnasium's vector environments."""

from __future__ import annotations

import os
from typing import Any, Iterator, Sequence

import numpy as np

from . import _core
from ._core import InputError
from ._gym import AutoresetMode, Discrete, MultiDiscrete, VectorEnv, random_generator
from .environments import (
    Solution,
    Spec,
    core_of,
    draws,
    kind_of,
    require_observation,
    seed_of,
    set_sizes,
    space_of,
    start_of,
)
from .observations import Graph

_MODES = {
    AutoresetMode.NEXT_STEP: _core.Autoreset.NEXT_STEP,
    AutoresetMode.SAME_STEP: _core.Autoreset.SAME_STEP,
    AutoresetMode.DISABLED: _core.Autoreset.DISABLED,
}


def _draws(seed: int | None) -> Iterator[int]:
    """What `draw` draws one by one, several at a time."""
    generator = random_generator(seed)
    while True:
        yield from draws(generator, 16)


class VectorEnvironment(VectorEnv):
    """Forks of one environment; see `Environment` for what is not named here.

    Observations are batches: "padded" arrays have an axis of environments in front, and "graph" is
    one graph of all of them, as `collate` makes it. Infos are Gymnasium's: an array for each key,
    and beside it, with an underscore in front, which environments have it.

    num_envs        how many environments
    workers         threads; None: as many as there are processors. Results do not depend on it
    autoreset_mode  NEXT_STEP: the step after the end of an episode begins the next, whatever the
                    action; SAME_STEP: the step that ends an episode begins the next, and
                    infos["final_obs"] and infos["final_info"] tell of the end; DISABLED: nothing
                    begins until reset(options={"reset_mask": MASK}) says so
    """

    kind = ""

    def __init__(
        self,
        kind: str = "",
        num_envs: int = 1,
        *,
        workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        observation: str = "padded",
        max_choices: int = 16,
        max_nodes: int | None = None,
        max_edges: int | None = None,
        strict: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ):
        require_observation(observation)
        if num_envs < 1:
            raise InputError(f"num_envs is {num_envs}; it must be at least 1")
        self.kind = kind_of(kind or self.kind)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.strict = strict
        self.observation = observation
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": ["ansi"], "autoreset_mode": self.autoreset_mode}
        core = core_of(self.kind, settings, max_choices)
        set_sizes(core, observation, max_nodes, max_edges)
        self.environment_spec = Spec.of(core.spec_json)
        self.single_action_space = Discrete(core.actions)
        self.action_space = MultiDiscrete(np.full(num_envs, core.actions))
        self.single_observation_space = space_of(core, self.environment_spec, observation)
        self.observation_space = space_of(core, self.environment_spec, observation, (num_envs,))
        self._starts = np.array(self.environment_spec.starts, object)
        self._core = _core.VectorEnvironment(
            core,
            num_envs,
            min(num_envs, workers or len(os.sched_getaffinity(0))),
            observation == "padded",
            _MODES[self.autoreset_mode],
        )
        self._streams = [_draws(None) for _ in range(num_envs)]
        self._drawn = np.array([next(stream) for stream in self._streams])  # of next episodes
        self._mask = np.zeros((num_envs, core.actions), np.int8)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode in each environment, or in those of options={"reset_mask": MASK}.

        Environment i has the seed `seed` + i, or seed[i].
        """
        options = dict(options or {})
        chosen = self._chosen(options.pop("reset_mask", None))
        start = start_of(self.environment_spec, options)
        for i, given in enumerate(self._all_seeds(seed)):
            if chosen[i] and given is not None:
                self._streams[i] = _draws(given)
                self._drawn[i] = next(self._streams[i])
        seeds = np.array([seed_of(int(one), len(self._starts), start) for one in self._drawn])
        observation, infos = self._core.reset(seeds, chosen)
        self._draw_again(chosen)
        return self._told(observation, infos, chosen)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Observations, rewards, terminations, truncations, infos."""
        numbers = np.asarray(actions, np.int64)
        if numbers.shape != (self.num_envs,):
            raise InputError(f"actions are of shape {numbers.shape}, not ({self.num_envs},)")
        observation, rewards, terminated, truncated, infos, began, finals = self._core.step(
            numbers, self._drawn, self.strict
        )
        self._draw_again(began)
        told, infos = self._told(observation, infos, np.ones(self.num_envs, bool))
        if finals is not None:
            self._add_finals(infos, *finals)
        return told, rewards, terminated, truncated, infos

    def action_masks(self) -> np.ndarray:
        """int8 [environments, actions]: 1 where an action is valid."""
        return self._mask

    def describe(self, environment: int) -> str:
        """The state of an environment in a line."""
        return self._core.describe(environment)

    def solution(self, environment: int) -> Solution:
        """The best state of the episode of an environment."""
        return Solution(self._core.solution(environment))

    def render(self) -> tuple[str, ...] | None:
        if self.render_mode != "ansi":
            return None
        return tuple(self.describe(i) for i in range(self.num_envs))

    def close(self, **unused: Any) -> None:
        self.closed = True

    def _all_seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InputError(f"there are {len(seed)} seeds for {self.num_envs} environments")
        return seed

    def _chosen(self, mask: Any) -> np.ndarray:
        if mask is None:
            return np.ones(self.num_envs, bool)
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise InputError(
                f"reset_mask is not an array of {self.num_envs} truth values with one that is true"
            )
        return mask

    def _draw_again(self, used: np.ndarray) -> None:
        for i in np.flatnonzero(used):
            self._drawn[i] = next(self._streams[i])

    def _told(
        self, observation: dict[str, Any], infos: dict[str, Any], present: np.ndarray
    ) -> tuple[Any, dict[str, Any]]:
        self._mask = infos["action_mask"] = observation["action_mask"]
        infos["start"] = self._starts[infos["start"]]
        infos.update({f"_{key}": present for key in tuple(infos)})
        return observation if self.observation == "padded" else Graph(observation), infos

    def _add_finals(
        self, infos: dict[str, Any], observations: list[Any], final: dict[str, Any]
    ) -> None:
        ended = np.array([one is not None for one in observations])
        last = np.full(self.num_envs, None, object)
        final["action_mask"] = np.zeros_like(self._mask)
        for i in np.flatnonzero(ended):
            one = observations[i]
            last[i] = one if self.observation == "padded" else Graph(one)
            final["action_mask"][i] = one["action_mask"]
        final["start"] = self._starts[final["start"]]
        final.update({f"_{key}": ended for key in tuple(final)})
        infos.update(final_obs=last, _final_obs=ended, final_info=final, _final_info=ended)


def _class_of(kind: str) -> type[VectorEnvironment]:
    what = f"Many environments `{kind}`; see VectorEnvironment for the arguments."
    values = {"kind": kind, "__doc__": what, "__module__": __name__}
    return type(f"Vector{kind.capitalize()}Environment", (VectorEnvironment,), values)


CLASSES = {kind: _class_of(kind) for kind in _core.kinds()}
"""A class for each kind."""
globals().update({environment.__name__: environment for environment in CLASSES.values()})


def make_vec(name: str, num_envs: int = 1, **arguments: Any) -> VectorEnvironment:
    """Environments that step together, by their id; see VectorEnvironment."""
    return CLASSES[kind_of(name)](num_envs=num_envs, **arguments)
