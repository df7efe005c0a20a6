#!/usr/bin/env python3
"""Rounds the learning curves of tables, and packs them.

    experiments/adapt/tables/pack.py TABLES.tar.xz TABLE.json...

Searches and policies find what they found before: they read of an epoch its accuracy and its share of
the budget alone.
"""

import io
import json
import lzma
import sys
import tarfile
from pathlib import Path


def rounded(curve):
    """An epoch: accuracy, that in training, loss, share of the budget."""
    return [[tested, round(trained, 2), round(loss, 1), round(spent, 9)]
            for tested, trained, loss, spent in curve]


def packed(table):
    table["curve"] = rounded(table["curve"])
    for sequence in table["sequences"]:
        for run in sequence["runs"]:
            run["curve"] = rounded(run["curve"])
    return json.dumps(table, separators=(",", ":")).encode() + b"\n"


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} TABLES.tar.xz TABLE.json...")
    with lzma.open(sys.argv[1], "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for path in map(Path, sorted(sys.argv[2:])):
                content = packed(json.loads(path.read_text()))
                entry = tarfile.TarInfo(path.name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()
