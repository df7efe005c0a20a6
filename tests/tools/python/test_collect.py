"""Rollouts that several processes collect are the bytes of the command's."""

import concurrent.futures
import os
import pathlib
import signal
import time

import pytest
import reverie

from conftest import run

EPISODES = {"episodes": 240, "shard_episodes": 10, "no_op": 0.05}


def shards(directory):
    return {path.name: path.read_bytes() for path in pathlib.Path(directory).glob("shard-*.h5")}


def files(directory):
    names = ("config.yaml", "metrics.jsonl")
    return shards(directory) | {name: (pathlib.Path(directory) / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def expected(tmp_path_factory, model):
    """What the command collects; paths in config.yaml are from the rollouts to the model."""
    out = pathlib.Path(model).parent / "by_command"
    settings = [f"--set=collect.{key}={value}" for key, value in EPISODES.items()]
    run("collect", model, "--out", out, "--seed", 7, "--cost", "roofline:t4", "--quiet", *settings)
    return files(out)


def collect(model, name, **more):
    out = pathlib.Path(model).parent / name
    found = reverie.collect(
        "Rewrite-v0", out, models=[model], cost="roofline:t4", seed=7, **EPISODES, **more
    )
    assert found["episodes"] == 240
    return out


def test_one_process_writes_what_the_command_writes(model, expected):
    assert files(collect(model, "by_threads", workers=2)) == expected


@pytest.mark.parametrize(
    "kind", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor]
)
def test_an_executor_of_the_standard_library(model, expected, kind):
    with kind(max_workers=2) as executor:
        assert files(collect(model, f"by_{kind.__name__}", executor=executor)) == expected


class Breaking(concurrent.futures.Executor):
    """Fails after some shards."""

    def __init__(self, after):
        self.left = after

    def submit(self, function, *arguments):
        future = concurrent.futures.Future()
        self.left -= 1
        if self.left < 0:
            future.set_exception(RuntimeError("this worker is gone"))
        else:
            future.set_result(function(*arguments))
        return future


def test_what_failed_is_resumed(model, expected):
    with pytest.raises(RuntimeError, match="this worker is gone"):
        collect(model, "broken", executor=Breaking(5))
    out = pathlib.Path(model).parent / "broken"
    kept = shards(out)
    assert len(kept) == 5
    assert kept.items() <= expected.items()
    with pytest.raises(reverie.InputError, match="is not empty"):
        collect(model, "broken")
    assert files(collect(model, "broken", resume=True)) == expected


def test_settings_are_checked(model, tmp_path):
    for settings, said in [
        ({"episoodes": 3}, "unknown setting 'episoodes'"),
        ({"episodes": 0}, "episodes"),
        ({"agent": "mixed", "ppo": {"updates": 1}}, "another agent plays"),
        ({"agent": "ppo", "executor": concurrent.futures.ThreadPoolExecutor(1)}, "needs LibTorch"),
        ({"agent": "nobody"}, "nobody"),
    ]:
        with pytest.raises(reverie.InputError, match=said):
            reverie.collect("Rewrite-v0", tmp_path / "new", models=[model], **settings)
        assert not (tmp_path / "new").exists()


def test_dask_with_a_worker_that_dies_and_one_that_comes_late(model, expected):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:
        executor = client.get_executor(retries=3)
        pids = list(client.run(os.getpid).values())
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            collected = beside.submit(collect, model, "by_dask", executor=executor)
            out = pathlib.Path(model).parent / "by_dask"
            while not shards(out) and not collected.done():
                time.sleep(0.01)
            written = len(shards(out))
            os.kill(pids[0], signal.SIGKILL)
            cluster.scale(4)
            assert files(collected.result(timeout=300)) == expected
    assert written < len(expected) - 2, "the collection was over before the worker died"
