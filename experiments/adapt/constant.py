#!/usr/bin/env python3
"""Networks that are large from the start, and never change.

    experiments/adapt/constant.py TABLE.json... > RESULTS.jsonl

The tables are those of tables.tar.xz. For each, two networks are trained from nothing: the *largest* that
its sequences end with, by multiply-adds, and the one that its *best* sequence ends with. Images and
multiply-adds are the table's, those of the extra processors included. A table counts them in epochs of
the starting network, so a network that is r times as large has r times fewer epochs. The regret is
against the table's best sequence. The program is $REVERIE, or build/reverie.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from fixed import accuracy, name

HERE = Path(__file__).resolve().parent
REVERIE = os.environ.get("REVERIE", str(HERE.parents[1] / "build/reverie"))
SEEDS = range(1, 6)
EXTRA = 4  # throughput from the start time on


def adapt(network, settings, *words):
    """What `reverie adapt` says of a run in the tables' scenario."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [REVERIE, "adapt", network, "--config", HERE / "tables/scenario.yaml", "--no-baseline", *words]
        for setting in settings.items():
            command += ["--set", "adapt.train.%s=%s" % setting]
        done = subprocess.run([*command, "--out", out, "--quiet", "--json"], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1]) | {
            "yaml": (out / "network.yaml").read_text()
        }


def budget(table):
    """Of "20 epochs of the starting network" the number, which is without extra processors."""
    return float(table["budget"].split()[0])


def size(table, row):
    """Multiply-adds at the end of a sequence, of those of the starting network."""
    _, _, throughput, share = row["runs"][0]["stops"][-1]
    return share * throughput * budget(table)


def mean(table, row):
    return statistics.mean(accuracy(table, run) for run in row["runs"])


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} TABLE.json...")
    for path in map(Path, sys.argv[1:]):
        table = json.loads(path.read_text())
        network, start = path.stem.split("-")
        epochs = budget(table) * (float(start) + EXTRA * (1 - float(start)))
        best = max(mean(table, row) for row in table["sequences"])
        for method, of_row in ("largest", size), ("best", mean):
            row = max(table["sequences"], key=lambda row: of_row(table, row))
            decisions, ratio = ",".join(map(name, row["decisions"])), size(table, row)
            grown = adapt(HERE / f"tables/{network}.yaml", {"from": start, "extra.from": start},
                          "--method", f"fixed:{decisions}")["yaml"]
            settings = {"budget": epochs / ratio, "extra.factor": 1, "from": 0}
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(grown)
                file.flush()
                for seed in SEEDS:
                    found = adapt(file.name, settings, "--method", "nothing", "--seed", str(seed))
                    line = {
                        "model": path.stem, "method": f"{method}_from_the_start", "seed": seed,
                        "decisions": decisions, "size": round(ratio, 2), "epochs": found["epochs"],
                        "accuracy": round(found["accuracy"], 2),
                        "regret": round(best - found["accuracy"], 2)
                    }
                    print(json.dumps(line, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
