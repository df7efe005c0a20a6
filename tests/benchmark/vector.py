"""Steps a second of 64 environments from Python, beside those of C++'s vector environment.

PYTHONPATH=build/python python3 tests/benchmark/vector.py [BUILD]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import reverie

SECONDS = 3
ENVIRONMENTS = 64
ROUNDS = 3


def choose(mask, random):
    """A valid action for each environment, each as likely."""
    flat = np.flatnonzero(mask)
    counts = np.count_nonzero(mask, axis=1)
    first = np.cumsum(counts) - counts
    return flat[first + (random.random(len(counts)) * counts).astype(int)] % mask.shape[1]


def python_speed(name, observation, **settings):
    mode = reverie.vector.AutoresetMode.NEXT_STEP
    envs = reverie.make_vec(
        name,
        ENVIRONMENTS,
        workers=2,
        autoreset_mode=mode,
        observation=observation,
        **settings,
    )
    random = np.random.default_rng(1)
    envs.reset(seed=1)
    for _ in range(20):
        envs.step(choose(envs.action_masks(), random))
    steps, waiting, begin = 0, 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        _, _, terminated, truncated, _ = envs.step(choose(envs.action_masks(), random))
        steps += ENVIRONMENTS - waiting  # those begin an episode
        waiting = np.count_nonzero(terminated | truncated)
    return steps / (time.perf_counter() - begin)


def cpp_speed(build, name):
    words = [
        build / "reverie_bench",
        f"--benchmark_filter={name}$|{name}/real_time",
        "--benchmark_format=json",
    ]
    words.append(f"--benchmark_min_time={SECONDS}")
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return json.loads(told)["benchmarks"][0]["items_per_second"]


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/squeezenet1_1.onnx"
        subprocess.run(
            [build / "reverie", "model", "squeezenet1_1", "--light", "-o", model], check=True
        )
        cases = [
            ("VectorStep/knapsack", "Knapsack-v0", {}),
            ("VectorStep/placement", "Placement-v0", {"graphs": ["generate:layers:200:1"]}),
            ("RewriteVectorStep", "Rewrite-v0", {"models": [model]}),
        ]
        for bench, name, settings in cases:
            for observation in ("padded", "graph"):
                pairs = []
                for _ in range(ROUNDS):
                    cpp = cpp_speed(build, bench)
                    pairs.append((cpp, python_speed(name, observation, **settings)))
                cpp, python = np.median(pairs, axis=0)
                share = np.median([there / here for here, there in pairs])
                print(
                    f"{name:<14}{observation:<8}{python:>10.0f} of {cpp:>10.0f} steps/s: {share:.2f}"
                )


if __name__ == "__main__":
    main()
