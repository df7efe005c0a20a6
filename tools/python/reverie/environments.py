"""Reverie's environments as Gymnasium's."""

from __future__ import annotations

import copy
import dataclasses
import json
import warnings
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._core import InputError
from ._gym import Discrete, Env
from .observations import Graph, GraphSpace, padded_space
from .settings import Setting, flatten

INPUTS = {"rewrite": "models", "placement": "graphs", "adapt": "scenarios"}
"""What the inputs of a kind are called."""

OBSERVATIONS = ("padded", "graph")


class Action(NamedTuple):
    """What to do, to which entity, and which of its equal choices there."""

    primary: int
    entity: int = 0
    index: int = 0  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class Spec:
    """What an environment looks like from outside; everything has a name."""

    name: str
    node_types: list[str]
    node_features: list[str]
    edge_features: list[str]
    action_features: list[str]
    actions: list[str]
    metrics: list[tuple[str, str]]
    """Name and unit of each number in info["metrics"]."""
    objective: int
    """The metric that episodes are judged by."""
    less_is_better: bool
    max_choices: int
    horizon: int
    starts: list[str]
    """Names of the start states, for reset(options={"start": NAME})."""
    source: str
    """Where the metrics come from: "roofline:t4", "cpu"."""
    deterministic: bool

    @staticmethod
    def of(text: str) -> Spec:
        values = json.loads(text)
        values["metrics"] = [(one["name"], one["unit"]) for one in values["metrics"]]
        values["starts"] = [one["name"] for one in values["starts"]]
        return Spec(**{field.name: values[field.name] for field in dataclasses.fields(Spec)})


def kind_of(name: str) -> str:
    """The kind of "reverie/Rewrite-v0", "Rewrite-v0" or "rewrite"."""
    kind = name.removeprefix("reverie/").removesuffix("-v0").lower()
    if kind not in _core.kinds():
        known = ", ".join(id_of(one) for one in _core.kinds())
        raise InputError(f"there is no environment '{name}'; known are {known}")
    return kind


def id_of(kind: str) -> str:
    """The id under which Gymnasium knows a kind."""
    return f"reverie/{kind.capitalize()}-v0"


def given_to(kind: str, settings: dict[str, Any]) -> list[Setting]:
    """Keyword arguments as inputs and settings of an environment."""
    given = dict(settings)
    name = INPUTS.get(kind, "inputs")
    if name in given:
        given["inputs"] = given.pop(name)
    if isinstance(given.get("inputs"), (str, bytes)) or hasattr(given.get("inputs"), "__fspath__"):
        given["inputs"] = [given["inputs"]]
    known = {key for key, *_ in _core.environment_settings(kind)}
    return flatten(known, given)


def core_of(kind: str, settings: dict[str, Any], max_choices: int) -> _core.Environment:
    core = _core.Environment(kind, given_to(kind, settings), max_choices)
    for warning in core.warnings:
        warnings.warn(warning, stacklevel=4)
    return core


def require_observation(observation: str) -> None:
    if observation not in OBSERVATIONS:
        raise InputError(f"observation is '{observation}'; it can be {' or '.join(OBSERVATIONS)}")


def start_of(spec: Spec, options: dict[str, Any] | None) -> int | None:
    """The number of the start state that the options of `reset` name."""
    unknown = set(options or {}) - {"start"}
    if unknown:
        raise InputError(f"reset has no option '{min(unknown)}'; there is start")
    name = (options or {}).get("start")
    if name is None:
        return None
    if name not in spec.starts:
        raise InputError(f"there is no start state '{name}'; there are {', '.join(spec.starts)}")
    return spec.starts.index(name)


def draws(generator: np.random.Generator, count: int) -> list[int]:
    """Numbers that `seed_of` makes seeds of; the same whether drawn together or one by one."""
    return generator.integers(2**62, size=count).tolist()


def seed_of(drawn: int, starts: int, start: int | None) -> int:
    """The seed of an episode; modulo `starts` it says which start state it begins at."""
    return drawn if start is None else drawn // starts * starts + start


class Solution:
    """The best state of an episode: a rewritten model, a placement, a network."""

    def __init__(self, core: _core.Solution):
        self._core = core

    @property
    def objective(self) -> float:
        return self._core.objective

    def save(self, path: Any) -> dict[str, Any] | None:
        """Writes it: an ONNX model, verified; a placement as JSON; a network as YAML.

        Returns how it was verified, None where it was not. InputError where there is nothing to
        write.
        """
        return json.loads(self._core.save(str(path)))


class Environment(Env):
    """An environment of any kind.

    Actions are numbers. A primary action has `slots` numbers; NO-OP, which ends an episode, is the
    last:

        number = primary * slots + slot

    Where choices have an identity (placement, knapsack, adapt) a slot is an entity, and a number
    means the same in every state. Where they are counted (rewrite) slot n is the n-th choice of the
    primary action, entity by entity; at most `max_choices` are offered. `action_of` and `number_of`
    translate.

    The mask of valid actions is one array in three places: observation["action_mask"],
    info["action_mask"] and `action_masks()`. An action that is not valid leaves the state, gives 0
    and sets info["invalid_action"]; such steps do not count toward the horizon.

    kind         "rewrite", "placement", ..., or an id such as "reverie/Rewrite-v0"
    observation  "padded": arrays of fixed sizes; "graph": arrays as large as the state (`Graph`)
    max_choices  see above
    max_nodes    size of padded arrays; None: twice that of the largest start state. What does not
                 fit is left out, and info["cut_nodes"] counts it
    max_edges    likewise
    strict       an action that is not valid raises InputError
    settings     keys of the configuration (`settings_of`), and the inputs: `models`, `graphs`
                 or `scenarios`
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}
    kind = ""

    def __init__(
        self,
        kind: str = "",
        *,
        observation: str = "padded",
        max_choices: int = 16,
        max_nodes: int | None = None,
        max_edges: int | None = None,
        strict: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ):
        require_observation(observation)
        self.kind = kind_of(kind or self.kind)
        self.render_mode = render_mode
        self.strict = strict
        self.observation = observation
        self._core = core_of(self.kind, settings, max_choices)
        self.environment_spec = Spec.of(self._core.spec_json)
        self.action_space = Discrete(self._core.actions)
        set_sizes(self._core, observation, max_nodes, max_edges)
        self.observation_space = space_of(self._core, self.environment_spec, observation)
        self._mask = np.zeros(self._core.actions, np.int8)
        self._made_by: Any = None

    @property
    def spec(self) -> Any:
        """Gymnasium's record of how this was made; None where it was not made by Gymnasium."""
        return self._made_by

    @spec.setter
    def spec(self, value: Any) -> None:
        self._made_by = copy.copy(value)
        if value is not None:
            self._made_by.nondeterministic = not self.environment_spec.deterministic

    @property
    def slots(self) -> int:
        """Numbers of a primary action."""
        return self._core.slots

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, at a start state that the seed or options={"start": NAME} chooses."""
        super().reset(seed=seed)
        start = start_of(self.environment_spec, options)
        self._core.reset(
            seed_of(draws(self.np_random, 1)[0], len(self.environment_spec.starts), start)
        )
        return self._observe()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated, truncated, info. InputError when the episode is over."""
        number = int(action)
        valid, reward, terminated, truncated = self._core.step(number)
        if not valid and self.strict:
            self._core.action(number)  # says why not
        observation, info = self._observe()
        info["invalid_action"] = not valid
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """int8 [actions]: 1 where an action is valid."""
        return self._mask

    def action_of(self, number: int) -> Action:
        """What a number stands for in this state. InputError where it is not valid."""
        return Action(*self._core.action(int(number)))

    def number_of(self, primary: int | str, entity: int = 0, index: int = 0) -> int:
        """The number of an action; the primary action may be given by its name.

        InputError where it is not valid.
        """
        if isinstance(primary, str):
            if primary not in self.environment_spec.actions:
                raise InputError(f"there is no action '{primary}'; see environment_spec.actions")
            primary = self.environment_spec.actions.index(primary)
        return self._core.number(primary, entity, index)

    def describe(self, action: int | None = None) -> str:
        """The state in a line, or what an action does in it."""
        return self._core.describe() if action is None else self._core.describe_action(int(action))

    def render(self) -> str | None:
        return self.describe() if self.render_mode == "ansi" else None

    def fork(self) -> Environment:
        """Another environment in the same state, which goes its own way."""
        other = copy.copy(self)
        other._core = self._core.fork()
        other._np_random = copy.deepcopy(self._np_random)
        other._mask = self._mask.copy()
        return other

    def solution(self) -> Solution:
        """The best state of the episode."""
        return Solution(self._core.solution())

    def svg(self) -> str:
        """The best state of the episode as a chart, a file. InputError where none is drawn."""
        chart = self._core.solution().svg()
        if not chart:
            raise InputError(f"{self.kind} draws no charts; see describe()")
        return chart

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        info = self._core.info()
        observation: Any
        if self.observation == "padded":
            observation, info["cut_nodes"] = self._core.padded()
        else:
            observation = Graph(self._core.graph())
        self._mask = info["action_mask"] = observation["action_mask"]
        info["invalid_action"] = False
        return observation, info


def set_sizes(
    core: _core.Environment, observation: str, max_nodes: int | None, max_edges: int | None
) -> None:
    """Sets the sizes of padded arrays."""
    if observation != "padded":
        return
    core.use_usual_sizes()
    core.set_sizes(
        core.max_nodes if max_nodes is None else max_nodes,
        max(core.max_edges, 1) if max_edges is None else max_edges,
    )


def space_of(
    core: _core.Environment, spec: Spec, observation: str, batch: tuple[int, ...] = ()
) -> Any:
    """The space of observations, or of a batch of so many."""
    if observation == "graph":
        return GraphSpace(spec, core.actions, *batch)
    return padded_space(spec, core.actions, core.max_nodes, core.max_edges, core.entities, batch)


def _class_of(kind: str) -> type[Environment]:
    name = f"{kind.capitalize()}Environment"
    what = f"The environment `{kind}`; see Environment for its arguments."
    return type(name, (Environment,), {"kind": kind, "__doc__": what, "__module__": __name__})


CLASSES = {kind: _class_of(kind) for kind in _core.kinds()}
"""A class for each kind."""
globals().update({environment.__name__: environment for environment in CLASSES.values()})


def make(name: str, **arguments: Any) -> Environment:
    """An environment by its id, such as "Rewrite-v0", without wrappers; see Environment."""
    return CLASSES[kind_of(name)](**arguments)


def settings_of(name: str) -> dict[str, tuple[str, str, str]]:
    """Type, default and meaning of each setting of an environment, by key."""
    return {
        key: (kind, default, meaning)
        for key, kind, default, meaning in _core.environment_settings(kind_of(name))
    }
