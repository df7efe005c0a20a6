#!/usr/bin/env python3
"""Writes handwritten digits as MNIST's files, for `reverie adapt --data`.

    experiments/adapt/digits.py digits.csv.gz DIR

digits.csv.gz lies in scikit-learn's sklearn/datasets/data (Debian: python3-sklearn): 1,797 images of 8 x 8
pixels from 0 to 16 and their labels, the test set of Alpaydin and Kaynak, "Optical Recognition of
Handwritten Digits" (UCI, 1998). They become 28 x 28 by nearest neighbour. The first 1,000 are to train
on, the others to test on.
"""

import csv
import gzip
import struct
import sys
from pathlib import Path

SIDE, TRAIN = 28, 1000


def enlarged(pixels):
    """8 x 8 values from 0 to 16 as bytes."""
    return bytes(255 * pixels[8 * (8 * y // SIDE) + 8 * x // SIDE] // 16 for y in range(SIDE)
                 for x in range(SIDE))


def main():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} digits.csv.gz DIR")
    with gzip.open(sys.argv[1], "rt") as file:
        rows = [[int(float(value)) for value in row] for row in csv.reader(file)]
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in ("train", rows[:TRAIN]), ("t10k", rows[TRAIN:]):
        images = struct.pack(">IIII", 0x803, len(part), SIDE, SIDE)
        images += b"".join(enlarged(row[:-1]) for row in part)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(images)
        labels = struct.pack(">II", 0x801, len(part)) + bytes(row[-1] for row in part)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(labels)


if __name__ == "__main__":
    main()
