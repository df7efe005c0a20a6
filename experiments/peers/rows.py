"""Cases, rows and tables of peers.py. Standard library alone."""

import json
import math
import statistics
from pathlib import Path

NETWORKS = ("squeezenet1_1", "resnet18", "resnet50", "resnext50_32x4d", "inception_v3", "vit_b_16",
            "bert_base", "nasrnn")
PRECISIONS = ("tf32", "fp32", "fp16")
METHODS = ("beam", "rulelist", "saturation_ilp")
REWRITTEN = tuple(f"ours_{method}" for method in METHODS)
OURS = ("ours", "ours_fused", *REWRITTEN)
AUTOTUNE = "compile_autotune"
CONTESTANTS = ("eager", "compile", AUTOTUNE, *OURS)
PASSES = ("default", "autotune")
OF_CASE = ("pass", "network", "batch", "precision")


def median_interval(samples):
    """The median and its 95 % interval by order statistics, as core/base/statistics.h has it."""
    ascending, n = sorted(samples), len(samples)
    half = 0.98 * math.sqrt(n)
    low = max(math.floor(n / 2 - half) - 1, 0)
    high = min(math.ceil(n / 2 + 1 + half) - 1, n - 1)
    return {"median": statistics.median(ascending), "low": ascending[low], "high": ascending[high]}


def ratios(seconds, versus):
    """Of the times of two contestants in the same rounds."""
    return median_interval([one / other for one, other in zip(seconds, versus)])


def cases(networks, batches, precisions):
    """In the order in which they are wanted: tf32 and float32 at each batch, then float16; all of
    it once more with max-autotune, which compiles for minutes."""
    halves = ([p for p in precisions if p != "fp16"], [p for p in precisions if p == "fp16"])
    return [
        dict(zip(OF_CASE, (each_pass, network, batch, precision))) for each_pass in PASSES
        for half in halves for batch in batches for precision in half for network in networks
    ]


def contestants(case, chosen):
    return [
        name for name in CONTESTANTS
        if name in chosen and (name != AUTOTUNE or case["pass"] == "autotune")
    ]


def key(row):
    return tuple(row.get(name) for name in ("device", *OF_CASE, "contestant"))


def read(path):
    """The last row of each contestant. A line that was cut off is none."""
    rows = {}
    for line in Path(path).read_text().splitlines() if Path(path).exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows[key(row)] = row
    return rows


def append(path, rows):
    """At once: a reader sees all rows of a case or none."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with open(path, "a+b") as file:
        file.seek(0, 2)
        if file.tell():
            file.seek(-1, 2)
            text = text if file.read(1) == b"\n" else "\n" + text
        file.write(text.encode())


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def heading(*cells):
    return line(*cells) + "\n" + line(*("--:" if n else "---" for n in range(len(cells))))


def shown(ratio):
    return f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})" if ratio else "-"


def ms(row):
    return f"{row['ms']['median']:.3f}" if timed(row) else "-"


def timed(row):
    return row is not None and "ms" in row


def best_of_ours(by_name):
    """The row of ours with the least median, null where none ran."""
    return min((by_name[name] for name in OURS if timed(by_name.get(name))),
               key=lambda row: row["ms"]["median"], default=None)


def count_sentence(ratios_of_networks, versus, networks):
    faster = sum(ratio["high"] < 1 for ratio in ratios_of_networks)
    slower = sum(ratio["low"] > 1 for ratio in ratios_of_networks)
    return (f"Ours is faster than {versus} on {faster} of {networks} networks, slower on {slower}, "
            f"beyond the interval of the ratio.")


def table_of(networks):
    """Of one device, pass, batch and precision: rows by network and contestant."""
    first = next(iter(next(iter(networks.values())).values()))
    versus = AUTOTUNE if first["pass"] == "autotune" else "compile"
    lines = [
        heading("network", "eager: ms", f"{versus}: ms", "ours: ms", "best: ms", "best of ours",
                f"best / {versus}", "best / eager", f"error of {versus}", "error of best",
                f"{versus}: s to compile")
    ]
    found = []
    for network, by_name in networks.items():
        best, peer = best_of_ours(by_name), by_name.get(versus)
        ratio = best and best.get(f"to_{versus}")
        found += [ratio] if ratio else []
        lines.append(
            line(network, ms(by_name.get("eager")), ms(peer), ms(by_name.get("ours")), ms(best),
                 best["contestant"] if best else "-", shown(ratio),
                 shown(best and best.get("to_eager")), number(peer, "max_error", ".1e"),
                 number(best, "max_error", ".1e"), number(peer, "compile_seconds", ".1f")))
    name = "torch.compile" if versus == "compile" else "torch.compile with max-autotune"
    return "\n".join(lines) + "\n\n" + count_sentence(found, name, len(networks))


def number(row, name, form):
    return format(row[name], form) if row and row.get(name) is not None else "-"


def remarks(rows):
    """What failed, and what ran launch by launch, each once."""
    told = {}
    for row in rows:
        for name in ("failure", "no_graph"):
            if name in row:
                what = "failed" if name == "failure" else "ran launch by launch"
                told.setdefault((row["contestant"], what, row[name]), []).append(
                    "/".join(str(row[part]) for part in OF_CASE[1:]))
    return [
        f"- {contestant} {what} on {', '.join(dict.fromkeys(where))}: {reason}"
        for (contestant, what, reason), where in told.items()
    ]


def markdown(rows):
    """A table for each device, pass, batch and precision, in the order of the rows."""
    groups = {}
    for row in rows:
        group = groups.setdefault(
            (row["device"], row["pass"], row["batch"], row["precision"]), {})
        group.setdefault(row["network"], {})[row["contestant"]] = row
    text = []
    for (device, _, batch, precision), networks in groups.items():
        text.append(f"## {device}: batch {batch}, {precision}\n\n{table_of(networks)}")
    versions = dict.fromkeys(row[name] for row in rows for name in ("torch", "machine")
                             if name in row)
    told = [*remarks(rows), *(f"- {version}" for version in versions)]
    return "\n\n".join([*text, "\n".join(told)]) + "\n"
