#!/usr/bin/env python3
"""Times Reverie beside PyTorch on a GPU, in one process.

    experiments/peers/peers.py [OPTION...]          # appends rows to OUT/peers.jsonl
    experiments/peers/peers.py --table FILE.jsonl   # Markdown

A case is a network at a batch size and a precision. The same call goes on after the last case that
is done. To time a contestant again, remove its line. Exit status 3: the time is over first. The
program is $REVERIE, or build/reverie; libreverie_run.so lies beside it. README.md says what is
timed.
"""

import argparse
import copy
import functools
import gc
import inspect
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import rows

ROOT = Path(__file__).resolve().parents[2]
REVERIE = Path(os.environ.get("REVERIE", ROOT / "build/reverie")).absolute()
LIBRARY = REVERIE.with_name("libreverie_run.so")
DONE, OUT_OF_TIME, DEVICE_LOST, INTERRUPTED = 0, 3, 4, 130
OPSET = 17
GRACE = 30  # seconds that a worker may take to end


class Refusal(Exception):
    """What the caller must change, in one line."""


class OutOfTime(BaseException):
    """Goes through what catches exceptions."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def exported(torch, module, inputs, file):
    """The module as ONNX, by the exporter that traces."""
    options = {"opset_version": OPSET, "input_names": [f"x{n}" for n in range(len(inputs))],
               "output_names": ["y"]}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    part = file.with_suffix(".part")
    attention = getattr(torch.backends, "mha", None)  # since PyTorch 2.1
    if attention:
        attention.set_fastpath_enabled(False)
    try:
        with warnings.catch_warnings(), torch.enable_grad():  # without it a fast path is taken
            warnings.simplefilter("ignore")
            torch.onnx.export(module, inputs, str(part), **options)
    finally:
        if attention:
            attention.set_fastpath_enabled(True)
    part.replace(file)


def optimized(file, method, cost, seconds):
    """The file that `reverie optimize` makes of it, and what it says of it."""
    out = file.with_name(f"{file.stem}-{method}-{cost.replace(':', '_')}.onnx")
    said = out.with_suffix(".json")
    if not said.exists():
        part = out.with_suffix(".part")
        command = [REVERIE, "optimize", file, "--out", part, "--method", method, "--cost", cost,
                   "--time-limit", seconds, "--set", "verify_inputs=1", "--quiet", "--json"]
        begin = time.monotonic()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"reverie optimize: {(done.stderr.splitlines() or ['killed'])[-1]}")
        answer = json.loads(done.stdout.splitlines()[-1])
        part.replace(out)
        said.write_text(json.dumps({
            "estimated_gain_percent": answer["improvement_percent"], "cost": cost,
            "optimize_seconds": round(time.monotonic() - begin, 1)}))
    return out, json.loads(said.read_text())


class Models:
    """Networks and their files. Weights are kept beside a file, so that they are the same to the
    last bit in every process."""
    def __init__(self, options):
        import networks
        import torch
        self.torch, self.networks, self.small = torch, networks, options.dry_run
        self.folder = options.out / ("models-dry-run" if self.small else "models")
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name, batch):
        """Module, inputs and its file; in place of the file the reason where it is not exported."""
        inputs = self.networks.inputs(name, batch, self.small)
        file = self.folder / f"{name}-b{batch}.onnx"
        weights = file.with_suffix(".pt")
        if file.exists():
            module = self.networks.made(name, self.small).eval()
            module.load_state_dict(self.torch.load(str(weights)))
            return module, inputs, file
        module = self.networks.built(name, self.small)
        self.torch.save(module.state_dict(), str(weights))
        try:
            exported(self.torch, module, inputs, file)
        except Exception as error:
            say(f"{name}: {type(error).__name__}: {error}"[:400])
            return module, inputs, error
        return module, inputs, file


class Bench:
    """Runs cases on one device."""
    def __init__(self, options):
        import contestants
        self.models, self.parts, self.options = Models(options), contestants, options
        self.torch = self.models.torch
        self.device = contestants.Processor() if options.dry_run else contestants.Gpu()
        self.random = random.Random(1)

    @functools.cached_property
    def library(self):
        import library
        return library.Library(LIBRARY)

    def reference(self, module, inputs):
        """The module in float64, on the device."""
        exact = copy.deepcopy(module).double().to(self.device.kind)
        placed = [x.to(self.device.kind) for x in inputs]
        return exact(*(x.double() if x.is_floating_point() else x for x in placed)).cpu()

    def cast(self, case, module, inputs):
        """On the device in the type of the precision."""
        dtype = self.device.half if case["precision"] == "fp16" else self.torch.float32
        placed = [x.to(self.device.kind) for x in inputs]
        return copy.deepcopy(module).to(self.device.kind, dtype), [
            x.to(dtype) if x.is_floating_point() else x for x in placed
        ]

    def ready(self, name, case, module, inputs, host_inputs, file):
        if name == "eager":
            return self.parts.eager(self.device, module, inputs)
        if not name.startswith("ours"):
            mode = self.parts.AUTOTUNE_MODE if name == rows.AUTOTUNE else "default"
            return self.parts.compiled(self.device, module, inputs, mode)
        if isinstance(file, Exception):
            raise file
        cost, said = self.options.cost or self.device.costs(case["precision"]), {}
        if name in rows.REWRITTEN:
            file, said = optimized(file, name.removeprefix("ours_"), cost, self.options.search)
        made = self.parts.Ours(self.library, file, self.device.machine(case["precision"]),
                               None if name == "ours" else cost, host_inputs)
        made.remarks |= said
        return made

    def run(self, case, found):
        """Completes the rows of the contestants. Whether the device is lost."""
        try:
            return self.run_all(case, found)
        except Exception as error:
            reason = self.parts.in_one_line(error)
            return self.lost(found, f"the case failed: {reason}") and self.is_lost()

    def run_all(self, case, found):
        self.parts.set_precision(case["precision"])
        self.parts.forget_compiled()
        module, host_inputs, file = self.models.get(case["network"], case["batch"])
        reference = self.reference(module, host_inputs)
        module, inputs = self.cast(case, module, host_inputs)
        made, opened = {}, []
        for name, row in found.items():
            row["torch"] = f"PyTorch {self.torch.__version__}, {self.device.libraries()}"
            begin = time.monotonic()
            try:
                one = self.ready(name, case, module, inputs, host_inputs, file)
                opened.append(one)
                row |= one.remarks
                row["max_error"] = self.parts.largest_error(one.output(), reference)
                made[name] = one
            except Exception as error:
                row["failure"] = self.parts.in_one_line(error)
                if self.is_lost():
                    return self.lost(found, f"the device failed for good at {name}")
            row["prepare_seconds"] = round(time.monotonic() - begin, 2)
            say(f"  {name}: {row.get('failure', 'ready')} ({row['prepare_seconds']} s)")
        if self.time(found, made):
            return True
        while opened:
            opened.pop().close()
        one = made = module = inputs = None
        gc.collect()
        self.device.forget()
        return False

    def is_lost(self):
        try:
            self.device.synchronize()
            return False
        except Exception:
            return True

    def lost(self, found, reason):
        for row in found.values():
            if "ms" not in row:
                row.setdefault("failure", reason)
        return True

    def time(self, found, made):
        """All in turn, each round in an order of its own. Whether the device is lost."""
        samples = {name: [] for name in made}
        fewest, most = self.device.rounds
        begin, done = time.monotonic(), 0
        while done < fewest or (done < most and
                                time.monotonic() - begin < self.device.seconds_of_rounds):
            for name in self.random.sample(list(samples), len(samples)):
                try:
                    samples[name].append(made[name].seconds())
                except Exception as error:
                    del samples[name]
                    found[name]["failure"] = self.parts.in_one_line(error)
                    if self.is_lost():
                        return self.lost(found, f"the device failed for good at {name}")
            done += 1
        for name, seconds in samples.items():
            found[name] |= {"rounds": done, "ms": rows.median_interval([1e3 * s for s in seconds])}
            found[name] |= {
                f"to_{other}": rows.ratios(seconds, samples[other])
                for other in ("eager", "compile", rows.AUTOTUNE)
                if other in samples and other != name
            }
        return False


def work(options):
    """Runs the cases that are left until `--worker`, a time."""
    def out_of_time(*_):
        raise OutOfTime

    bench = Bench(options)  # what it imports must not be left half done
    signal.signal(signal.SIGALRM, out_of_time)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(options.worker - time.time(), 0.001))
        with bench.torch.no_grad():
            return work_on(bench, options)
    except OutOfTime:
        return OUT_OF_TIME


def export(options):
    """The files alone, which take as long without a GPU."""
    models = Models(options)
    with models.torch.no_grad():
        files = [models.get(name, batch)[-1] for name in options.networks
                 for batch in options.batches]
    return 1 if any(isinstance(file, Exception) for file in files) else DONE


def work_on(bench, options):
    done = rows.read(options.results)
    for case in rows.cases(options.networks, options.batches, options.precisions):
        names = rows.contestants(case, options.contestants)
        head = {"device": bench.device.name, **case}
        if all(rows.key({**head, "contestant": name}) in done for name in names):
            continue
        begin = time.monotonic()
        say(" ".join(str(case[part]) for part in rows.OF_CASE))
        found = {name: {**head, "contestant": name} for name in names}
        options.current.write_text(json.dumps(list(found.values())))
        is_lost = bench.run(case, found)
        rows.append(options.results, found.values())
        options.current.unlink()
        say(f"  {time.monotonic() - begin:.1f} s")
        if is_lost:
            return DEVICE_LOST
    return DONE


def supervise(options):
    """Cases run in a process that may die. Then the case that it was at has failed, and another
    process goes on."""
    until = time.time() + options.seconds
    while True:
        options.current.unlink(missing_ok=True)
        worker = subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--worker", str(until)])
        try:
            status = worker.wait(max(until - time.time(), 0) + GRACE)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
            return OUT_OF_TIME
        if status == DEVICE_LOST:
            continue
        if time.time() >= until and status not in (DONE, INTERRUPTED):
            return OUT_OF_TIME
        if status >= 0 or not options.current.exists():
            return status
        reason = f"the process ended with {signal.Signals(-status).name}"
        say(f"  {reason}")
        rows.append(options.results, [{**row, "failure": reason}
                                      for row in json.loads(options.current.read_text())])


def read_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)

    def chosen(name, known, default):
        def parse(text):
            for word in text.split(","):
                if word not in known:
                    raise argparse.ArgumentTypeError(f"no {word}; there are {','.join(known)}")
            return text.split(",")

        parser.add_argument(f"--{name}", type=parse, default=default, metavar="LIST",
                            help=f"of {','.join(known)}")

    parser.add_argument("--table", type=Path, metavar="FILE", help="write the tables of results")
    parser.add_argument("--out", type=Path, default=Path("runs/peers"), metavar="DIR")
    parser.add_argument("--seconds", type=float, default=3600, help="end after so long")
    parser.add_argument("--dry-run", action="store_true",
                        help="all of it on the processor, with small networks")
    parser.add_argument("--export", action="store_true",
                        help="only write the networks' ONNX files, which needs no GPU")
    chosen("networks", rows.NETWORKS, rows.NETWORKS)
    parser.add_argument("--batches", type=lambda text: [int(word) for word in text.split(",")],
                        metavar="LIST", help="1,32; in a dry run 1,2")
    chosen("precisions", rows.PRECISIONS, None)
    chosen("contestants", rows.CONTESTANTS, rows.CONTESTANTS)
    parser.add_argument("--cost", metavar="SOURCE",
                        help="costs that rewriting goes by; operators timed on the GPU otherwise")
    parser.add_argument("--search", type=float, default=10, metavar="SECONDS",
                        help="time for measuring operators and searching, for each method")
    parser.add_argument("--worker", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.batches = options.batches or ([1, 2] if options.dry_run else [1, 32])
    options.precisions = options.precisions or (
        ["tf32", "fp16"] if options.dry_run else rows.PRECISIONS)
    options.results, options.current = options.out / "peers.jsonl", options.out / "current.json"
    return options


def main():
    options = read_options(sys.argv[1:])
    if options.table:
        found = list(rows.read(options.table).values())
        if not found:
            raise Refusal(f"{options.table}: there are no rows")
        print(rows.markdown(found), end="")
        return DONE
    if options.export:
        return export(options)
    if not LIBRARY.exists() and set(options.contestants) & set(rows.OURS):
        raise Refusal(f"{LIBRARY} is not there: build reverie and reverie_run, or name the program "
                      "by $REVERIE")
    if options.worker:
        return work(options)
    options.out.mkdir(parents=True, exist_ok=True)
    return supervise(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refusal as error:
        print(f"peers.py: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
