"""Reads the inputs that an ONNX file declares, and draws numbers for them. Standard library only."""

import json
import math
import random
import struct

# Element types of ONNX: the runtime's name, and the letter of module struct.
TYPES = {1: ("float32", "f"), 6: ("int32", "i"), 7: ("int64", "q"), 9: ("bool", "?"), 10: ("float16", "e")}

# What symbolic extents are bound to.
EXTENTS = {"batch": 1, "image_batch": 1, "text_batch": 2, "sequence": 64, "past": 32, "height": 128, "width": 128,
           "nodes": 128, "edges": 512}


def fields(data, begin, end):
    """(number, value) of a protobuf message: an integer, or begin and end of bytes."""
    at = begin

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < end:
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
        yield key >> 3, (at, at + size)
        at += size


def parts(data, span, number):
    return [value for field, value in fields(data, *span) if field == number]


def declared(data):
    """(name, element type, extents) of each input of a model; an extent is a number or a name."""
    graph = parts(data, (0, len(data)), 7)[0]
    inputs = []
    for span in parts(data, graph, 11):
        name = data[slice(*parts(data, span, 1)[0])].decode()
        tensor = parts(data, parts(data, span, 2)[0], 1)[0]
        extents = []
        for dim in parts(data, parts(data, tensor, 2)[0], 1):
            numbers, names = parts(data, dim, 1), parts(data, dim, 2)
            extents.append(numbers[0] if numbers else data[slice(*names[0])].decode())
        inputs.append((name, parts(data, tensor, 1)[0], extents))
    return inputs


def numbers(name, kind, count, stream):
    if kind in (1, 10):
        return [stream.gauss(0, 1) for _ in range(count)]
    if "mask" in name:
        return [1] * count
    if name == "slots":  # each once
        return list(range(count))
    limit = 2 if "type" in name else 100
    return [stream.randrange(limit) for _ in range(count)]


def write(model, path):
    """Writes random inputs for the model in the form that core/ort/worker.h describes."""
    with open(model, "rb") as file:
        inputs = declared(file.read())
    stream = random.Random(1)
    header, blocks = [], []
    for name, kind, extents in inputs:
        dims = [extent if isinstance(extent, int) else EXTENTS[extent] for extent in extents]
        runtime_type, letter = TYPES[kind]
        count = math.prod(dims)
        block = struct.pack(f"<{count}{letter}", *numbers(name, kind, count, stream))
        header.append({"name": name, "type": runtime_type, "dims": dims, "bytes": len(block)})
        blocks.append(block)
    with open(path, "wb") as file:
        file.write(json.dumps(header).encode() + b"\n" + b"".join(blocks))


def read(path):
    """Tensors of such a file by name: (type, dims, numbers)."""
    with open(path, "rb") as file:
        header = json.loads(file.readline())
        letters = {runtime_type: letter for runtime_type, letter in TYPES.values()}
        tensors = {}
        for entry in header:
            count = math.prod(entry["dims"])
            values = struct.unpack(f"<{count}{letters[entry['type']]}", file.read(entry["bytes"]))
            tensors[entry["name"]] = (entry["type"], entry["dims"], values)
        return tensors
