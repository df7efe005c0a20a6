#!/usr/bin/env python3
"""What `reverie optimize` with no options makes of the zoo (`reverie model --list`), as ONNX Runtime runs it.

    experiments/runtimes/zoo.py [--out DIR] [--rounds N] [--seconds S] [NAME...] [-- OPTION...]

Makes each model (all, or those named), optimizes it, with OPTIONs where there are some, and runs both files in turn
in ONNX Runtime on one thread, its own optimizer on. OUT/results.jsonl gets a line per model; those that stand there
are not repeated. OUT/results.md is the table. A round loads both anew, and its speed-up is the ratio of the lower
quartiles of their times; the table has the median of all rounds, and their quartiles. Needs node, and
onnxruntime-node where core/ort looks for it (tools/setup.sh --ort). The program is $REVERIE, or build/reverie.
"""

import argparse
import filecmp
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx_inputs

ROOT = Path(__file__).resolve().parents[2]
REVERIE = os.environ.get("REVERIE", str(ROOT / "build/reverie"))
RUNTIME = os.environ.get("REVERIE_ORT", str(ROOT.parent / "reverie-ort"))
BRANCHES = {"googlenet", "inception_resnet", "nasnet_mobile", "resnext", "regnet_y_400mf", "deeplabv3", "dlrm"}


class Worker:
    """ONNX Runtime in a process of its own; the protocol is that of core/ort/worker.h."""

    def __init__(self):
        self.process = subprocess.Popen(["node", str(ROOT / "core/ort/worker.mjs"), RUNTIME], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the runtime's process ended"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def load(self, number, model, inputs):
        self.ask(do="load", id=number, model=str(model), inputs=str(inputs), threads=1, optimize=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_child(command):
    """Exit status, standard output and error, seconds, peak memory in bytes of the largest process of it."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return child.returncode, *texts, seconds, usage.ru_maxrss * 1024


def untouched(model):
    """Nodes that are carried through, and all nodes, as `reverie inspect` counts them."""
    status, out, *_ = run_child([REVERIE, "inspect", str(model), "--json"])
    if status != 0:
        return None, None
    told = json.loads(out)
    return told["opaque_nodes"], told["work_nodes"]


def relative_error(one, other):
    if one[0] != other[0] or one[1] != other[1]:
        return math.inf
    largest = max((abs(x) for x in one[2]), default=0)
    worst = 0.0
    for a, b in zip(one[2], other[2]):
        if a != b and not (a != a and b != b):
            worst = max(worst, abs(a - b)) if math.isfinite(a - b) else math.inf
    return worst / largest if largest > 0 else worst


def outputs(worker, model, inputs, path):
    worker.load(0, model, inputs)
    worker.ask(do="run", id=0, outputs=str(path))
    worker.ask(do="drop", id=0)
    return onnx_inputs.read(path)


def lower_quartile(samples):
    ascending = sorted(samples)
    return ascending[len(ascending) // 4]


def measured_pair(worker, models, inputs, seconds):
    """The speed-up of the second model, and milliseconds of the first."""
    for number, model in enumerate(models):
        worker.load(number, model, inputs)
    for number in range(2):
        worker.ask(do="run", id=number)
    times = [[], []]
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < 8:
        for number in (0, 1) if len(times[0]) % 2 == 0 else (1, 0):
            times[number].append(worker.ask(do="run", id=number)["seconds"])
    for number in range(2):
        worker.ask(do="drop", id=number)
    first, second = (lower_quartile(samples) for samples in times)
    return first / second, first * 1e3


def interval(samples):
    """95 % of the median by order statistics, as median_interval of core/base/statistics.h."""
    ascending = sorted(samples)
    count = len(ascending)
    reach = 0.98 * math.sqrt(count)
    low = max(math.floor(count / 2 - reach), 0)
    return ascending[low], ascending[min(math.ceil(count / 2 + reach), count - 1)]


def compare(original, result, options, folder):
    inputs = folder / "inputs"
    onnx_inputs.write(original, inputs)
    worker = Worker()
    try:
        before = outputs(worker, original, inputs, folder / "outputs")
        after = outputs(worker, result, inputs, folder / "outputs")
        row = {"type": next(iter(before.values()))[0],
               "error": max(relative_error(before[name], after[name]) for name in before)}
        pairs = [measured_pair(worker, [original, result], inputs, options.seconds) for _ in range(options.rounds)]
    finally:
        worker.close()
    row["milliseconds"] = statistics.median(pair[1] for pair in pairs)
    ratios = [1.0] * len(pairs) if filecmp.cmp(original, result, False) else [pair[0] for pair in pairs]
    row["speedup"] = statistics.median(ratios)
    row["quartiles"] = statistics.quantiles(ratios, n=4)[::2]
    row["interval"] = interval(ratios)
    return row


def row_of(name, options):
    folder = options.out
    original, result = folder / "models" / f"{name}.onnx", folder / "optimized" / f"{name}.onnx"
    subprocess.run([REVERIE, "model", f"zoo/{name}", "--out", original], check=True, stdout=subprocess.DEVNULL)
    row = {"model": name, "bytes": original.stat().st_size}
    row["untouched"], row["nodes"] = untouched(original)
    result.unlink(missing_ok=True)
    command = [REVERIE, "optimize", original, "--out", result, "--quiet", *options.optimize]
    status, _, err, row["seconds"], row["peak_memory"] = run_child([str(word) for word in command])
    row["accepted"] = status == 0 and result.exists()
    if not row["accepted"]:
        row["why"] = (err.strip().splitlines() or [f"status {status}"])[-1]
        return row
    row["bytes_after"] = result.stat().st_size
    try:
        row.update(compare(original, result, options, folder))
    except RuntimeError as error:
        row["why"] = str(error)
    return row


def cells(row):
    if "speedup" not in row:
        return [row["model"], "no" if not row["accepted"] else "yes", row["why"]] + [""] * 7
    share = f"{100 * row['untouched'] / row['nodes']:.1f} %" if row["nodes"] else "?"
    low, high = row["quartiles"]
    return [row["model"], "yes", share, f"{row['milliseconds']:.2f}", f"{row['speedup']:.3f}",
            f"{low:.3f} to {high:.3f}", f"{row['bytes_after'] / row['bytes']:.3f}",
            f"{row['peak_memory'] / row['bytes']:.1f}", f"{row['seconds']:.1f}", f"{row['error']:.0e}"]


def mean(rows):
    return math.exp(statistics.fmean(math.log(row["speedup"]) for row in rows)) if rows else math.nan


def summary(rows):
    run = [row for row in rows if "speedup" in row]
    slower = [row["model"] for row in run if row["interval"][1] < 1]
    wrong = [row["model"] for row in run if not row["error"] <= (1e-2 if row["type"] == "float16" else 1e-4)]
    larger = [row["model"] for row in run if row["bytes_after"] > 1.05 * row["bytes"]]
    nodes = sum(row["nodes"] or 0 for row in rows)
    kept = sum(row["untouched"] or 0 for row in rows)
    return "\n".join([
        f"{sum(row['accepted'] for row in rows)} of {len(rows)} accepted; untouched nodes: {kept} of {nodes}",
        f"slower beyond the interval: {', '.join(slower) or 'none'}",
        f"disagree: {', '.join(wrong) or 'none'}",
        f"larger by more than 5 %: {', '.join(larger) or 'none'}",
        f"geometric mean: {mean(run):.3f}; with parallel branches: "
        f"{mean([row for row in run if row['model'] in BRANCHES]):.3f}"])


def table(rows):
    head = ["model", "accepted", "untouched", "ms", "speed-up", "quartiles", "size", "memory / file", "seconds",
            "error"]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " --: |" * (len(head) - 2)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n\n" + summary(rows) + "\n"


def all_names():
    out = subprocess.run([REVERIE, "model", "--list"], check=True, capture_output=True, text=True).stdout
    return [line.split()[0][4:] for line in out.splitlines() if line.startswith("zoo/")]


def read_options(words):
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--out", type=Path, default=ROOT / "runs/zoo")
    parser.add_argument("--rounds", type=int, default=9, help="at least 6 for an interval of 95 %%")
    parser.add_argument("--seconds", type=float, default=1, help="of a round")
    options = parser.parse_args(words[:split])
    options.optimize = words[split + 1:]
    return options


def main():
    options = read_options(sys.argv[1:])
    for folder in ("models", "optimized"):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    results = options.out / "results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    known = {row["model"] for row in rows}
    for name in options.names or all_names():
        if name in known:
            continue
        row = row_of(name, options)
        rows.append(row)
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print("  ".join(cells(row)), file=sys.stderr, flush=True)
    (options.out / "results.md").write_text(table(rows))
    print(table(rows), end="")


if __name__ == "__main__":
    main()
