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
    """A valid action for each environment, each as likely; NO-OP where there is no other."""
    mask = mask.copy()
    counts = np.count_nonzero(mask, axis=1) - 1
    mask[counts > 0, -1] = 0
    counts = np.maximum(counts, 1)
    flat = np.flatnonzero(mask)
    first = np.cumsum(counts) - counts
    return flat[first + (random.random(len(counts)) * counts).astype(int)] % mask.shape[1]


def of_python(name, observation, **settings):
    """Seconds of the clock, and of the processor, for a step of each environment."""
    envs = reverie.make_vec(name, ENVIRONMENTS, workers=2, observation=observation, **settings)
    random = np.random.default_rng(1)
    envs.reset(seed=1)
    for _ in range(20):
        envs.step(choose(envs.action_masks(), random))
    steps, waiting = 0, 0
    clock, processor = time.perf_counter(), time.process_time()
    while time.perf_counter() - clock < SECONDS:
        _, _, terminated, truncated, _ = envs.step(choose(envs.action_masks(), random))
        steps += ENVIRONMENTS - waiting  # those begin an episode
        waiting = np.count_nonzero(terminated | truncated)
    share = ENVIRONMENTS / steps
    return (time.perf_counter() - clock) * share, (time.process_time() - processor) * share


def of_cpp(build, name):
    words = [build / "reverie_bench", f"--benchmark_filter=^{name}/", "--benchmark_format=json"]
    words.append(f"--benchmark_min_time={SECONDS}")
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    one = json.loads(told)["benchmarks"][0]
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[one["time_unit"]]
    return one["real_time"] * unit, one["cpu_time"] * unit


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/squeezenet1_1.onnx"
        words = [build / "reverie", "model", "squeezenet1_1", "--light", "-o", model]
        subprocess.run(words, check=True, capture_output=True)
        cases = [
            ("VectorStep/knapsack", "Knapsack-v0", {}),
            ("VectorStep/placement", "Placement-v0", {"graphs": ["generate:layers:200:1"]}),
            ("RewriteVectorStep", "Rewrite-v0", {"models": [model]}),
        ]
        for bench, name, settings in cases:
            for observation in ("padded", "graph"):
                pairs = [
                    (of_cpp(build, bench), of_python(name, observation, **settings))
                    for _ in range(ROUNDS)
                ]
                cpp, python = np.median(pairs, axis=0)
                speed, work = np.median([np.divide(*pair) for pair in pairs], axis=0)
                print(
                    f"{name:<13}{observation:<7}"
                    f"{ENVIRONMENTS / python[0]:>9.0f} steps/s, {speed:.2f} of C++'s; "
                    f"processor {python[1] * 1e6:>6.0f} us beside {cpp[1] * 1e6:.0f}: {work:.2f}"
                )


if __name__ == "__main__":
    main()
