#!/usr/bin/env python3
"""Thompson sampling by a Gaussian process that is given the arithmetic of a job.

    experiments/adapt/gp.py TABLE.json TABLE.json... [--on OTHER.json] > RESULTS.jsonl

As memory.py, but what is learned from random episodes of the other tables is a function of what is known of a
sequence before it is tried: the logarithms of the epochs that it will have, of the multiply-adds of its last network
and of the epochs since its last change, and how often it deepens and widens. So tables may be of several networks.
The kernel is linear plus squared exponential; each table has a level of its own. Needs NumPy.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
from fixed import accuracy, name
from memory import EPISODES, NOISE, scenarios

TRIALS = (0, 4, 12, 24, 48)
SEEDS = range(11, 21)
LENGTH, CURVED, LINEAR, LEVEL = 2, 20, 5, 20  # chosen on digits; the last is a deviation in points


class Table:
    """Sequences of a table, what is known of each, and its accuracies less that before the first decision."""

    def __init__(self, path):
        table = json.loads(Path(path).read_text())
        before = accuracy(table, {"curve": []})
        self.rows, self.points = [], []
        for row in table["sequences"]:
            self.rows.append(known(table, row))
            self.points.append([accuracy(table, run) - before for run in row["runs"]])
        self.names = [", ".join(map(name, row["decisions"])) for row in table["sequences"]]
        self.rows = np.array(self.rows)
        self.truth = np.array([np.mean(points) for points in self.points])


def known(table, row):
    ends = [0] + [stop[0] for stop in row["runs"][0]["stops"]]
    changed = [end for end, decision in zip(ends, row["decisions"]) if decision]
    since = ends[-1] - changed[-1] if changed else ends[-1] + len(table["curve"])
    _, _, throughput, share = row["runs"][0]["stops"][-1]
    made = [sum(change in (d or ()) for d in row["decisions"]) for change in ("deepen", "widen")]
    return [math.log1p(ends[-1]), math.log(share * throughput), math.log1p(since), *made]


def kernel(one, other):
    distance = ((one[:, None] - other[None])**2).sum(-1)
    return LINEAR * one @ other.T + CURVED * np.exp(-distance / (2 * LENGTH**2))


def learned(others, table, draw):
    """Mean and covariance of the table's sequences after random episodes of the others."""
    rows, points, of = [], [], []
    for number, other in enumerate(others):
        for sequence in draw.integers(0, len(other.rows), EPISODES):
            rows.append(other.rows[sequence])
            points.append(draw.choice(other.points[sequence]))
            of.append(number)
    rows, points, of = np.array(rows), np.array(points), np.array(of)
    mean, spread = rows.mean(0), rows.std(0)
    spread[spread < 1e-6] = 1
    seen, here = (rows - mean) / spread, (table.rows - mean) / spread
    same = LEVEL**2 * (of[:, None] == of[None])
    belief = kernel(seen, seen) + same + NOISE**2 * np.eye(len(points))
    weights = np.linalg.solve(belief, kernel(seen, here)).T
    return weights @ (points - points.mean()), kernel(here, here) - weights @ kernel(seen, here) + LEVEL**2


def search(table, belief, trials, draw):
    """The sequence that is held best after the trials."""
    mean, covariance = belief
    for _ in range(trials):
        values, vectors = np.linalg.eigh(covariance)
        drawn = mean + vectors @ (np.sqrt(np.maximum(values, 0)) * draw.standard_normal(len(mean)))
        tried = int(np.argmax(drawn))
        weight = covariance[:, tried] / (covariance[tried, tried] + NOISE**2)
        mean = mean + weight * (draw.choice(table.points[tried]) - mean[tried])
        covariance = covariance - np.outer(weight, covariance[tried])
    return int(np.argmax(mean))


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} TABLE.json TABLE.json... [--on OTHER.json]")
    for path, _, _ in scenarios(sys.argv[1:]):
        others = [Table(other) for other in sys.argv[1:] if other not in ("--on", str(path))]
        table = Table(path)
        for seed in SEEDS:
            belief = learned(others, table, np.random.default_rng(seed))
            for trials in TRIALS:
                found = search(table, belief, trials, np.random.default_rng([seed, trials]))
                line = {
                    "model": path.stem, "method": f"gp_{trials}", "seed": seed,
                    "decisions": table.names[found],
                    "regret": float(table.truth.max() - table.truth[found]),
                    "real_episodes": EPISODES * len(others) + trials
                }
                print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    main()
