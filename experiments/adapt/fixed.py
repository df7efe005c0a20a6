#!/usr/bin/env python3
"""What fixed sequences reach on tables of recorded trainings (adapt-table/1, reverie-adapt/1).

    experiments/adapt/fixed.py TABLE.json TABLE.json... [--on OTHER.json]

The tables are of one network, or of networks with the same actions. Prints, as Markdown, the
sequence that is best on the mean of all tables, and for each table the one that is best on the mean
of the others: a choice without knowledge of that table. With --on, what the best of all tables reaches
on another one. Actions of adapt-table/1: 0 and 1 deepen a
convolution, 2 the linear block, 3 goes on.
"""

import json
import statistics
import sys
from pathlib import Path


def name(decision):
    """{"deepen": "first", "rate": 0.003} -> "deepen first" """
    return " ".join(next(iter(decision.items()))) if decision else "go on"


def accuracy(table, run):
    last = (table["curve"] + run["curve"])[-table["final_epochs"]:]
    return 100 * statistics.mean(epoch[0] for epoch in last)


def read(path):
    """Accuracy in percent by sequence, the mean of its runs."""
    table = json.loads(Path(path).read_text())
    if table["format"] == "adapt-table/1":
        return {tuple(map(str, row["actions"])): 100 * row["accuracy"] for row in table["sequences"]}
    return {
        tuple(map(name, row["decisions"])): statistics.mean(accuracy(table, run)
                                                            for run in row["runs"])
        for row in table["sequences"]
    }


def result(table, sequence):
    """A job whose budget ends before does not take the last decisions."""
    return next(table[sequence[:length]] for length in range(len(sequence), 0, -1)
                if sequence[:length] in table)


def regret(table, sequence):
    return max(table.values()) - result(table, sequence)


def rank(table, sequence):
    return 1 + sum(other > result(table, sequence) for other in table.values())


def best_fixed(tables):
    longest = max(map(len, tables[0]))
    return min(sorted(sequence for sequence in tables[0] if len(sequence) == longest),
               key=lambda sequence: statistics.mean(regret(table, sequence) for table in tables))


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} TABLE.json TABLE.json... [--on OTHER.json]")
    if "--on" in sys.argv:
        other = read(sys.argv.pop())
        sequence = best_fixed([read(path) for path in sys.argv[1:-1]])
        print(f"{', '.join(sequence)}: rank {rank(other, sequence)}, {regret(other, sequence):.2f}")
        return
    names = [Path(path).stem for path in sys.argv[1:]]
    tables = [read(path) for path in sys.argv[1:]]
    everywhere = best_fixed(tables)
    print("| table | best of all | rank | regret | best of the others | rank | regret |")
    print("| --- | --- | ---: | ---: | --- | ---: | ---: |")
    for number, (name, table) in enumerate(zip(names, tables)):
        others = best_fixed(tables[:number] + tables[number + 1:])
        cells = [name]
        for sequence in (everywhere, others):
            cells += [
                ", ".join(sequence), str(rank(table, sequence)),
                f"{regret(table, sequence):.2f}"
            ]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
