"""Episodes on disk, and graphs as one."""

import numpy as np
import pytest
import reverie
from conftest import run
from test_conformance import equal


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bags") / "rollouts"
    run("collect", "--env", "knapsack", "--set", "collect.episodes=40", "--out", folder, "--quiet")
    return folder


@pytest.fixture(scope="module")
def rewrites(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("rewrites") / "rollouts"
    run("collect", model, "--set", "collect.episodes=6", "--out", folder, "--quiet")
    return folder


def test_splits_are_parts_of_the_whole(bags):
    everything = reverie.rollouts(bags)
    parts = {
        split: reverie.rollouts(bags, split=split) for split in ("train", "validation", "test")
    }
    assert len(everything) == 40 and sum(map(len, parts.values())) == 40
    assert all(map(len, parts.values()))
    for split, part in parts.items():
        for episode in part:
            assert episode.split == split == everything[episode.id].split
    assert {episode.start for episode in everything} == set(everything.environment_spec.starts)


def test_replaying_gives_the_same(bags):
    """An environment that takes the recorded actions shows the recorded states."""
    env = reverie.make("Knapsack-v0", observation="graph")
    assert reverie.rollouts(bags).num_actions == env.action_space.n
    for episode in reverie.rollouts(bags)[:10]:
        steps = len(episode)
        assert len(episode.observations) == steps + 1 == len(episode.infos["objective"])
        observation, info = env.reset(seed=1, options={"start": episode.start})
        for step in range(steps):
            assert np.allclose(observation.x, episode.observations[step].x, atol=1e-3)
            for key in ("action_mask", "actions", "edge_index", "node_entity", "node_type"):
                assert np.array_equal(observation[key], episode.observations[step][key])
            assert info["objective"] == episode.infos["objective"][step]
            assert info["feasible"] == episode.infos["feasible"][step]
            assert tuple(episode.named_actions[step]) == env.action_of(episode.actions[step])
            observation, reward, terminated, truncated, info = env.step(episode.actions[step])
            assert reward == pytest.approx(episode.rewards[step], rel=1e-6)
            assert terminated == episode.terminations[step]
            assert truncated == episode.truncations[step]
        assert info["objective"] == episode.infos["objective"][steps]


def test_choices_behind_the_most_have_no_number(rewrites, model):
    narrow, wide = (reverie.rollouts(rewrites, max_choices=count) for count in (1, 500))
    env = reverie.make("Rewrite-v0", models=[model], max_choices=500)
    assert wide.num_actions == env.action_space.n > narrow.num_actions
    assert all((episode.actions >= 0).all() for episode in wide)
    assert any((episode.actions < 0).any() for episode in narrow)
    for one, other in zip(narrow, wide):
        known = one.actions >= 0
        assert np.array_equal(one.named_actions, other.named_actions) and known.any()
        for step in np.flatnonzero(known):
            assert one.observations[int(step)].action_mask[one.actions[step]] == 1


def test_wrong_directories_and_splits(bags, tmp_path):
    with pytest.raises(reverie.InputError, match="there is no split 'training'"):
        reverie.rollouts(bags, split="training")
    with pytest.raises(reverie.InputError, match=str(tmp_path)):
        reverie.rollouts(tmp_path / "nowhere")
    (tmp_path / "shard-00000.h5").write_bytes(b"nothing")
    with pytest.raises(reverie.InputError, match="shard-00000.h5"):
        reverie.rollouts(tmp_path)


def test_collating_counts_on(bags, rewrites):
    for folder in (bags, rewrites):
        graphs = [episode.observations[0] for episode in reverie.rollouts(folder)[:5]]
        batch = reverie.collate(graphs)
        assert batch.num_nodes == sum(graph.num_nodes for graph in graphs) == len(batch.batch)
        entity = 0
        for i, graph in enumerate(graphs):
            nodes = slice(batch.ptr[i], batch.ptr[i + 1])
            edges = batch.batch[batch.edge_index[0]] == i
            assert np.array_equal(batch.batch[batch.edge_index[1]] == i, edges)
            assert np.array_equal(batch.x[nodes], graph.x)
            assert np.array_equal(batch.node_entity[nodes], graph.node_entity + entity)
            assert np.array_equal(batch.edge_index[:, edges], graph.edge_index + batch.ptr[i])
            assert np.array_equal(batch.edge_attr[edges], graph.edge_attr)
            actions = batch.actions[batch.action_batch == i]
            assert np.array_equal(actions, graph.actions + [0, entity, 0])
            assert np.array_equal(batch.action_mask[i], graph.action_mask)
            entity += graph.num_entities
        assert batch.num_entities == entity
    with pytest.raises(ValueError, match="no observation to collate"):
        reverie.collate([])


def test_a_graph_has_attributes(bags):
    graph = reverie.rollouts(bags)[0].observations[-1]
    assert graph.x is graph["x"] and graph.num_nodes == len(graph.x) and "edge_index" in dir(graph)
    assert equal(
        dict(graph), dict(reverie.rollouts(bags)[0].observations[len(reverie.rollouts(bags)[0])])
    )
    with pytest.raises(AttributeError, match="a graph has no 'y'"):
        graph.y
