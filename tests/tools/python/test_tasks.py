"""Measuring, recording and evaluating, as tasks of an executor."""

import concurrent.futures
import importlib.util
import pathlib

import numpy as np
import pytest
import reverie
from conftest import SOURCE, run
from reverie import _core, measuring
from reverie.tasks import each

needs_learning = pytest.mark.skipif(
    not importlib.util.find_spec("reverie._learning"), reason="built without LibTorch"
)


@pytest.fixture(scope="module")
def executor():
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        yield executor


def fail_at(number):
    if number == 3:
        raise ValueError("three")
    return number


class Task:
    def __init__(self, number):
        self.number = number

    def __call__(self):
        return fail_at(self.number)


def test_what_is_done_is_told_before_what_failed(executor):
    for where in (executor, None):
        assert dict(each(where, [Task(n) for n in (5, 6, 7)])) == {0: 5, 1: 6, 2: 7}
        told = []
        with pytest.raises(ValueError, match="three"):
            for done in each(where, [Task(n) for n in (1, 2, 3)]):
                told.append(done)
        assert sorted(told) == [(0, 1), (1, 2)]


def images(folder):
    """Images whose class is the bright half, in the format of MNIST."""
    generator = np.random.default_rng(1)
    folder.mkdir()
    for name, count in (("train", 96), ("t10k", 32)):
        labels = np.arange(count, dtype=np.uint8) % 2
        pixels = generator.integers(0, 100, (count, 8, 8), np.uint8)
        for image, label in zip(pixels, labels):
            image[:, slice(0, 4) if label == 0 else slice(4, 8)] += 150
        for kind, values, magic in (("images-idx3", pixels, 2051), ("labels-idx1", labels, 2049)):
            head = np.array([magic, *values.shape], ">i4").tobytes()
            (folder / f"{name}-{kind}-ubyte").write_bytes(head + values.tobytes())


@needs_learning
def test_a_recording_is_the_command_s_whoever_trains(tmp_path, executor):
    images(tmp_path / "data")
    network = tmp_path / "network.yaml"
    network.write_text(
        "image: [1, 8, 8]\nblocks:\n  - {conv: 2, name: a}\n"
        "  - {global_pool: true}\n  - {linear: 2, name: end}\n"
    )
    train = {
        "data": tmp_path / "data",
        "train_images": 0,
        "test_images": 0,
        "rates": [0.01],
        "budget": 8,
        "decisions": 2,
        "every": 1,
    }
    words = [f"--set=adapt.train.{key}={value}" for key, value in train.items()]
    run("adapt", network, "--record", tmp_path / "whole.json", "--runs", 3, "--quiet", *words)
    whole = (tmp_path / "whole.json").read_bytes()

    done = reverie.record(network, tmp_path / "tasks.json", runs=3, executor=executor, train=train)
    assert done["recorded"] == 3 and (tmp_path / "tasks.json").read_bytes() == whole
    reverie.record(network, tmp_path / "later.json", seed=2, train=train)
    done = reverie.record(network, tmp_path / "later.json", runs=3, train=train)
    assert done["recorded"] == 2 and (tmp_path / "later.json").read_bytes() == whole
    train["budget"] = 9
    with pytest.raises(reverie.InputError, match="later.json: .*not the same network"):
        reverie.record(network, tmp_path / "later.json", runs=4, train=train)
    assert (tmp_path / "later.json").read_bytes() == whole
    assert reverie.make("Adapt-v0", scenarios=[tmp_path / "later.json"]).reset(seed=1)


def test_operators_are_measured_in_tasks(model, tmp_path, executor, monkeypatch):
    monkeypatch.setattr(measuring, "_OPERATORS_OF_A_TASK", 5)
    table = tmp_path / "cpu.h5"
    first = reverie.profile(model, table, search_depth=0, executor=executor)
    assert first["operators"] == first["measured"] + first["unmeasured"] > 10
    assert first["measured"] > 5
    kept = table.read_bytes()
    again = reverie.profile([model], table, search_depth=0)
    assert again["measured"] == 0 and table.read_bytes() == kept
    assert reverie.make("Rewrite-v0", models=[model], cost=f"table:{table}").reset(seed=1)
    other = SOURCE / "experiments/search/h200.h5"
    with pytest.raises(reverie.InputError, match="cpu.h5: measured on .*; machines of different"):
        _core.join_cost_tables(str(table), [str(other)])
    assert table.read_bytes() == kept


@needs_learning
def test_each_input_is_evaluated_in_a_task(model, tmp_path, executor, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = pathlib.Path("other.onnx")
    run("model", "squeezenet_small", "--light", "--out", other)
    given = {"models": [model, other], "cost": "roofline:t4"}
    reverie.collect("Rewrite-v0", "rollouts", episodes=8, horizon=6, **given)
    reverie.train_vae("rollouts", "encoder", vae={"epochs": 1})
    reverie.train_mdnrnn("rollouts", "encoder/encoder.pt", "world", mdnrnn={"epochs": 1})
    reverie.dream_train("rollouts", "world/world.pt", "policy", dream={"updates": 1})
    how = {"solvers": ["greedy"], "evaluate": {"measure": "never", "samples": 2}, **given}
    whole = reverie.evaluate("Rewrite-v0", "policy/policy.pt", "whole", **how)
    parts = reverie.evaluate("Rewrite-v0", "policy/policy.pt", "parts", executor=executor, **how)

    def found(report):
        return [
            (start["start"], {name: one["best"] for name, one in start["methods"].items()})
            for start in report["starts"]
        ]

    assert found(whole) == found(parts) and len(whole["starts"]) == 2
    assert pathlib.Path("parts/001/report/report.md").exists()
    assert pathlib.Path("parts/report.json").exists()
