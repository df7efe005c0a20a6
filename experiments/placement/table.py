#!/usr/bin/env python3
"""Results of an experiment: makespans over the lower bound, or a value beside a method's.

    experiments/placement/table.py RESULTS.jsonl[.gz] [peak_bytes|makespan_ms METHOD [own]]

With one word: by setting (evaluations), nodes and method, the geometric mean over graphs of the mean over
seeds. With three: how much less of it each method needs than METHOD in the same setting, in percent, a
95 % bootstrap interval over graphs, and the percents by graph. `own`: than METHOD in the same run,
where runs measure.
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


def values_of(lines, metric, own):
    """By setting, number of nodes and method, by graph: a value of each seed."""
    found = {}
    for line in lines:
        unit = next((one[metric] for one in line["methods"] if one["method"] == own), 1)
        for one in line["methods"]:
            # the arm names a method that is alone, or beside that of which it is told
            alone = one["method"] != own and sum(m["method"] != own for m in line["methods"]) == 1
            name = line["method"] if alone else Path(one["method"]).stem
            _, family, nodes, _ = line["model"].split(":") if ":" in line["model"] else [""] * 4
            key = (line.get("setting", ""), nodes, name.removesuffix("_" + family))
            value = one[metric or "makespan_ms"] / (unit if metric else line["lower_bound_ms"])
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
    by_graph = ", ".join(f"{share:.1f}" for share in shares)
    return f"{statistics.mean(shares):.1f} ({means[500]:.1f} to {means[19500]:.1f}) | {by_graph}"


def main():
    metric, reference, *own = sys.argv[2:] or ("", "")
    if len(sys.argv) not in (2, 4, 5) or own not in ([], ["own"]):
        sys.exit(__doc__)
    found = values_of(lines_of(Path(sys.argv[1])), metric, reference if own else None)
    for (setting, nodes, method), by_graph in sorted(found.items()):
        if metric:
            text = saved(by_graph, found[(setting, nodes, reference)])
        else:
            text = f"{mean_ratio(by_graph):.3f}"
        print(f"| {setting} | {nodes} | {method} | {len(by_graph)} | {text} |")


if __name__ == "__main__":
    main()
