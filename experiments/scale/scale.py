#!/usr/bin/env python3
"""What optimising a model costs, against the number of its nodes: one line for each size and program.

scale.py FOLDER [--layers N,...] [--runs N] [PROGRAM ...]

Programs, build/reverie by default, take turns on the same models, which the first one writes to FOLDER. Each figure is the
least of the runs: what else the machine does can only add. Below each program stands the exponent of a fit of
    time = c nodes^exponent
to all sizes, and of the step from the last size but one to the last.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import time

SHAPE = "--hidden 32 --heads 2 --inner 64 --length 8 --vocabulary 50".split()
FIGURES = ("search", "command", "processor")


def measured(words):
    """Its last line as JSON, and the seconds, seconds of the processor and megabytes that it took."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    lines = process.stdout.read().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit status {process.returncode}")
    seconds = time.perf_counter() - begin
    return json.loads(lines[-1]), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def run(program, model, out):
    words = [program, "optimize", model, "--out", out, "--method", "greedy", "--cost", "roofline:cpu", "--quiet", "--json"]
    told, command, processor, megabytes = measured(words)
    return {
        "nodes": told["nodes"],
        "steps": told["steps"],
        "search": told["seconds"],
        "step": 1e6 * told["seconds"] / told["steps"],
        "command": command,
        "processor": processor,
        "memory": megabytes,
    }


def exponent(sizes, figures):
    """Of a least-squares line through the logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(figure) for figure in figures]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--layers", default="12,48,192,768")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_intermixed_args()
    build = pathlib.Path(__file__).resolve().parents[2] / "build" / "reverie"
    programs = options.programs or [str(build)]
    options.folder.mkdir(parents=True, exist_ok=True)
    found = {program: [] for program in programs}
    print("program nodes steps search_s step_us command_s processor_s memory_MB")
    for layers in options.layers.split(","):
        model = str(options.folder / f"{layers}.onnx")
        subprocess.run([programs[0], "model", "bert_tiny", "-o", model, "--layers", layers, *SHAPE], check=True, stdout=subprocess.DEVNULL)
        runs = {program: [] for program in programs}
        for _ in range(options.runs):
            for program in programs:
                runs[program].append(run(program, model, str(options.folder / "out.onnx")))
        for program, figures in runs.items():
            least = {name: min(one[name] for one in figures) for name in figures[0]}
            found[program].append(least)
            print(
                f"{program} {least['nodes']} {least['steps']} {least['search']:.4f} {least['step']:.1f} "
                f"{least['command']:.2f} {least['processor']:.2f} {least['memory']:.0f}",
                flush=True,
            )
    for program, sizes in found.items():
        for name in FIGURES if len(sizes) > 1 else ():
            nodes, figures = [size["nodes"] for size in sizes], [size[name] for size in sizes]
            last = exponent(nodes[-2:], figures[-2:])
            print(f"{program}: {name} grows with exponent {exponent(nodes, figures):.2f}, at last {last:.2f}")


if __name__ == "__main__":
    main()
