#!/usr/bin/env python3
"""Trains the jobs of a stream by plans, and prints the figures of figures.py.

    experiments/adapt/stream/pilot.py DIGITS.csv.gz RESULTS.jsonl [STREAM]

DIGITS is as in digits.py. A training adds a line to RESULTS. The same command goes on where it was
stopped. STREAM is 0, or 1 (see jobs.py). REVERIE names the program.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import report
from jobs import Job, pictures, text

PLANS, SEEDS = 40, (1, 2)
BLOCKS = [(range(12), range(16)), *((range(12), range(place, place + 2)) for place in range(16, 28, 2)),
          (range(12, 24), range(28)), (range(24), range(28, PLANS))]  # jobs and their plans, in this order


def trained(job, name, plan, seed, folder):
    with tempfile.TemporaryDirectory() as out:
        command = [os.environ.get("REVERIE", "build/reverie"), "adapt", f"{folder}/network.yaml"]
        command += ["--data", folder, "--method", f"fixed:{text(plan)}", "--seed", str(seed), "--out", out]
        command += ["--no-baseline", "--quiet"]
        command += [word for setting in job.settings(seed) for word in ("--set", setting)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        told = json.loads(Path(out, "report.json").read_text())
    return {
        "job": job.number, "network": job.network, "come": job.come, "go": job.go, "plan": name, "seed": seed,
        "accuracy": 100 * told["accuracy"], "work": told["end"]["multiply_adds"],
        "start": told["start"]["multiply_adds"],
        "changes": [[row["decision"], row["after_epoch"]] for row in told["decisions"]
                    if row["decision"] != "go on"],
        "curve": [round(100 * row["accuracy"], 2) for row in told["curve"]],
        "spent": [round(row["spent"], 5) for row in told["curve"]]
    }


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(f"usage: {sys.argv[0]} DIGITS.csv.gz RESULTS.jsonl [STREAM]")
    results, stream = Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(row["job"], row["plan"], row["seed"]) for row in rows}
    images = pictures(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, results.open("a") as file:
        for numbers, places in BLOCKS:
            for job in (Job(number, stream) for number in numbers):
                here = Path(folder, str(job.number))
                if not here.exists():
                    job.write(here, images)
                plans = list(job.plans(PLANS).items())
                for name, plan, seed in ((*plans[place], seed) for seed in SEEDS for place in places):
                    if (job.number, name, seed) not in done:
                        rows.append(trained(job, name, plan, seed, str(here)))
                        print(json.dumps(rows[-1], separators=(",", ":")), file=file, flush=True)
    report(rows)


if __name__ == "__main__":
    main()
