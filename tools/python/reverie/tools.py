"""A faster model, and a placement on devices: what the commands `optimize` and `place` do."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import warnings
from typing import Any, Iterable, Mapping

from . import _core
from .settings import as_list, bindings, flatten


class _Given:
    """A model as a file: the one that is given, or a temporary one for other forms."""

    def __init__(self, model: Any):
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(model, (str, os.PathLike)):
            self.path = os.fspath(model)
            return
        content = model if isinstance(model, (bytes, bytearray, memoryview)) else _serialized(model)
        self._folder = tempfile.TemporaryDirectory(prefix="reverie-")
        self.path = os.path.join(self._folder.name, "model.onnx")
        pathlib.Path(self.path).write_bytes(content)


def _serialized(model: Any) -> bytes:
    if not hasattr(model, "SerializeToString"):
        raise TypeError(
            f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}"
        )
    return model.SerializeToString()


def _tell(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=3)


class Optimized:
    """What `optimize` made of a model."""

    def __init__(self, core: _core.OptimizedModel, given: _Given):
        self._core = core
        self._given = given

    @property
    def gain_percent(self) -> float:
        """How much less time the model takes, in percent; 0 where nothing better was found."""
        return self._core.gain_percent

    @property
    def gain_interval(self) -> tuple[float, float] | None:
        """The gain with 95 %, where it was measured end to end."""
        return self._core.gain_interval

    @property
    def source(self) -> str:
        """Where the gain comes from: a cost source, or the machine on which it was measured."""
        return self._core.source

    @property
    def verified(self) -> bool:
        """Whether the model is rewritten, and agreed with the original on random inputs."""
        return self._core.verified

    @property
    def agreement(self) -> dict[str, float]:
        """How it was compared: inputs, max_abs_error, max_rel_error, unverified_nodes."""
        return self._core.agreement

    @property
    def rules(self) -> dict[str, int]:
        """How often each rule was applied."""
        return self._core.rules

    @property
    def untouched(self) -> list[tuple[str, str, str]]:
        """Name, operator and reason of each node that takes part in no rewrite."""
        return self._core.untouched

    @property
    def objections(self) -> list[str]:
        """Why rewrites that looked good were not taken."""
        return self._core.objections

    @property
    def method(self) -> str:
        return self._core.method

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search; this is the best that it had."""
        return self._core.interrupted

    def save(self, path: Any) -> None:
        """Writes the model as ONNX: the original where nothing better was found.

        Warns of what differs from the original, such as a dimension that is fixed.
        """
        _tell(self._core.save(os.fspath(path)))

    def __repr__(self) -> str:
        return f"<Optimized: {self.gain_percent:.2f} % by {self.method}, {self.source}>"


def optimize(
    model: Any,
    *,
    time_limit: float | None = None,
    dims: Mapping[str, int] | Iterable[str] = (),
    shapes: Mapping[str, Iterable[int]] | Iterable[str] = (),
    method: str | None = None,
    cost: str | None = None,
    rules: Iterable[str] = (),
    without: Iterable[str] = (),
    fix_shapes: bool = False,
    metadata: bool = True,
    **settings: Any,
) -> Optimized:
    """Rewrites a model so that it runs faster. The same as the command `reverie optimize`.

    model       a path, bytes, or an onnx.ModelProto
    time_limit  seconds for the search, for measuring operators and for comparing
    dims        extents of symbolic dimensions by name: {"batch": 1}
    shapes      extents of inputs: {"x": (1, 3, 224, 224)}
    method      "auto", "simplify" or a search, such as "greedy", "taso", "saturation"
    cost        where costs come from: "cpu", "roofline:t4", "table:FILE"
    rules       rule files instead of the built-in rules; without: names of rules to leave out
    fix_shapes  take rewrites too that replace a symbolic dimension by its extent
    metadata    nodes of the written file tell by which rule they came and what they cost
    settings    keys of `reverie optimize --set`; a section is a dictionary: taso={"alpha": 1.1}

    Ctrl-C stops the search, and what it has found is returned. Other threads run meanwhile.
    """
    named = {"time_limit": time_limit, "method": method, "cost": cost, **settings}
    known = {key for key, *_ in _core.optimize_settings()}
    given = _Given(model)
    core = _core.optimize(
        given.path,
        flatten(known, named),
        bindings(shapes),
        bindings(dims),
        as_list(rules),
        as_list(without),
        fix_shapes,
        metadata,
    )
    _tell(core.warnings)
    return Optimized(core, given)


class Placed:
    """What `place` made of a graph: which device runs each operator, and when."""

    def __init__(self, core: _core.PlacedGraph, given: _Given):
        self._core = core
        self._given = given
        self._json = json.loads(core.json)

    @property
    def makespan_ms(self) -> float:
        """How long all of it takes, by the simulator or, with measure=True, by the clock."""
        return self._core.makespan_ms

    @property
    def lower_bound_ms(self) -> float:
        """No placement takes less, by the simulator."""
        return self._core.lower_bound_ms

    @property
    def peak_bytes(self) -> int:
        """Memory of the device that needs most."""
        return self._core.peak_bytes

    @property
    def feasible(self) -> bool:
        """Whether all of it fits into the devices' memory, and on devices that can run it."""
        return self._core.feasible

    @property
    def why_infeasible(self) -> str:
        """What does not fit, in a sentence; empty where all of it fits."""
        return self._core.why_infeasible

    @property
    def method(self) -> str:
        """Whose placement this is: the best of all methods."""
        return self._core.method

    @property
    def makespans_ms(self) -> dict[str, float]:
        """What each method came to."""
        return dict(self._core.makespans_ms)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search; this is the best that it had."""
        return self._core.interrupted

    @property
    def device_of(self) -> dict[str, str]:
        """The device of each node of the model.

        A node without work of its own is where its value is made or used.
        """
        return self._core.device_of

    @property
    def schedule(self) -> list[dict[str, Any]]:
        """What runs where and when: dictionaries with name, device, start_us, end_us."""
        return self._json["nodes"]

    def svg(self) -> str:
        """The schedule as a Gantt chart, a file."""
        return self._core.svg()

    def save(self, path: Any) -> None:
        """Writes NAME.json (placement/1), or a folder with that, charts, a trace and a page.

        NAME.onnx is the model that was placed, with the device in the metadata of each node.
        """
        if os.fspath(path).endswith(".json"):
            pathlib.Path(path).write_text(self._core.json)
        elif os.fspath(path).endswith(".onnx"):
            self._core.save_model(os.fspath(path))
        else:
            self._core.save(os.fspath(path))

    def __repr__(self) -> str:
        bound = f"bound {self.lower_bound_ms:.4f} ms"
        return f"<Placed: {self.makespan_ms:.4f} ms by {self.method}, {bound}>"


def place(
    graph: Any,
    devices: Any = "",
    *,
    methods: Iterable[str] | str = (),
    time_limit: float | None = None,
    evaluations: int = 0,
    dims: Mapping[str, int] | Iterable[str] = (),
    shapes: Mapping[str, Iterable[int]] | Iterable[str] = (),
    training: bool = False,
    peak_memory: bool = False,
    fuse: bool = False,
    measure: bool = False,
    seed: int = 1,
    **settings: Any,
) -> Placed:
    """Places the operators of a graph on devices. The same as the command `reverie place`.

    graph        an ONNX model (a path, bytes or an onnx.ModelProto), a graph as JSON, or
                 "generate:FAMILY:NODES:SEED"
    devices      "2xv100-nvlink", "8xh100", a YAML file, "cores:N" or "streams:N" of this machine
    methods      names of methods, such as "heft", "local"; without them those that suit the graph
    time_limit   seconds for the searches together; 10 where neither this nor `evaluations` is given
    evaluations  placements that each method may try
    training     the model's training step, with gradients and updates
    peak_memory  look for little memory, not for speed
    fuse         fuse operators that are on one device
    measure      on cores:N or streams:N, judge placements by running them
    settings     options of methods: beam={"width": 4}

    Ctrl-C stops the search, and the best placement so far is returned. Other threads run meanwhile.
    """
    usual_seconds = 0.0 if evaluations > 0 else 10.0
    known = {key for key, *_ in _core.place_settings()}
    given = _Given(graph)
    core = _core.place(
        given.path,
        os.fspath(devices),
        as_list(methods),
        flatten(known, settings),
        bindings(shapes),
        bindings(dims),
        training,
        usual_seconds if time_limit is None else time_limit,
        evaluations,
        seed,
        peak_memory,
        fuse,
        measure,
    )
    _tell(core.warnings)
    return Placed(core, given)
