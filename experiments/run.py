#!/usr/bin/env python3
"""Makes the runs of an experiment: models x arms x settings x seeds.

    experiments/run.py EXPERIMENT.toml [OPTION...] [MODEL...]

A run is a chain of `reverie` commands. It appends one line of JSON to OUT/EXPERIMENT.jsonl (OUT:
runs). A run whose line is there is not repeated, and a command that several runs share is carried
out once. So the same call goes on where it was stopped. experiments/README.md says what an
experiment file holds. The program is $REVERIE, or build/reverie.
"""

import argparse
import concurrent.futures
import fcntl
import functools
import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REVERIE = os.environ.get("REVERIE", str(ROOT / "build/reverie"))
MODELS = Path(os.environ.get("REVERIE_MODELS", ROOT.parent / "shared/models")) / "light"
STEPS = ("env", "collect", "ppo", "vae", "mdnrnn", "open_loop", "dream", "iterate")
OF_ARMS = ("like", "set", "learn", "policy", "train", "fit", "apply", "seeds", "settings", "models"
          )  # all else is for `reverie optimize`, or `command`
OF_FILES = ("question", "command", "ending", "models", "seeds", "alone", "make", "all", "arms",
            "settings", "chosen", "compare", "tables")


class Refusal(Exception):
    """What the caller must change, in one line."""


class Place(str):
    """A word of a command that says where something lies. It does not count in the key."""


@dataclass
class Step:
    """A command; its last line is JSON, kept in `answer`. Other output begins with `base`."""
    key: str
    command: list
    base: Path
    contenders: list = field(
        default_factory=list)  # steps whose graphs are further arguments of this one

    @property
    def answer(self):
        return self.base.with_name(self.base.name + ".json")


@dataclass
class Run:
    """A line of the results: `line` makes it of `identity` and the steps' answers."""
    identity: dict
    steps: list
    line: object

    @property
    def key(self):
        return digest(*(step.key for step in self.steps))

    @property
    def name(self):
        return " ".join(str(value) for value in self.identity.values() if value != "")


def digest(*parts):
    return hashlib.sha1("\0".join(map(str, parts)).encode()).hexdigest()[:10]


@functools.lru_cache(None)
def file_digest(path):
    return hashlib.sha1(Path(path).read_bytes()).hexdigest()[:10]


def pair(text):
    key, equals, value = text.partition("=")
    if not equals:
        raise Refusal(f"'{text}' is no KEY=VALUE")
    return key, value


def seed_list(text):
    """1,2,5-7 -> 1, 2, 5, 6, 7"""
    seeds = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise Refusal(f"--seeds {text}: '{part}' is no seed and no range of seeds")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else str(value)


def flat(table, prefix=""):
    """{"dream": {"depth": 6}} -> {"dream.depth": "6"}"""
    settings = {}
    for key, value in table.items():
        settings |= flat(value, f"{prefix}{key}.") if isinstance(
            value, dict) else {prefix + key: text_of(value)}
    return settings


def merged(*layers):
    """Tables of an arm over each other, `set` and `learn` key by key."""
    result = {"set": {}, "learn": {}}
    for layer in layers:
        for key, value in layer.items():
            if key in ("set", "learn"):
                result[key] = result[key] | flat(value)
            elif key not in ("like", "seeds", "settings", "models"):
                result[key] = value
    return result


class Planner:
    """Turns an experiment into runs. Nothing is carried out here."""
    def __init__(self, path, options):
        self.path, self.options = path, options
        try:
            self.file = tomllib.loads(path.read_text())
        except OSError as error:
            raise Refusal(f"{path}: {error.strerror}")
        except tomllib.TOMLDecodeError as error:
            raise Refusal(f"{path}: {error}")
        for key in self.file:
            if key not in OF_FILES:
                raise Refusal(f"{path}: unknown key '{key}'; there are {', '.join(OF_FILES)}")
        for key in ("question", "arms"):
            if key not in self.file:
                raise Refusal(f"{path}: has no `{key}`")
        self.ending = self.file.get("ending", "onnx")
        self.command = self.file.get("command", "optimize")
        self.made = {
            name: Place(options.out / f"models/{name}.onnx") for name in self.file.get("make", {})
        }
        self.others = {}  # experiments whose policies are taken, by name

    def model(self, name):
        if name.startswith("generate:"):  # the command makes it
            return name
        path = self.made.get(name) or Place(self.options.models / f"{name}.{self.ending}")
        if name not in self.made and not os.path.exists(path):
            raise Refusal(f"there is no model {path}; name its folder by --models")
        return path

    def model_key(self, name):
        if name.startswith("generate:"):
            return (name,)
        return name, digest(self.file["make"][name]) if name in self.made else file_digest(
            self.model(name))

    def making(self):
        """Commands that make models, also of experiments that policies are taken from, by file."""
        commands = {
            self.made[name]: [REVERIE, "model", *shlex.split(words), "--out", self.made[name]]
            for name, words in self.file.get("make", {}).items()
        }
        for other in self.others.values():
            commands |= other.making()
        return commands

    def step(self, name, words, label, keys, out=None, suffix=""):
        key = digest(name, *keys, *(word for word in words if not isinstance(word, Place)))
        base = self.options.out / f"steps/{label}-{name.replace(' ', '_')}-{key}"
        return Step(
            key,
            [REVERIE, *name.split(), *map(str, words), *([out, f"{base}{suffix}"] if out else [])],
            base)

    def chosen(self, what, names, known):
        for name in names:
            if name not in known:
                raise Refusal(f"{self.path}: no {what} '{name}'; there are {', '.join(known)}")
        return names or list(known)

    def layers(self, arm):
        """What an arm is like, and what it says itself."""
        own = self.file["arms"][arm]
        if "like" not in own:
            return [own]
        self.chosen("arm", [own["like"]],
                    list(self.file["arms"])[:list(self.file["arms"]).index(arm)])
        return [*self.layers(own["like"]), own]

    def table(self, arm, setting=""):
        """The options of an arm: of all, its own, of the setting, of the command line."""
        given = dict(map(pair, self.options.option))
        if self.options.cost:
            given["cost"] = self.options.cost
        table = merged(self.file.get("all", {}), *self.layers(arm),
                       self.file.get("settings", {}).get(setting, {}), given)
        for key, value in map(pair, self.options.set):
            table["learn" if table["learn"] and key.split(".")[0] in STEPS else "set"][key] = value
        for key in table["learn"]:
            if key.split(".")[0] not in STEPS:
                raise Refusal(f"{self.path}: no step has the setting '{key}'")
        return table

    def runs(self):
        arms = self.chosen("arm", self.options.only, self.file["arms"])
        known = self.file.get("settings", {"": {}})
        settings = self.chosen("setting", self.options.settings or self.file.get("chosen", []),
                               known)
        models = self.options.names or self.file.get("models")
        models = models or sorted(
            path.stem for path in self.options.models.glob(f"*.{self.ending}"))
        if not models:
            raise Refusal(
                f"there are no models in {self.options.models}; name a folder by --models")
        if "compare" in self.file:
            return [
                self.compared(model, arms, level) for model in models
                for level in self.file["compare"]
            ]
        return [
            self.run(model, arm, setting, seed) for setting in settings for model in models
            for arm in arms if setting in self.file["arms"][arm].get("settings", [setting])
            if model in self.file["arms"][arm].get("models", [model])
            for seed in self.seeds(arm)
        ]

    def seeds(self, arm):
        own = self.file["arms"][arm].get("seeds", [])
        if len(own) == 1:  # nothing is random
            return own
        return self.options.seeds or own or self.file.get("seeds", [1])

    def run(self, model, arm, setting, seed):
        table = self.table(arm, setting)
        identity = {"setting": setting, "model": model, "method": arm, "seed": seed}
        if table["learn"]:
            steps = self.learning(table, self.options.train or table.get("train") or [model], seed)
            if len(steps) > 1:
                steps.append(self.play(self.playing(table), model, seed, steps[-1]))
            return Run(identity, steps, learned_line)
        if "policy" in table and not table["policy"].endswith(".pt"):
            return self.run_of_policy(identity, table, model, seed)
        return Run(identity, [self.search(table, model, seed)], searched_line)

    def search(self, table, model, seed, file=None, keys=(), more=()):
        """`reverie optimize`, or the file's `command`, with the options of an arm, on `file` or
        else on the model."""
        words, keys = [file or self.model(model)], [*self.model_key(model), *keys]
        for name in sorted(name for name in table if name not in OF_ARMS or name == "policy"):
            for value in table[name] if isinstance(table[name], list) else [table[name]]:
                if name in ("policy", "rules") and Path(value).is_file():
                    keys.append(file_digest(value))
                    value = Place(value)
                words.append("--" + name.replace("_", "-"))
                words += [] if value is True else [value]
        for setting in sorted(table["set"].items()):
            words += ["--set", "=".join(setting)]
        return self.step(self.command,
                         [*words, *more, "--seed", seed, "--quiet", "--json"], f"{model}-{seed}",
                         keys, "--out" if self.ending == "yaml" else None)

    def playing(self, table):
        """Options that an arm's policy is played with."""
        if self.command != "optimize":
            names = ("set", "episodes", "devices", "evaluations", "measure", "method")
            return {name: table[name] for name in names if name in table}
        cost = {"cost": table["cost"]} if "cost" in table else {}
        return {"budget": 16, "set": {"verify_inputs": "0"} | table["set"]} | cost

    def play(self, options, model, seed, dream, keys=()):
        method = {"method": "policy"} if self.command == "optimize" else {}
        return self.search(options | method, model, seed, None, [dream.key, *keys],
                           ["--policy", Place(dream.base / "policy.pt")])

    def learning(self, table, train, seed, keys=()):
        """The steps up to the policy; collect alone where nothing is set for the dream."""
        given = dict(table["learn"])
        if "cost" in table:
            given["env.rewrite.cost"] = table["cost"]
        label = f"{train[0]}{f'-and-{len(train) - 1}' if len(train) > 1 else ''}-{seed}"
        device = [] if self.options.device == "cpu" else ["--device", self.options.device]

        def one(name, kinds, words, keys):
            settings = []
            for key in sorted(key for key in given if key.split(".")[0] in kinds):
                word = f"{key}={given[key]}"
                settings += ["--set", Place(word) if isinstance(given[key], Place) else word]
            words = [*words, *settings, "--seed", seed, "--resume", "--quiet", "--json"]
            return self.step(name, words, label, keys, "--out")

        models = [part for name in train for part in self.model_key(name)]
        collect = one("collect", ("env", "collect", "ppo"), map(self.model, train),
                      [*models, *keys])
        if not any(key.split(".")[0] in ("dream", "iterate") for key in given):
            return [collect]
        rollouts = Place(collect.base)
        vae = one("train_vae", ("vae",), [rollouts, *device], [collect.key])
        world = one(
            "train_mdnrnn", ("mdnrnn", "open_loop"),
            [rollouts, "--encoder", Place(vae.base / "encoder.pt"), *device], [vae.key])
        dream = one(
            "dream_train", ("dream", "iterate"),
            [rollouts, "--world", Place(world.base / "world.pt"), *device], [world.key])
        return [collect, vae, world, dream]

    def run_of_policy(self, identity, table, model, seed):
        """An arm that takes the policy of another experiment's arm, trained by its own costs.
        Where the arm has `fit`, costs are fitted to that share of the measurements first."""
        where, _, arm = table["policy"].partition(":")
        arm, _, learner = arm.partition("@")
        if where not in self.others:
            plain = argparse.Namespace(**vars(self.options) | {"set": [], "option": []})
            self.others[where] = Planner((self.path.parent / where).with_suffix(".toml"), plain)
        other = self.others[where]
        other.chosen("arm", [arm], other.file["arms"])
        options = {key: value for key, value in table.items() if key not in ("policy", "fit")}
        steps, keys = [], []
        if "fit" in table:
            first = int(options["measurements"] * table["fit"])
            steps = [self.fit_of(options["cost"], first, model, seed)]
            keys = [steps[0].key]
            options |= {
                "measurements": options["measurements"] - first,
                "cost": Place(f"fitted:{steps[0].base}.fit")
            }
        learned = other.table(arm)
        if "cost" in options:
            learned["cost"] = options["cost"]
        steps += other.learning(learned, learned.get("train") or [learner or model], seed, keys)
        steps.append(self.play(options, model, seed, steps[-1], keys))
        return Run(identity, steps, fitted_line if keys else searched_line)

    def fit_of(self, cost, measurements, model, seed):
        """The search that fits costs of operators to whole graphs."""
        fit = self.search(
            {
                "method": "surrogate", "measurements": measurements, "cost": cost,
                "set": {"verify_inputs": "0"}
            }, model, seed)
        fit.command += ["--fit-out", f"{fit.base}.fit"]
        return fit

    def compared(self, model, arms, level):
        """The graphs that all arms make of a model, against it."""
        filled = self.step("model", ["--fill", self.model(model)], model, self.model_key(model),
                           "--out", ".onnx")
        file, made = Place(f"{filled.base}.onnx"), []
        for arm in arms:
            table = self.table(arm)
            if "apply" in table:
                rules = Place(self.path.parent / "runtime.rules")
                words = [file, *table["apply"], "--rules", "builtin", "--rules", rules, "--json"]
                made.append(
                    self.step("rules apply", words, f"{model}-{arm}",
                              [filled.key, file_digest(rules)], "--out", "/1.onnx"))
            else:
                made.append(self.search(table, model, 1, file, [filled.key]))
                made[-1].command += ["--contenders-out", str(made[-1].base)]
        last = self.step("compare", [file, *shlex.split(self.file["compare"][level]), "--json"],
                         f"{model}-{level}", [step.key for step in made])
        last.contenders = [(filled, ""), *zip(made, arms)]
        return Run({"setting": level, "model": model, "method": "compare", "seed": 1},
                   [filled, *made, last],
                   functools.partial(compared_line, contenders=last.contenders))


def prefixed(prefix, table):
    return {f"{prefix}_{key}": value for key, value in table.items()}


def without(table, *names):
    return {key: value for key, value in table.items() if key not in names}


def searched_line(identity, answers):
    line = without(answers[-1], "rewrites") | identity
    if "end_to_end_measurements" in line:  # the costs only guided the search
        line["prior"] = line.pop("cost_source")
    return line


def fitted_line(identity, answers):
    fit, _, vae, world, dream, played = answers
    line = searched_line(identity, [played])
    line["budget"] += fit["budget"]
    line["end_to_end_measurements"] += fit["end_to_end_measurements"]
    return line | {
        "fit_gain_percent": fit["found_gain_percent"], "fit_seconds": fit["seconds"], "vae_seconds":
            vae["seconds"], "mdnrnn_seconds": world["seconds"], "policy_seconds": dream["seconds"]
    }


def learned_line(identity, answers):
    """experiments/learning/README.md has the fields."""
    collect = answers[0]
    agent = collect.get("agent_training", {})
    if len(
            answers
    ) == 1:  # an agent that learned while it collected, judged by what it collected after that
        return identity | {
            "cost_source": collect["source"], "improvement_percent":
                collect["best_improvement_percent"], "policy_sampled_improvement":
                    collect["mean_improvement_percent"], "real_steps": agent.get("steps", 0),
            "judging_steps": collect["steps"], "policy_seconds": agent.get("seconds", 0)
        }
    _, vae, world, dream, played = answers
    before = agent.get("steps", 0) + collect["steps"]
    training, validation = dream.get("training", {}), dream.get("validation", {})
    line = without(played, "rewrites", "trace") | identity
    line["real_steps"] = before + training.get("steps", 0) + validation.get("steps", 0)
    line["real_episodes"] = collect["episodes"] + sum(
        work.get("resets", 0)
        for work in (agent, training, validation)) + played.get("episodes", 0)
    line["judging_steps"] = played.get("steps", 0)
    line |= prefixed("collect", without(collect, "agent_training"))
    line |= {"vae_seconds": vae["seconds"], "mdnrnn_seconds": world["seconds"]}
    for row in world.get("open_loop", []):
        line |= prefixed(f"open_loop_{row['k']}", row)
    line |= prefixed("training", training) | prefixed("validation", validation)
    line |= prefixed("policy", without(dream, "training", "validation"))
    line["trace"] = [validated(row, before) for row in metrics_of(dream.get("out", ""))]
    return line


def metrics_of(folder):
    file = Path(folder) / "metrics.jsonl"
    rows = map(json.loads, file.read_text().splitlines()) if file.exists() else []
    return [row for row in rows if "real/score" in row]


def validated(row, before):
    point = {
        "real_steps": before + int(row.get("training_steps", 0)) +
                      int(row.get("validation_steps", 0))
    }
    return point | {
        "updates" if key == "step" else key.replace("real/", "policy_"): value
        for key, value in row.items()
    }


def compared_line(identity, answers, contenders):
    found = answers[-1]
    original, kept = found["files"][0], found["files"][found["winner"]]
    arms = {str(step.base): arm for step, arm in contenders}
    name = "original" if found[
        "winner"] == 0 else f"{arms[str(Path(kept['file']).parent)]}/{Path(kept['file']).stem}"
    return identity | {
        "device": found["device"], "library": found["library"], "original_ms":
            original["median_ms"], "gain_percent": 100 * (1 - kept["ratio"]),
        "gain_low": 100 * (1 - kept["ratio_high"]), "gain_high": 100 * (1 - kept["ratio_low"]),
        "error": kept["max_rel_error"], "kept": name, "kept_file": kept["file"], "files":
            found["files"]
    }


def contender_files(contenders):
    """Their files, equal ones once, without the original and what no rule has changed."""
    files, seen = [], {file_digest(f"{contenders[0][0].base}.onnx")}
    for step, _ in contenders[1:]:
        changed = json.loads(step.answer.read_text()).get("taken") != {}
        for file in sorted(step.base.glob("*.onnx")) if changed else []:
            if file_digest(file) not in seen:
                files.append(str(file))
            seen.add(file_digest(file))
    return files


class Stopped(Exception):
    pass


def part_of(text):
    """3/16 -> (3, 16)"""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise Refusal(f"--part {text}: write 3/16 for the third of 16")
    return int(number), int(count)


def of_part(runs, number, count):
    """Runs that share a step stay together, so that no two parts carry it out."""
    groups = []  # runs and the keys of their steps
    for run in runs:
        keys = {step.key for step in run.steps}
        shared = [group for group in groups if group[1] & keys]
        groups = [group for group in groups if not group[1] & keys]
        groups.append(([*(one for group in shared for one in group[0]), run],
                       keys.union(*(group[1] for group in shared))))
    chosen = {id(run) for group in groups[number - 1::count] for run in group[0]}
    return [run for run in runs if id(run) in chosen]


def submit(parts, words):
    """A job array of Slurm, a part each."""
    run = shlex.join([str(Path(__file__).resolve()), *words, "--slurm", "0"])
    command = [
        "sbatch", f"--array=1-{parts}", "--wrap", f"{run} --part $SLURM_ARRAY_TASK_ID/{parts}"
    ]
    try:
        return subprocess.run(command).returncode
    except FileNotFoundError:
        raise Refusal(f"--slurm needs sbatch; without Slurm: --part 1/{parts}, 2/{parts}, ...")


def lines_of_parts(path):
    """What parts of the experiment have found."""
    return [
        line for part in sorted(path.parent.glob(f"{path.stem}.part-*-of-*.jsonl"))
        for line in part.read_text().splitlines(keepends=True) if line.endswith("\n")
    ]


class Results:
    """The file of lines. It belongs to one process at a time."""
    def __init__(self, path, more=()):
        """Takes over lines of `more` for runs that it has not."""
        self.path, self.lock = path, threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal(f"another run.py writes {path}")
        self.file.seek(0)
        data = self.file.read()
        whole = data[:data.rfind(b"\n") + 1]  # a line that was cut off is made anew
        self.file.truncate(len(whole))
        self.keys = {
            identity_of(line): line.get("run") for line in map(json.loads, whole.splitlines())
        }
        for line in map(json.loads, more):
            if identity_of(line) not in self.keys:
                self.add(line)
                self.keys[identity_of(line)] = line.get("run")

    def done(self, run):
        known = self.keys.get(identity_of(run.identity), "")
        if known not in ("", run.key):
            raise Refusal(
                f"{self.path} has {run.name} by other commands: remove its line, or choose "
                "another --out"
            )
        return known == run.key

    def add(self, line):
        with self.lock:
            os.write(self.file.fileno(), (json.dumps(line, separators=(",", ":")) + "\n").encode())

    def sort(self, runs):
        """In the order of the experiment, whatever ended first; what is not of it comes first."""
        place = {identity_of(run.identity): number for number, run in enumerate(runs)}
        lines = sorted(map(json.loads, self.path.open()),
                       key=lambda line: place.get(identity_of(line), -1))
        part = self.path.with_suffix(".part")
        part.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        part.rename(self.path)


def identity_of(line):
    return tuple(str(line.get(key, "")) for key in ("setting", "model", "method", "seed"))


class Queue:
    """Carries out runs, so many at a time."""
    def __init__(self, options, results):
        self.options, self.results = options, results
        self.stopping = threading.Event()
        self.children, self.locks, self.guard = set(), {}, threading.Lock()
        self.begun = self.shown = time.monotonic()

    def stop(self, *_):
        self.stopping.set()
        for kind in (signal.SIGTERM, signal.SIGKILL):
            for child in list(self.children):
                try:
                    os.killpg(child.pid, kind)
                except ProcessLookupError:
                    pass
            time.sleep(0.2 if kind == signal.SIGTERM else 0)

    def child(self, command, log):
        """Its output; Stopped where the queue is told to stop meanwhile, Refusal where it fails."""
        with self.guard:
            if self.stopping.is_set():
                raise Stopped
            errors = log.open("w")
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=errors, text=True, start_new_session=True)
            self.children.add(child)
        output, _ = child.communicate()
        errors.close()
        self.children.discard(child)
        if self.stopping.is_set():
            raise Stopped
        if child.returncode:
            raise Refusal(f"status {child.returncode}: {shlex.join(command)} (see {log})")
        log.unlink()
        return output

    def answer(self, step):
        with self.guard:
            lock = self.locks.setdefault(step.key, threading.Lock())
        with lock:
            if not step.answer.exists():
                step.base.parent.mkdir(parents=True, exist_ok=True)
                if step.command[1:3] == ["rules", "apply"]:
                    step.base.mkdir(exist_ok=True)
                command = step.command + (contender_files(step.contenders)
                                          if step.contenders else [])
                lines = self.child(command,
                                   step.base.with_name(step.base.name + ".log")).splitlines()
                part = step.answer.with_suffix(".part")
                part.write_text((lines[-1] if lines and lines[-1].startswith("{") else "{}") + "\n")
                part.rename(step.answer)
            return json.loads(step.answer.read_text())

    def make(self, run):
        line = run.line(without(run.identity, *(() if run.identity["setting"] else ("setting",))),
                        [self.answer(step) for step in run.steps])
        self.results.add(line | {"run": run.key})
        if run.steps[-1].command[1] != "collect":  # a run whose line is removed is made anew
            run.steps[-1].answer.unlink(missing_ok=True)

    def show(self, ended, failed, total, last):
        now = time.monotonic()
        if self.options.quiet or now - self.shown < 10 and not last:
            return
        self.shown = now
        minutes = (now - self.begun) / ended * (total - ended) / 60
        left = "" if ended == total else f", {minutes:.0f} min left"
        print(f"{ended}/{total} runs{left}{f', {failed} failed' if failed else ''}",
              file=sys.stderr)

    def all(self, runs):
        """How many failed."""
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(kind, self.stop)
        failed = ended = 0
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            futures = {pool.submit(self.make, run): run for run in runs}
            for future in concurrent.futures.as_completed(futures):
                ended += 1
                try:
                    future.result()
                except Stopped:
                    continue
                except Refusal as error:
                    failed += 1
                    print(f"run.py: {futures[future].name}: {error}", file=sys.stderr)
                self.show(ended, failed, len(runs), ended == len(runs))
        return failed


def read_options(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = {
        "type": lambda text: [part for part in text.split(",") if part], "default": [],
        "metavar": "LIST"
    }
    parser.add_argument("experiment", type=Path, metavar="EXPERIMENT.toml")
    parser.add_argument("names", nargs="*", metavar="MODEL",
                        help="instead of the models of the file")
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR",
                        help="folder of models' files (%(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "runs", metavar="DIR",
                        help="folder of results (runs)")
    parser.add_argument("--only", help="arms", **listed)
    parser.add_argument("--settings", help="settings of the file", **listed)
    parser.add_argument("--seeds", default="", metavar="LIST", help="such as 1,2,5-9")
    parser.add_argument("--train", help="models to learn on, instead of the one that is played",
                        **listed)
    parser.add_argument("--cost", metavar="SOURCE", help="costs of all arms")
    parser.add_argument("--device", default="cpu", help="where V, M and C learn")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="a setting of the steps or, for arms that do not learn, of the command")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="an option of the command")
    parser.add_argument("--jobs", "-j", type=int, default=1, metavar="N", help="runs at a time")
    parser.add_argument("--part", type=part_of, metavar="K/N",
                        help="only the K-th of N parts of the runs, such as 3/16")
    parser.add_argument("--slurm", type=int, metavar="N",
                        default=0, help="submit the runs to Slurm as an array of N parts")
    parser.add_argument("--make-only", action="store_true",
                        help="only make the experiment's models, in OUT/models")
    parser.add_argument("--dry-run", action="store_true",
                        help="print the commands that are left to do")
    parser.add_argument("--tables", action="store_true", help="run nothing, print the tables")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_intermixed_args(words)
    options.seeds = seed_list(options.seeds) if options.seeds else []
    if options.jobs < 1:
        raise Refusal(f"--jobs {options.jobs}: at least 1")
    return options


def print_commands(runs):
    seen = set()
    for run in runs:
        for step in run.steps:
            if step.key in seen or step.answer.exists():
                continue
            seen.add(step.key)
            print(
                shlex.join(step.command) +
                "".join(f" {base.base}/*.onnx" for base, _ in step.contenders[1:]))


def print_tables(results, tables, arms):
    for words in tables:
        words = words.replace("{first}", arms[0])
        done = subprocess.run(
            [REVERIE, "summarize", str(results), *shlex.split(words)], capture_output=True,
            text=True)
        print(done.stdout if done.returncode == 0 else f"({words}: {done.stderr.strip()})",
              end="\n\n")


def main():
    options = read_options(sys.argv[1:])
    if options.slurm:
        return submit(options.slurm, sys.argv[1:])
    planner = Planner(options.experiment, options)
    path = options.out / f"{options.experiment.stem}.jsonl"
    if planner.file.get("alone") and options.jobs > 1:
        raise Refusal(
            f"{options.experiment}: its runs must not disturb each other; leave out --jobs")
    runs = [] if options.make_only else planner.runs()
    if options.part:
        number, count = options.part
        path = path.with_suffix(f".part-{number}-of-{count}.jsonl")
        runs = of_part(runs, number, count)
    missing = [words for file, words in planner.making().items() if not os.path.exists(file)]
    if options.dry_run:
        for words in missing:
            print(shlex.join(words))
        known = {identity_of(line): line.get("run") for line in map(json.loads, path.open())
                } if path.exists() else {}
        print_commands(run for run in runs if known.get(identity_of(run.identity)) != run.key)
        return 0
    if not options.tables:
        for words in missing:
            (options.out / "models").mkdir(parents=True, exist_ok=True)
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        results = Results(path, [] if options.part else lines_of_parts(path))
        left = [run for run in runs if not results.done(run)]
        queue = Queue(options, results)
        failed = queue.all(left)
        if queue.stopping.is_set():
            raise KeyboardInterrupt
        if failed:
            return 1
        results.sort(runs)
    if runs:
        print_tables(path, planner.file.get("tables", []), options.only
                     or list(planner.file["arms"]))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refusal as error:
        print(f"run.py: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("run.py: interrupted; the same command goes on", file=sys.stderr)
        sys.exit(130)
