"""Jobs of a stream, each drawn from its number: a network, images, a budget, processors, and plans.

A plan is a dictionary from places to changes; a decision comes after each epoch.
"""

import csv
import gzip
import math
import struct
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from digits import SIDE, enlarged

NETWORKS, IMAGES, CHANGES = 12, 1000, 8
STARTS = (30_000, 130_000, (4, 6, 8, 12)), (4_000, 30_000, (2, 3, 4))  # multiply-adds from, to; first widths


def network(number, stream):
    """Blocks as YAML but for the last, names of convolutions, and which of these can be widened."""
    draw = np.random.default_rng([1, number] + [stream] * stream)
    least, most, widths = STARTS[stream]
    while True:
        side, width, work, channels, lines, widenable = SIDE, int(draw.choice(widths)), 0, 1, [], []
        count = int(draw.integers(2, 5))
        for block in range(count):
            kernel = int(draw.choice([3, 5], p=[0.7, 0.3]))
            stride = 2 if not block or side > 7 and draw.random() < 0.7 else 1
            same = stride == 1 and draw.random() < 0.5
            before, channels = channels, width if same else width * (1 + block // 2)
            add = block > 0 and stride == 1 and before == channels and draw.random() < 0.7
            side = math.ceil(side / stride)
            work += side**2 * channels * before * kernel**2
            name = f"b{block}"
            lines.append(f"{{conv: {channels}, kernel: {kernel}, stride: {stride}, name: {name}" +
                         (f", add: b{block - 1}}}" if add else "}"))
            if not add:
                widenable.append(name)
        if least <= work <= most and side <= 14:
            return [*lines, "{global_pool: true}"], [f"b{block}" for block in range(count)], widenable


def pictures(digits):
    """Images [n, 28, 28] and labels of both data sets."""
    with gzip.open(digits, "rt") as file:
        rows = [[int(float(value)) for value in row] for row in csv.reader(file)]
    small = np.frombuffer(b"".join(enlarged(row[:-1]) for row in rows), np.uint8).reshape(-1, SIDE, SIDE)
    folder = Path("/usr/share/datasets/fashion-mnist")
    large = np.frombuffer(gzip.open(folder / "train-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
    labels = np.frombuffer(gzip.open(folder / "train-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    return {
        "digits": (small, np.array([row[-1] for row in rows], np.uint8)),
        "fashion": (large.reshape(-1, SIDE, SIDE), labels)
    }


class Job:
    """Attributes say how it trains, `write` makes its files.

    Stream 1 begins with smaller networks, its processors stay, and its learning rate fits its length.
    """

    def __init__(self, number, stream=0):
        draw = np.random.default_rng([2, stream, number])
        self.number, self.stream, self.network = number, stream, number % NETWORKS
        self.data = "digits" if draw.random() < 0.3 else "fashion"
        self.classes = sorted(draw.choice(10, 5 if draw.random() < 0.4 else 10, replace=False).tolist())
        self.turns = int(draw.integers(4))  # quarters
        self.budget = int(draw.integers(12, 31))  # epochs of the starting network
        self.factor = int(draw.choice([2, 4]))  # throughput while the extra processors are there
        self.come = round(float(draw.uniform(0, 0.7)), 2)
        self.go = 1.0 if draw.random() < 0.5 or stream else round(float(draw.uniform(self.come + 0.1, 0.95)), 2)
        self.epochs = self.budget * (1 + (self.go - self.come) * (self.factor - 1))  # without a change
        self.decay = 0.03**(1 / self.epochs) if stream else 0.9  # of the learning rate
        _, self.blocks, self.widenable = network(self.network, stream)

    def write(self, folder, images):
        folder.mkdir(parents=True, exist_ok=True)
        blocks = [*network(self.network, self.stream)[0], f"{{linear: {len(self.classes)}, name: output}}"]
        lines = [f"image: [1, {SIDE}, {SIDE}]", "blocks:", *(f"  - {block}" for block in blocks)]
        (folder / "network.yaml").write_text("\n".join(lines) + "\n")
        pixels, labels = images[self.data]
        order = np.flatnonzero(np.isin(labels, self.classes))
        np.random.default_rng([3, self.number]).shuffle(order)
        train = min(IMAGES, len(order) * 5 // 9 // 64 * 64)  # minibatches of 64
        for name, part in ("train", order[:train]), ("t10k", order[train:][:IMAGES]):
            turned = np.rot90(pixels[part], self.turns, (1, 2))
            (folder / f"{name}-images-idx3-ubyte").write_bytes(
                struct.pack(">IIII", 0x803, len(part), SIDE, SIDE) + turned.tobytes())
            classes = np.searchsorted(self.classes, labels[part]).astype(np.uint8).tobytes()
            (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, len(part)) + classes)

    def settings(self, seed):
        values = {
            "train_images": 0, "test_images": 0, "budget": self.budget, "from": 0.5 / self.budget,
            "decisions": 1000, "every": 1, "rates": "[0.003]", "decay": self.decay,
            "extra.from": self.come, "extra.until": self.go, "extra.factor": self.factor, "seed": seed
        }
        return [f"adapt.train.{key}={value}" for key, value in values.items()]

    def rules(self):
        """Plans by constant rules. An epoch before the processors come is one of the starting network."""
        deep = [f"deepen {block}" for block in self.blocks]
        wide = [f"widen {block}" for block in self.widenable]
        come = math.ceil(self.come * self.budget) - 1
        every = lambda step, changes, begin=0: dict(zip(range(max(begin, 0), 1000, step), changes))
        return {
            "nothing": {},
            "deepen last": every(1, deep[-1:]),
            "deepen last twice": every(1, deep[-1:] * 2),
            "deepen last, every 2, four times": every(2, deep[-1:] * 4),
            "deepen last, every 3, eight times": every(3, deep[-1:] * 8),
            "deepen first": every(1, deep[:1]),
            "widen last": every(1, wide[-1:]),
            "widen first": every(1, wide[:1]),
            "widen and deepen last": every(1, [wide[-1], deep[-1]]),
            "widen all": every(1, wide),
            "deepen all": every(1, deep),
            "largest": every(1, (deep + wide + deep + wide)[:CHANGES]),
            "deepen last, when they come": every(1, deep[-1:], come),
            "deepen last twice, when they come": every(1, deep[-1:] * 2, come),
            "widen last, when they come": every(1, wide[-1:], come),
            "widen and deepen last, when they come": every(1, [wide[-1], deep[-1]], come),
        }

    def random(self, number):
        """At most eight changes within a part of the job."""
        draw = np.random.default_rng([4, self.number, number])
        begin, end = np.sort(draw.random(2)) * self.epochs
        deepens, favourite = draw.random(), draw.random()
        plan = {}
        for _ in range(draw.integers(CHANGES + 1)):
            kind, names = ("deepen", self.blocks) if draw.random() < deepens else ("widen", self.widenable)
            name = names[int(favourite * len(names))] if draw.random() < 0.5 else draw.choice(names)
            plan[int(draw.uniform(begin, end))] = f"{kind} {name}"
        return plan

    def plans(self, count):
        rules = self.rules()
        return {**rules, **{f"random {number}": self.random(number) for number in range(count - len(rules))}}


def text(plan):
    """As `--method fixed:` reads it."""
    return ",".join(plan.get(place, "go on") for place in range(max(plan, default=0) + 1))
