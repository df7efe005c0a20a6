#!/usr/bin/env python3
"""Thompson sampling that remembers what sequences came to at the other start times.

    experiments/adapt/memory.py TABLE.json TABLE.json... [--on OTHER.json] > RESULTS.jsonl

The tables (reverie-adapt/1) are of one network. For each table, random episodes of the others are its
memory; of all, where it is the other table that is searched. A sequence is expected to gain what it gained there over the mean of its scenario. The search
then learns how far off that is, as `reverie adapt --policy --episodes` does with what M expects: the
effects of decisions, wherever they are taken and at their place, are normal with the same deviations.
"""

import json
import math
import random
import statistics
import sys
from pathlib import Path

from fixed import accuracy, name

EPISODES = 30  # of each other start time: 120, half of what a policy of both networks learns from
TRIALS = (0, 4, 8, 12, 16, 24, 48)
SEEDS = range(11, 21)
LEVEL, EVERYWHERE, AT_ITS_PLACE, NOISE = 20, 2, 1, 1  # standard deviations in points
SPREAD = 2  # of sequences, in points


def runs_of(path):
    """Accuracies of the runs by sequence."""
    table = json.loads(Path(path).read_text())
    return {
        tuple(map(name, row["decisions"])): [accuracy(table, run) for run in row["runs"]]
        for row in table["sequences"]
    }


def remembered(tables, draw):
    """By sequence, the gain over the mean of its scenario that is to be expected."""
    gains = {}
    for table in tables:
        episodes = [draw.choice(sorted(table)) for _ in range(EPISODES)]
        points = [draw.choice(table[sequence]) for sequence in episodes]
        for sequence, point in zip(episodes, points):
            gains.setdefault(sequence, []).append(point - statistics.mean(points))
    return {
        sequence: sum(of_it) / (len(of_it) + (NOISE / SPREAD)**2)
        for sequence, of_it in gains.items()
    }


def covariance(one, other):
    shared = sum(one.count(decision) * other.count(decision) for decision in set(one))
    at_one_place = sum(first == second for first, second in zip(one, other))
    return LEVEL**2 + EVERYWHERE**2 * shared + AT_ITS_PLACE**2 * at_one_place


def root(matrix):
    """Its Cholesky factor; of what is nearly singular, too."""
    factor = []
    for row in matrix:
        done = []
        for i in range(len(factor)):
            rest = row[i] - sum(a * b for a, b in zip(done, factor[i]))
            done.append(rest / factor[i][i])
        rest = row[len(factor)] - sum(a * a for a in done)
        factor.append([*done, math.sqrt(max(rest, 1e-9))])
    return factor


def search(table, memory, trials, draw):
    """The sequence that is held best after the trials."""
    sequences = sorted(table)
    mean = [memory.get(sequence, 0.0) for sequence in sequences]
    level = statistics.mean(map(statistics.mean, table.values()))  # LEVEL leaves it open
    mean = [level + gain for gain in mean]
    belief = [[covariance(one, other) for other in sequences] for one in sequences]
    for _ in range(trials):
        noise = [draw.gauss(0, 1) for _ in sequences]
        drawn = [m + sum(a * b for a, b in zip(row, noise)) for m, row in zip(mean, root(belief))]
        tried = drawn.index(max(drawn))
        point = draw.choice(table[sequences[tried]])
        row = belief[tried]
        weight = [value / (row[tried] + NOISE**2) for value in row]
        mean = [m + w * (point - mean[tried]) for m, w in zip(mean, weight)]
        belief = [[b - w * r for b, r in zip(of, row)] for of, w in zip(belief, weight)]
    return sequences[mean.index(max(mean))]


def scenarios(paths):
    """For each table that is searched: its path, its runs, and those of the tables of its memory."""
    if "--on" in paths:
        paths.remove("--on")
        searched = paths[-1:]
    else:
        searched = paths
    tables = {path: runs_of(path) for path in paths}
    for path in searched:
        yield Path(path), tables[path], [tables[other] for other in paths if other != path]


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} TABLE.json TABLE.json... [--on OTHER.json]")
    for path, table, others in scenarios(sys.argv[1:]):
        truth = {key: statistics.mean(runs) for key, runs in table.items()}
        for seed in SEEDS:
            for trials in TRIALS:
                draw = random.Random(f"{seed} {trials}")
                found = search(table, remembered(others, draw), trials, draw)
                line = {
                    "model": path.stem, "method": f"memory_{trials}", "seed": seed,
                    "decisions": ", ".join(found), "regret": max(truth.values()) - truth[found],
                    "real_episodes": EPISODES * len(others) + trials
                }
                print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    main()
