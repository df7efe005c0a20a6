#!/usr/bin/env python3
"""What memory optimising a model takes, against the size of its weights: one line for each model and program.

weights.py FOLDER [--megabytes N,...] [--kinds KIND,...] [PROGRAM ...]

Models are written to FOLDER as bytes, so that nothing but Python is needed. Figures: the largest resident size that the system
tells (pages of the program's own file among them), the largest anonymous part of it, read every 10 ms, and both over the size.
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import time

ROWS = 16
FLOAT, INT64 = 1, 7
GREEDY = ["--method", "greedy", "--cost", "roofline:cpu"]
# Each: how its layers are built, where its weights lie, and with which options it is optimised.
KINDS = {
    "plain": ("plain", "inside", []),
    "plain outside": ("plain", "outside", []),
    "attention": ("attention", "inside", []),
    "scaled": ("scaled", "inside", GREEDY),
    "scaled outside": ("scaled", "outside", GREEDY),
    "scaled small": ("small", "inside", GREEDY),
    "float_data": ("plain", "floats", []),
    "out of order": ("plain", "reversed", GREEDY),
    "one matrix": ("matrix", "inside", []),
    "tied embedding": ("tied", "inside", GREEDY),
}


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


class Model:
    """Nodes and weights of a chain of layers, whose values are ROWS x hidden."""

    def __init__(self, hidden):
        self.hidden, self.nodes, self.weights, self.rows = hidden, [], [], 0

    def size(self):
        return 4 * sum(elements(shape) for _, shape in self.weights)

    def weight(self, name, *shape):
        self.weights.append((name, shape))
        return name

    def node(self, op, inputs, output, **attributes):
        node = b"".join(block(1, name) for name in inputs) + block(2, output) + block(3, "n_" + output) + block(4, op)
        for name, values in attributes.items():
            if isinstance(values, int):
                node += block(5, block(1, name) + number(3, values) + number(20, 2))
            else:
                node += block(5, block(1, name) + b"".join(number(8, value) for value in values) + number(20, 7))
        self.nodes.append(node)
        return output

    def product(self, x, name, rows, columns):
        return self.node("MatMul", [x, self.weight(name, rows, columns)], name + "_m")

    def dense(self, x, name, rows, columns, op="Add"):
        return self.node(op, [self.product(x, name, rows, columns), self.weight(name + "_b", columns)], name + "_a")

    def feed_forward(self, x, name, op):
        up = self.node("Relu", [self.dense(x, name + "up", self.hidden, 4 * self.hidden, op)], name + "r")
        return self.dense(up, name + "down", 4 * self.hidden, self.hidden, op)

    def attention(self, x, name):
        h = self.hidden
        norm = self.node("LayerNormalization", [x, self.weight(name + "g", h), self.weight(name + "n", h)], name + "ln")
        q, k, v = (self.dense(norm, name + part, h, h) for part in "qkv")
        scores = self.node("MatMul", [q, self.node("Transpose", [k], name + "t", perm=[1, 0])], name + "s")
        heads = self.node("MatMul", [self.node("Softmax", [scores], name + "p"), v], name + "h")
        y = self.node("Add", [x, self.dense(heads, name + "o", h, h)], name + "x")
        return self.node("Add", [y, self.feed_forward(y, name, "Add")], name + "y")

    def build(self, layers, megabytes):
        x, i = "x", 0
        if layers == "matrix":
            columns = int(megabytes * 1e6 / 4 / self.hidden)
            wide = self.node("Relu", [self.product(x, "wide", self.hidden, columns)], "wide_r")
            mean = self.node("ReduceMean", [wide], "mean", axes=[1], keepdims=1)
            x = self.node("MatMul", [mean, self.weight("last", 1, self.hidden)], "last_m")
            return self.node("Identity", [x], "y")
        if layers == "tied":
            self.rows = int(megabytes * 1e6 / 4 / self.hidden * 0.4)
            x = self.node("Gather", [self.weight("table", self.rows, self.hidden), "ids"], "x0")
        while self.size() < megabytes * 1e6:
            name, i = f"l{i}_", i + 1
            if layers in ("attention", "tied"):
                x = self.attention(x, name)
            elif layers == "small":
                x = self.node("Relu", [self.dense(x, name, self.hidden, self.hidden, "Mul")], name + "y")
            else:
                x = self.node("Relu", [self.feed_forward(x, name, "Mul" if layers == "scaled" else "Add")], name + "y")
        if layers == "tied":
            x = self.node("MatMul", [x, self.node("Transpose", ["table"], "turned", perm=[1, 0])], "logits")
        return self.node("Identity", [x], "y")


def value_info(name, dtype, shape):
    dims = b"".join(block(1, number(1, extent)) for extent in shape)
    return block(1, name) + block(2, block(1, number(1, dtype) + block(2, dims)))


class Data:
    """Numbers in [-1, 1], others for each weight."""

    def __init__(self):
        rng = random.Random(1)
        self.base = struct.pack("<1048576f", *(rng.uniform(-1, 1) for _ in range(1 << 20))) * 2

    def write(self, file, index, count):
        file.write(struct.pack("<ff", index % 997 / 997, index // 997 / 997)[:count])
        at, left = index * 31676 % (1 << 22), max(count - 8, 0)
        while left > 0:
            file.write(self.base[at : at + min(left, 1 << 22)])
            left -= 1 << 22


def write_model(path, layers, place, megabytes):
    model = Model(448 if layers == "small" else 512 if megabytes < 300 else 1024 if megabytes < 1000 else 2048)
    model.build(layers, megabytes)
    nodes = reversed(model.nodes) if place == "reversed" else model.nodes
    heads, offset = [], 0
    for name, shape in model.weights:
        size = 4 * elements(shape)
        head = b"".join(number(1, extent) for extent in shape) + number(2, FLOAT)
        if place == "outside":
            entries = (("location", path.name + ".data"), ("offset", str(offset)), ("length", str(size)))
            head += block(8, name) + number(14, 1)
            head += b"".join(block(13, block(1, key) + block(2, value)) for key, value in entries)
        else:
            head += block(8, name) + varint((4 if place == "floats" else 9) << 3 | 2) + varint(size)
        heads.append((head, size))
        offset += size
    inside = 0 if place == "outside" else 1
    sizes = [len(head) + inside * size for head, size in heads]
    before = b"".join(block(1, node) for node in nodes) + block(2, "g")
    width = model.rows or model.hidden
    x = value_info("ids", INT64, [ROWS]) if model.rows else value_info("x", FLOAT, [ROWS, model.hidden])
    after = block(11, x) + block(12, value_info("y", FLOAT, [ROWS, width]))
    graph = len(before) + sum(1 + len(varint(size)) + size for size in sizes) + len(after)
    data = Data()
    with open(path, "wb") as file:
        file.write(number(1, 8) + block(8, block(1, "") + number(2, 17)) + varint(7 << 3 | 2) + varint(graph) + before)
        for i, (head, size) in enumerate(heads):
            file.write(varint(5 << 3 | 2) + varint(sizes[i]) + head)
            if inside:
                data.write(file, i, size)
        file.write(after)
    if not inside:
        with open(f"{path}.data", "wb") as file:
            for i, (_, size) in enumerate(heads):
                data.write(file, i, size)


def anonymous_bytes(pid):
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def measured(words):
    with tempfile.TemporaryDirectory() as cache:  # so that costs are measured
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ, "REVERIE_CACHE": cache})
        anonymous = 0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            anonymous = max(anonymous, anonymous_bytes(process.pid))
            time.sleep(0.01)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(words)}: failed")
    return usage.ru_maxrss * 1024, anonymous, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--megabytes", default="100,500,2000")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_intermixed_args()
    build = pathlib.Path(__file__).resolve().parents[2] / "build" / "reverie"
    options.folder.mkdir(parents=True, exist_ok=True)
    print("kind megabytes program resident_MB anonymous_MB resident/size anonymous/size processor_s")
    for megabytes in map(int, options.megabytes.split(",")):
        for kind in options.kinds.split(","):
            layers, place, words = KINDS[kind]
            path = options.folder / "model.onnx"
            writer = multiprocessing.Process(target=write_model, args=(path, layers, place, megabytes))
            writer.start()  # of its own, as what this process holds counts for those that it starts
            writer.join()
            size = sum(file.stat().st_size for file in options.folder.glob("model.onnx*"))
            for program in options.programs or [str(build)]:
                out = str(options.folder / "out.onnx")
                resident, anonymous, seconds = measured([program, "optimize", str(path), "--out", out, "--quiet", *words])
                print(
                    f"{kind.replace(' ', '_')} {size / 1e6:.0f} {program} {resident / 1e6:.0f} {anonymous / 1e6:.0f} "
                    f"{resident / size:.2f} {anonymous / size:.2f} {seconds:.1f}",
                    flush=True,
                )
            for file in options.folder.glob("*.onnx*"):
                file.unlink()


if __name__ == "__main__":
    main()
