#!/usr/bin/env python3
"""What fixed sequences reach on tables of recorded trainings (format adapt-table/1).

    experiments/adapt/fixed.py TABLE.json...

Prints, as Markdown, the sequence that is best on the mean of all tables, and for each table the one
that is best on the mean of the others: a choice without knowledge of that table. Actions: 0 and 1
deepen a convolution, 2 the linear block, 3 goes on.
"""

import json
import statistics
import sys
from pathlib import Path


def read(path):
    """Accuracy in percent by sequence."""
    table = json.loads(Path(path).read_text())
    return {tuple(row["actions"]): 100 * row["accuracy"] for row in table["sequences"]}


def regret(table, sequence):
    return max(table.values()) - table[sequence]


def rank(table, sequence):
    return 1 + sum(other > table[sequence] for other in table.values())


def best_fixed(tables):
    return min(sorted(tables[0]),
               key=lambda sequence: statistics.mean(regret(table, sequence) for table in tables))


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} TABLE.json TABLE.json...")
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
                "".join(map(str, sequence)), str(rank(table, sequence)),
                f"{regret(table, sequence):.2f}"
            ]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
