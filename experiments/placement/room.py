#!/usr/bin/env python3
"""Where is there room? What heuristics and searches reach on graphs, beside what nothing is below.

    experiments/placement/room.py OUT.jsonl [--training] [--devices FILE.yaml] GRAPH...
    experiments/placement/room.py --table OUT.jsonl[.gz]

A graph is placed on two V100s, on eight H100s, and on two V100s of which each has 0.7 of the
memory that one alone would need; or, with --devices, on those of a file. The program is $REVERIE,
or build/reverie. The table has makespans over the lower bound: of the best device alone, whether
or not it fits, the best heuristic, and the best search; -: none fits.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REVERIE = os.environ.get("REVERIE", str(ROOT / "build/reverie"))
METHODS = "one_device,m_topo,etf,heft,metis,local,annealing"
SEARCHES = ("local", "annealing")
EVALUATIONS = 2000
SHARE = 0.7
TIGHT = """devices:
  - {{name: v100, kind: v100, count: 2, memory: {bytes}B}}
links:
  - {{between: [v100, v100], latency: 5us, bandwidth: 150GB/s}}
"""


def place(graph, devices, options, methods=METHODS):
    command = [
        REVERIE, "place", graph, "--devices", devices, "--method", methods, "--evaluations",
        str(EVALUATIONS), "--quiet", "--json", *options
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{graph} cannot be placed on {devices}")
    return json.loads(done.stdout.splitlines()[-1])


def lines_of(graph, devices, options):
    if devices:
        yield Path(devices).stem, place(graph, devices, options)
        return
    for name in ("2xv100-nvlink", "8xh100"):
        yield name, place(graph, name, options)
    alone = place(graph, "2xv100-nvlink", options, "one_device")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(TIGHT.format(bytes=int(SHARE * alone["peak_bytes"])))
        file.flush()
        yield "tight", place(graph, file.name, options)


def run(words):
    options = ["--training"] if words.training else []
    with open(words.out, "a") as file:
        for graph in words.graphs:
            for devices, line in lines_of(graph, words.devices, options):
                name = " ".join([Path(graph).stem, *("training" for _ in options)])
                file.write(json.dumps({**line, "graph": name, "devices": devices}) + "\n")
                file.flush()


def over_the_bound(line, one_shot):
    """Of the best of the methods that search, or do not; one device alone is none of these."""
    fitting = [
        one["makespan_ms"] for one in line["methods"] if not one["bytes_over"] and
        one["method"] != "one_device" and (one["method"] in SEARCHES) != one_shot
    ]
    return f"{min(fitting) / line['lower_bound_ms']:.3f}" if fitting else "-"


def table(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened:
        lines = list(map(json.loads, opened))
    devices = list(dict.fromkeys(line["devices"] for line in lines))
    print(f"| graph | {' | '.join(devices)} |")
    print("| --- |" + " --- |" * len(devices))
    for graph in dict.fromkeys(line["graph"] for line in lines):
        cells = {
            line["devices"]:
                f"{line['methods'][0]['makespan_ms'] / line['lower_bound_ms']:.3f}, "
                f"{over_the_bound(line, True)}, {over_the_bound(line, False)}"
            for line in lines if line["graph"] == graph
        }
        print(f"| {graph} | {' | '.join(cells.get(name, '') for name in devices)} |")


def main():
    if sys.argv[1:2] == ["--table"]:
        return table(sys.argv[2])
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--devices")
    parser.add_argument("graphs", nargs="+")
    return run(parser.parse_args())


if __name__ == "__main__":
    main()
