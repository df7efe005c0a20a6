#!/usr/bin/env python3
"""Figures that `reverie summarize` has not, from results of run.py (FILE.jsonl or FILE.jsonl.gz).

    experiments/figures.py break-even --quality PERCENT FILE...  # steps and minutes to a policy
    experiments/figures.py portfolio --at FIELD=VALUE FILE...    # two searches that share a budget
    experiments/figures.py collected FILE...                     # what was collected, as runs too
    experiments/figures.py look-ups FILE...                      # cost look-ups of a collected step
    experiments/figures.py end-to-end FILE                       # what was confirmed
"""

import argparse
import gzip
import json
import math
import random
import statistics
import sys
from pathlib import Path

COSTS_MS = (0, 0.5, 5, 50, 500, 5000)


class Refusal(Exception):
    """What the caller must change, in one line."""


def read(files):
    runs = []
    for file in files:
        try:
            with (gzip.open if file.endswith(".gz") else open)(file, "rt") as lines:
                runs += [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise Refusal(f"{file}: {error}")
    for run in runs:
        run["model"] = Path(run["model"]).name.removesuffix(".onnx")
    return runs


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def heading(*cells):
    return row(*cells) + "\n" + row(*("---" if n < 2 else "--:" for n in range(len(cells))))


def percentiles(numbers):
    """The 95 % interval; its end is a dash where too few draws have a number."""
    ascending = sorted(numbers)
    low, high = (ascending[int(share * len(ascending))] for share in (0.025, 0.975))
    return f"{low:.0f} to {f'{high:.0f}' if math.isfinite(high) else '-'}"


def measured(run):
    return "end_to_end_measurements" in run


def steps_of(run, judged):
    """Measurements of whole graphs, or real steps; unless `judged` is None also those of the 16
    episodes that judge a policy: as on record, else `judged`."""
    if measured(run):
        return run["end_to_end_measurements"]
    if judged is None:
        return run["real_steps"]
    return run["real_steps"] + run.get("judging_steps", run.get("steps", judged))


def gain_of(run):
    return run["endpoint_gain_percent" if measured(run) else "improvement_percent"]


class Arm:
    """Runs of an arm on a model. Expected costs: restarts until a success (Auger, Hansen 2005)."""
    def __init__(self, runs, options):
        self.steps = [steps_of(run, options.judged) for run in runs]
        self.success = [gain_of(run) >= options.quality for run in runs]
        self.seconds = sum(
            run.get(name, 0) for run in runs
            for name in ("vae_seconds", "mdnrnn_seconds", "policy_seconds"))

    def expected(self):
        return sum(self.steps) / sum(self.success) if any(self.success) else math.inf

    def minutes(self, ms):
        seconds = self.seconds + sum(self.steps) * ms / 1000
        return seconds / sum(self.success) / 60 if any(self.success) else math.inf

    def draws(self, generator):
        """Expected steps of runs drawn anew, 2,000 times."""
        result = []
        for _ in range(2000):
            chosen = generator.choices(range(len(self.steps)), k=len(self.steps))
            successes = sum(self.success[run] for run in chosen)
            result.append(
                sum(self.steps[run] for run in chosen) / successes if successes else math.inf)
        return result


def arms_of(options):
    grouped = {}
    for run in read(options.files):
        if run["model"] != (options.model or run["model"]):
            continue
        if run["method"] not in (options.only or [run["method"]]):
            continue
        name = f"{run['method']} {run['budget']}" if measured(run) else run["method"]
        grouped.setdefault((run["model"], name), []).append(run)
    return {key: Arm(runs, options) for key, runs in grouped.items()}


def number(value, digits=0):
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def break_even(options):
    arms = arms_of(options)
    if options.points:
        for (model, name), arm in arms.items():
            for tenth in range(31) if any(arm.success) else ():
                ms = 0.5 * 10**(tenth / 10)
                print(
                    json.dumps({
                        "model": model, "method": name, "seed": 1, "step_ms": ms,
                        "minutes": arm.minutes(ms)
                    }))
        return
    versus = [f"% of {options.versus}", "95 %"] if options.versus else []
    print(
        heading("model", "arm", f"runs that gain {options.quality:g} %", "steps of a run",
                "steps for a policy", "95 %", *versus, *(f"{ms:g} ms" for ms in COSTS_MS)))
    for (model, name), arm in arms.items():
        draws = arm.draws(random.Random(1))
        cells = [
            model, name, f"{sum(arm.success)} of {len(arm.success)}",
            number(statistics.fmean(arm.steps)),
            number(arm.expected()),
            percentiles(draws) if any(arm.success) else "-"
        ]
        if versus:
            cells += share_of(arm, draws, arms.get((model, options.versus)))
        print(row(*cells, *(number(arm.minutes(ms), 1) for ms in COSTS_MS)))


def share_of(arm, draws, other):
    if other is None or not any(other.success) or not any(arm.success):
        return ["-", "-"]
    theirs = other.draws(random.Random(2))
    shares = [
        100 * mine / their if math.isfinite(mine) else math.inf
        for mine, their in zip(draws, theirs)
    ]
    return [f"{100 * arm.expected() / other.expected():.1f}", percentiles(shares)]


def portfolio(options):
    """Lines for `reverie summarize`: the best of the methods, each with its share of the budget."""
    name, _, value = options.at.partition("=")
    share = float(value) / len(options.methods)
    pairs = {}
    for run in read(options.files):
        if run["method"] in options.methods and options.setting in ("", run.get("setting")):
            points = [
                point["improvement_percent"] for point in run["trace"] if point[name] <= share
            ]
            if run["stopped_by"] != "exhausted" and run[name] < share:
                raise Refusal(
                    f"{run['model']}, {run['method']}, seed {run['seed']}: "
                    f"ended before {name}={share:g}"
                )
            key = (run.get("setting", ""), run["model"], run["seed"], run["cost_source"])
            pairs.setdefault(key, {})[run["method"]] = points[-1]
    for (setting, model, seed, cost), found in pairs.items():
        if len(found) == len(options.methods):
            best = max(found.values())
            print(
                json.dumps({
                    "setting": setting, "model": model, "method": "portfolio", "seed": seed,
                    "cost_source": cost, "improvement_percent": best, name: float(value),
                    "stopped_by": "exhausted", "trace": [{name: 0, "improvement_percent": best}]
                }))


def collected(options):
    """The runs, and the best collected episode of each model and seed as a run of its own."""
    seen = set()
    for run in read(options.files):
        print(json.dumps(run))
        if (run["model"], run["seed"]) not in seen:
            seen.add((run["model"], run["seed"]))
            print(
                json.dumps(
                    run | {
                        "method": "collected",
                        "improvement_percent": run["collect_best_improvement_percent"]
                    }))


def look_ups(options):
    print(heading("model", "runs", "steps", "look-ups a step"))
    groups = {}
    for run in read(options.files):
        if "collect_cost_lookups" in run:
            groups.setdefault(run["model"], {})[run["seed"]] = run
    for model, by_seed in groups.items():
        steps = sum(run["collect_steps"] for run in by_seed.values())
        lookups = sum(run["collect_cost_lookups"] for run in by_seed.values())
        print(row(model, len(by_seed), steps, f"{lookups / steps:.0f}"))


def end_to_end(options):
    """A row a model; with --points, lines for `reverie summarize --correlate`."""
    rows, won = [], 0
    for run in read(options.files):
        confirmed = run["confirmed"]
        graphs = confirmed["contestants"]
        first, kept = graphs[0], graphs[confirmed["winner"]]
        won += confirmed["winner"] > 0
        if options.points:
            for graph in graphs[1:]:
                if graph["finalist"]:
                    print(
                        json.dumps({
                            "change_by_sum": graph["cost_ms"] / first["cost_ms"],
                            "change_of_time": graph["ratio"]
                        }))
            for graph in (first, *([kept] if kept is not first else [])):
                print(json.dumps({"sum": graph["cost_ms"], "time": graph["median_ms"]}))
            continue
        gain, low, high = (100 * (1 - kept[name]) for name in ("ratio", "ratio_high", "ratio_low"))
        errors = [f"{graph['error']:.1e}" if "error" in graph else "" for graph in (first, kept)]
        rows.append(
            row(run["model"], f"{first['median_ms']:.3f}", f"{kept['median_ms']:.3f}",
                f"{gain:.1f}", f"{low:.1f} to {high:.1f}",
                f"{100 * (1 - kept['cost_ms'] / first['cost_ms']):.1f}", *errors,
                confirmed.get("fallbacks", 0)))
    if not options.points:
        print(
            heading("model", "before: ms", "after: ms", "gain %", "95 %", "gain by sum %",
                    "error before", "error after", "nodes on reference kernels"))
        print("\n".join(rows) +
              f"\n\n{won} of {len(rows)} gain beyond the interval; the others stay as they are.")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True, metavar="FIGURE")

    def kind(name, function):
        one = kinds.add_parser(name)
        one.add_argument("files", nargs="+", metavar="FILE")
        one.set_defaults(function=function)
        return one

    listed = {"type": lambda text: text.split(","), "metavar": "LIST"}
    one = kind("break-even", break_even)
    one.add_argument("--quality", type=float, required=True,
                     help="gain in percent that counts as a success")
    one.add_argument("--model", help="of the runs those of one model")
    one.add_argument("--only", help="arms", **listed)
    one.add_argument("--versus", help="arm whose steps are 100 %%")
    one.add_argument(
        "--judged", type=float, metavar="N", help=
        "count the 16 episodes that judge a policy, too; N steps where a run has them not on record"
    )
    one.add_argument("--points", action="store_true",
                     help="lines for `reverie summarize --plot`: minutes over step_ms")
    one = kind("portfolio", portfolio)
    one.add_argument("--at", required=True, metavar="FIELD=VALUE",
                     help="what all methods have together")
    one.add_argument("--methods", default=["annealing", "rulelist"], **listed)
    one.add_argument("--setting", default="", help="of the runs those of one setting")
    kind("collected", collected)
    kind("look-ups", look_ups)
    kind("end-to-end", end_to_end).add_argument("--points", action="store_true",
                                                help="lines for `--correlate`")
    return parser.parse_args()


if __name__ == "__main__":
    options = read_options()
    try:
        options.function(options)
    except Refusal as error:
        print(f"figures.py: {error}", file=sys.stderr)
        sys.exit(2)
