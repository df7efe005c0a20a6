#!/usr/bin/env python3
"""Results of an experiment of this folder as a table: a value over the lower bound, or over BRKGA's.

    experiments/placement/table.py RESULTS.jsonl[.gz] [peak_bytes]

Without the second word: the makespan over the lower bound, by setting (evaluations), nodes and method,
as the geometric mean over graphs of the mean over seeds. With it: how much less peak memory a method needs
than BRKGA of the same setting, in percent, and a 95 % bootstrap interval over graphs.
"""

import gzip
import json
import math
import random
import statistics
import sys
from pathlib import Path


def lines_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened:
        return list(map(json.loads, opened))


def values_of(lines, metric):
    """By setting, number of nodes and method, by graph: a value of each seed."""
    found = {}
    for line in lines:
        for one in line["methods"]:
            alone = len(line["methods"]) == 1  # the arm names it
            name = line["method"] if alone else Path(one["method"]).stem
            _, family, nodes, _ = line["model"].split(":")
            key = (line.get("setting", ""), nodes, name.removesuffix("_" + family))
            value = one[metric] / (line["lower_bound_ms"] if metric == "makespan_ms" else 1)
            by_graph = found.setdefault(key, {})
            by_graph.setdefault(line["model"], []).append(value)
    return found


def mean_ratio(by_graph):
    means = [statistics.mean(values) for values in by_graph.values()]
    return math.exp(statistics.mean(map(math.log, means)))


def saved(by_graph, reference):
    """Percent less than the reference on the mean over graphs, with an interval."""
    shares = [
        100 * (1 - statistics.mean(values) / statistics.mean(reference[graph]))
        for graph, values in by_graph.items()
    ]
    draw = random.Random(1)
    means = sorted(statistics.mean(draw.choices(shares, k=len(shares))) for _ in range(20000))
    return f"{statistics.mean(shares):.1f} ({means[500]:.1f} to {means[19500]:.1f})"


def main():
    metric = sys.argv[2] if len(sys.argv) > 2 else "makespan_ms"
    found = values_of(lines_of(Path(sys.argv[1])), metric)
    for (setting, nodes, method), by_graph in sorted(found.items()):
        if metric == "makespan_ms":
            text = f"{mean_ratio(by_graph):.3f}"
        else:
            text = saved(by_graph, found[(setting, nodes, "brkga")])
        print(f"| {setting} | {nodes} | {method} | {len(by_graph)} | {text} |")


if __name__ == "__main__":
    main()
