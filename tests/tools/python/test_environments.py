"""What single environments can do beside the rest."""

import json
import xml.etree.ElementTree

import numpy as np
import pytest
import reverie


def play_valid(env, seed=1):
    _, info = env.reset(seed=seed)
    random = np.random.default_rng(seed)
    for _ in range(20):
        valid = np.flatnonzero(info["action_mask"][:-1])
        if not len(valid):
            break
        *_, terminated, truncated, info = env.step(int(random.choice(valid)))
        if terminated or truncated:
            break
    return info


def test_a_rewritten_model_is_saved(model, tmp_path):
    env = reverie.make("Rewrite-v0", models=[model], cost="roofline:t4")
    info = play_valid(env)
    solution = env.solution()
    assert solution.objective == info["best"]
    verified = solution.save(tmp_path / "better.onnx")
    assert verified["inputs"] == 2 and verified["max_rel_error"] < 1e-6
    again = reverie.make("Rewrite-v0", models=[tmp_path / "better.onnx"], cost="roofline:t4")
    assert info["best"] < env.reset(seed=1)[1]["objective"] != again.reset(seed=1)[1]["objective"]
    assert [path.name for path in tmp_path.iterdir()] == ["better.onnx"]


def test_a_placement_is_saved_and_drawn(tmp_path):
    env = reverie.make(
        "Placement-v0", graphs="generate:layers:100:1", devices="2xv100-nvlink", max_groups=8
    )
    info = play_valid(env)
    assert env.solution().save(tmp_path / "placed.json") is None
    placed = json.loads((tmp_path / "placed.json").read_text())
    assert placed["format"] == "placement/1" and placed["makespan_us"] / 1000 == pytest.approx(
        info["best"], rel=1e-6
    )
    xml.etree.ElementTree.fromstring(env.svg())


def test_knapsacks_have_nothing_to_save(tmp_path):
    env = reverie.make("Knapsack-v0")
    env.reset(seed=1)
    with pytest.raises(reverie.InputError, match="has no solutions that can be written"):
        env.solution().save(tmp_path / "bag")
    with pytest.raises(reverie.InputError, match="knapsack draws no charts"):
        env.svg()


def test_settings_may_be_sections_bindings_and_paths(model):
    env = reverie.make(
        "Rewrite-v0",
        models=model,
        horizon=3,
        weights={"runtime": 0.5},
        shapes={"input": (1, 3, 64, 64)},
        rules=["builtin"],
    )
    assert env.environment_spec.horizon == 3
    with pytest.raises(
        reverie.InputError,
        match="^unknown setting 'weights.runtim'; did you mean 'weights.runtime'",
    ):
        reverie.make("Rewrite-v0", models=model, weights={"runtim": 0.5})
    with pytest.raises(reverie.InputError, match="nowhere.onnx: cannot be opened"):
        reverie.make("Rewrite-v0", models=["nowhere.onnx"])


def test_horizons_truncate(model):
    env = reverie.make("Rewrite-v0", models=[model], horizon=2)
    _, info = env.reset(seed=1)
    for step in range(2):
        *_, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert truncated and not terminated
