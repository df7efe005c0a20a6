"""Observations as graphs, and the spaces that hold observations."""

from __future__ import annotations

from typing import Any, Iterable

import numpy as np

from ._gym import Box, Dict, Space

FEATURE_BOUND = 1e6
"""Features are cut off beyond it, so that boxes have finite bounds."""


class Graph(dict):
    """A state as a graph; its arrays are keys and attributes, with PyTorch Geometric's names.

    x            float32 [nodes, features]
    node_type    int64 [nodes], an index into spec.node_types
    node_entity  int64 [nodes], the entity that a node belongs to
    edge_index   int64 [2, edges], senders and receivers
    edge_attr    float32 [edges, features]
    action_mask  int8 [actions], 1 where an action is valid
    actions      int64 [valid, 3]: primary action, entity and index of each valid action, in the
                 order of their numbers, which are numpy.flatnonzero(action_mask)
    action_attr  float32 [valid, features] of these
    num_entities of the graph

    A batch of graphs (`collate`) is one graph. It has more:

    batch        int64 [nodes], the number of the graph
    ptr          int64 [graphs + 1], the first node of each
    action_batch int64 [valid]
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a graph has no '{name}'; it has {', '.join(self)}") from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]

    @property
    def num_nodes(self) -> int:
        return len(self["node_type"])


def collate(observations: Iterable[Graph]) -> Graph:
    """Graphs as one: nodes, edges and entities count on from graph to graph."""
    graphs = list(observations)
    if not graphs:
        raise ValueError("there is no observation to collate")
    nodes = np.cumsum([0] + [graph.num_nodes for graph in graphs])
    entities = np.cumsum([0] + [graph["num_entities"] for graph in graphs])

    def join(name: str, offsets: Any = None, axis: int = 0) -> np.ndarray:
        parts = [
            graph[name] if offsets is None else graph[name] + offsets[i]
            for i, graph in enumerate(graphs)
        ]
        return np.concatenate(parts, axis)

    def numbers(name: str) -> np.ndarray:
        return np.repeat(np.arange(len(graphs)), [len(graph[name]) for graph in graphs])

    in_actions = np.zeros((len(graphs), 3), np.int64)
    in_actions[:, 1] = entities[:-1]
    return Graph(
        x=join("x"),
        node_type=join("node_type"),
        node_entity=join("node_entity", entities),
        edge_index=join("edge_index", nodes, axis=1),
        edge_attr=join("edge_attr"),
        action_mask=np.stack([graph["action_mask"] for graph in graphs]),
        actions=join("actions", in_actions),
        action_attr=join("action_attr"),
        num_entities=int(entities[-1]),
        batch=numbers("node_type"),
        ptr=nodes,
        action_batch=numbers("actions"),
    )


class GraphSpace(Space):
    """All graphs with so many features: of any number of nodes, edges and entities."""

    def __init__(self, spec: Any, actions: int, graphs: int | None = None):
        super().__init__(None, None)
        self._types = len(spec.node_types)
        self._widths = {
            "x": len(spec.node_features),
            "edge_attr": len(spec.edge_features),
            "action_attr": len(spec.action_features),
        }
        self._mask = (actions,) if graphs is None else (graphs, actions)
        self._keys = {
            *self._widths,
            "node_type",
            "node_entity",
            "edge_index",
            "action_mask",
            "actions",
            "num_entities",
        }
        if graphs is not None:
            self._keys |= {"batch", "ptr", "action_batch"}

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def contains(self, x: Any) -> bool:
        if not isinstance(x, dict) or set(x) != self._keys:
            return False
        nodes, valid = len(x["node_type"]), int(np.count_nonzero(x["action_mask"]))
        edges = x["edge_index"].shape[-1]
        rows = {"x": nodes, "edge_attr": edges, "action_attr": valid}
        return (
            all(x[name].shape == (rows[name], width) for name, width in self._widths.items())
            and all(bool(np.all(np.abs(x[name]) <= FEATURE_BOUND)) for name in self._widths)
            and x["edge_index"].shape == (2, edges)
            and x["action_mask"].shape == self._mask
            and x["actions"].shape == (valid, 3)
            and _within(x["node_type"], self._types)
            and _within(x["node_entity"], x["num_entities"])
            and _within(x["edge_index"], nodes)
            and _within(x["actions"][:, 1], x["num_entities"])
        )

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        raise NotImplementedError(
            "graphs cannot be drawn: their nodes, edges and actions have to fit each other"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphSpace) and (self._types, self._widths, self._mask) == (
            other._types,
            other._widths,
            other._mask,
        )

    def __repr__(self) -> str:
        return f"GraphSpace({self._widths}, action_mask={self._mask})"


def _within(values: np.ndarray, count: int) -> bool:
    return values.dtype == np.int64 and bool(np.all((values >= 0) & (values < count)))


def padded_space(
    spec: Any, actions: int, nodes: int, edges: int, entities: int, batch: tuple[int, ...] = ()
) -> Dict:
    """Arrays of fixed sizes: those of `Graph` with zeros behind, and masks of what is there."""

    def features(rows: int, names: Any) -> Box:
        return Box(-FEATURE_BOUND, FEATURE_BOUND, (*batch, rows, len(names)), np.float32)

    def below(count: int, *shape: int) -> Box:
        return Box(0, max(count - 1, 1), (*batch, *shape), np.int64)

    def mask(count: int) -> Box:
        return Box(0, 1, (*batch, count), np.int8)

    return Dict(
        {
            "x": features(nodes, spec.node_features),
            "node_type": below(len(spec.node_types), nodes),
            "node_entity": below(entities, nodes),
            "node_mask": mask(nodes),
            "edge_index": below(nodes, 2, edges),
            "edge_attr": features(edges, spec.edge_features),
            "edge_mask": mask(edges),
            "action_mask": mask(actions),
            "action_attr": features(actions, spec.action_features),
        }
    )
