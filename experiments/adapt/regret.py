#!/usr/bin/env python3
"""Mean regret by method and table, and differences with intervals, of the results in this folder.

    experiments/adapt/regret.py [ONE OTHER]...

Arms that leave one start time or network out count as one method, `start` or `network`; `two-start` is
of seeds 19 and 20 alone, `four-start` of 19 to 22. `fixed` are the best fixed sequences that fixed.py
prints, `best` is the best sequence of each table. For each pair of methods: how much less regret ONE has
than OTHER, with a 95 % bootstrap interval over the tables. Methods of trainer.toml, `trainer-NAME`, have
accuracies instead; the interval is over networks and seeds.
"""

import gzip
import json
import random
import statistics
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
TABLES = [
    f"{network}-{start}" for network in ("chain", "residual")
    for start in ("0.1", "0.25", "0.4", "0.55", "0.7")
]
DIGITS = [
    f"digits-{network}-{start}" for network in ("chain", "residual") for start in ("0.1", "0.4", "0.7")
]
SEEDS = {"two": (19, 20), "four": (19, 20, 21, 22)}  # of parts; with 8, 16, 24 and 48 jobs, too
FIXED = dict(zip(TABLES, (1.16, 0.00, 0.00, 0.13, 0.68, 1.03, 0.07, 0.06, 0.07, 0.64)))
FIXED_DIGITS = dict(zip(DIGITS, (1.95, 0.72, 0.57, 1.55, 0.54, 2.19)))


def method_of(line):
    """without_0_1, tries_4 -> start-tries_4; plan_without_0_1 -> plan; seed 11 is the first, alone"""
    before, without, left_out = line["method"].partition("without_")
    tries = f"-{line['setting']}" if line.get("setting") else ""
    if not without:
        return line["method"] + tries
    kind = "start" if left_out.startswith("0") else "network"
    if before:
        return before.rstrip("_") + ("-network" if kind == "network" else "") + tries
    return kind + ("-first" if line["seed"] == 11 else "") + tries


def regrets():
    found = {
        "best": {table: [0] for table in TABLES},
        "digits-fixed": {table: [regret] for table, regret in FIXED_DIGITS.items()},
        "fixed": {table: [regret] for table, regret in FIXED.items()}
    }
    for name in ("transfer", "grey", "searches", "memory", "gp", "scenario", "constant", "digits",
                 "no_curve"):
        for line in map(json.loads, gzip.open(FOLDER / f"{name}.jsonl.gz", "rt")):
            digits = "digits-" if line["model"] in DIGITS else ""
            methods = [digits + method_of(line)]
            if methods[0].startswith("start"):
                methods += [f"{name}-{methods[0]}" for name in SEEDS if line["seed"] in SEEDS[name]]
            for method in methods:
                by_table = found.setdefault(method, {})
                by_table.setdefault(line["model"], []).append(line["regret"])
    for line in map(json.loads, gzip.open(FOLDER / "trainer.jsonl.gz", "rt")):
        by_run = found.setdefault(f"trainer-{line['method']}", {})
        by_run[f"{line['model']}, seed {line['seed']}"] = [-line["accuracy"]]
    return found


def difference(one, other):
    values = [
        statistics.mean(other[table]) - statistics.mean(one[table]) for table in one
        if table in other
    ]
    draw = random.Random(1)
    means = sorted(statistics.mean(draw.choices(values, k=len(values))) for _ in range(20000))
    return f"{statistics.mean(values):.2f} ({means[500]:.2f} to {means[19500]:.2f})"


def main():
    found, pairs = regrets(), sys.argv[1:]
    for one, other in zip(pairs[::2], pairs[1::2]):
        print(f"{one}, {other}: {difference(found[one], found[other])}")
    for method, by_table in sorted(found.items()) if not pairs else ():
        if set(by_table) in (set(TABLES), set(DIGITS)):
            means = [statistics.mean(values) for _, values in sorted(by_table.items())]
            print(f"{method}: {statistics.mean(means):.2f} |", *(f"{mean:.2f}" for mean in means))


if __name__ == "__main__":
    main()
