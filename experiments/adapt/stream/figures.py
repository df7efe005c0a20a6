#!/usr/bin/env python3
"""What a stream of jobs has to offer: room above constant rules, what the curve tells, what arithmetic ranks.

    experiments/adapt/stream/figures.py RESULTS.jsonl

Every model here learns from other jobs alone. Needs NumPy.
"""

import gzip
import json
import math
import sys

import numpy as np

LENGTH, CURVED, LINEAR, LEVEL, NOISE = 2, 20, 5, 20, 1.5  # as in gp.py, but for the noise
HALF = 0.5  # of the budget, up to which a curve is seen


def arithmetic(row):
    """What networks, epochs and the budget tell of a training, without its accuracies.

    When extra processors go, the changes that were made with them are lost, and all that was learned
    since the first of these.
    """
    spent, changes, come, go = row["spent"], row["changes"], row["come"], row["go"]
    after = sum(share > go for share in spent)
    lost = [epoch for _, epoch in changes if come <= spent[epoch - 1] < go] if after else []
    kept = [(name, epoch) for name, epoch in changes
            if not lost or epoch < lost[0] or spent[epoch - 1] >= go]
    epochs = lost[0] + after if lost else len(spent)
    since = min([len(spent) - kept[-1][1] if kept else epochs] + ([after] if lost else []))
    made = [sum(name.startswith(kind) for name, _ in kept) for kind in ("deepen", "widen")]
    work, start = row["work"], row["start"]
    return [math.log1p(epochs), math.log1p(since), math.log(work), math.log(work / start), *made, bool(lost)]


def curve(row):
    """Accuracies up to half of the budget: the last, of three, the last rise, at a quarter, all falls."""
    seen = [tested for tested, share in zip(row["curve"], row["spent"]) if share <= HALF]
    seen = np.array(seen or row["curve"][:1])
    quarter = seen[max(sum(share <= HALF / 2 for share in row["spent"]) - 1, 0)]
    return [seen[-1], seen[-3:].mean(), seen[-1] - seen[-4:][0], quarter, np.minimum(np.diff(seen), 0).sum()]


def kernel(one, other):
    distance = ((one[:, None] - other[None])**2).sum(-1)
    return LINEAR * one @ other.T + CURVED * np.exp(-distance / (2 * LENGTH**2))


def expected(features, points, group, hidden):
    """What a Gaussian process expects of each training: it learns from those with another number in `hidden`.

    Groups have a level of their own.
    """
    result = np.zeros(len(points))
    for number in np.unique(hidden):
        here, seen = np.flatnonzero(hidden == number), np.flatnonzero(hidden != number)
        mean, spread = features[seen].mean(0), features[seen].std(0)
        scaled = (features - mean) / np.where(spread < 1e-6, 1, spread)
        belief = kernel(scaled[seen], scaled[seen]) + LEVEL**2 * (group[seen][:, None] == group[seen][None])
        weights = np.linalg.solve(belief + NOISE**2 * np.eye(len(seen)), points[seen] - points[seen].mean())
        result[here] = kernel(scaled[here], scaled[seen]) @ weights
    return result


def centred(values, group):
    return values - (np.bincount(group, values) / np.bincount(group))[group]


def rank_correlation(one, other):
    ranks = [[(all_of < one_of).sum() + (all_of == one_of).sum() / 2 for one_of in all_of]
             for all_of in (one, other)]
    return np.corrcoef(*ranks)[0, 1]


def interval(values):
    """Mean, and its 95 % interval over jobs by the bootstrap."""
    draw = np.random.default_rng(1)
    means = values[draw.integers(len(values), size=(4000, len(values)))].mean(1)
    return "{:.2f} ({:.2f} to {:.2f})".format(values.mean(), *np.quantile(means, (0.025, 0.975)))


def whole(rows):
    """Those of the largest table in which every job has both seeds of every plan."""
    have = {}
    for row in rows:
        have.setdefault(row["job"], set()).add((row["plan"], row["seed"]))
    done = {job: {plan for plan, _ in of if {(plan, 1), (plan, 2)} <= of} for job, of in have.items()}
    plans = max(done.values(), key=lambda one: len(one) * sum(one <= other for other in done.values()))
    chosen = [row for row in rows if plans <= done[row["job"]] and row["plan"] in plans]
    return sorted(chosen, key=lambda row: (row["job"], row["seed"], row["plan"]))


def room(tables, plans, means, stays):
    """Points below the plan that is best by one seed, where both are judged by the other seed."""
    rules = [place for place, plan in enumerate(plans) if not plan.startswith("random")]

    def of_others(job, _):
        return rules[np.delete(tables, job, 0)[:, :, rules].mean((0, 1)).argmax()]

    choices = {
        "best rule of the other jobs": of_others,
        "nothing": lambda *_: plans.index("nothing"),
        "mean of all plans": lambda *_: slice(None)
    }
    if means is not None:
        choices["what arithmetic holds best"] = lambda job, seed: means[job, seed].argmax()
    print("(a) points below the best plan: all jobs; processors stay; they go again")
    for name, choice in choices.items():
        values = np.array([np.mean([table[1 - seed, table[seed].argmax()] - table[1 - seed, choice(job, seed)].mean()
                                    for seed in (0, 1)]) for job, table in enumerate(tables)])
        parts = [f"{values[part].mean():.2f}" for part in (stays, ~stays) if part.any()]
        print(f"  {name}: {interval(values)}; {'; '.join(parts)}")
    both = tables.mean(1)
    print("  rules chosen:", sorted({plans[of_others(job, 0)] for job in range(len(tables))}))
    print("  with the best chosen and judged by the mean of both seeds, which flatters it:",
          interval(np.array([table.max() - table[of_others(job, 0)] for job, table in enumerate(both)])))


def report(rows):
    rows = whole(rows)
    plans = sorted({row["plan"] for row in rows})
    numbers, job = np.unique([row["job"] for row in rows], return_inverse=True)
    network = np.array([row["network"] for row in rows])
    points = np.array([row["accuracy"] for row in rows])
    group = 2 * job + np.array([row["seed"] - 1 for row in rows])
    tables = points.reshape(len(numbers), 2, len(plans))
    stays = np.array([row["go"] == 1 for row in rows])[::2 * len(plans)]
    print(f"{len(numbers)} jobs ({stays.sum()} keep the processors), {len(plans)} plans, {len(rows)} trainings")
    if not all("curve" in row for row in rows):  # accuracies alone
        return room(tables, plans, None, stays)

    features = np.array([arithmetic(row) for row in rows], float)
    guess = expected(features, points, group, job)
    room(tables, plans, guess.reshape(tables.shape), stays)

    all_of_it, rest = centred(points, group), centred(points - guess, group)
    noise = centred((tables[:, 0] - tables[:, 1]).ravel(), np.arange(len(numbers)).repeat(len(plans))).var() / 2
    print(f"(b) variance within a job {all_of_it.var():.1f}: arithmetic explains "
          f"{100 - 100 * rest.var() / all_of_it.var():.0f} %; of the rest {100 * noise / rest.var():.0f} % are noise")
    seen = np.array([curve(row) for row in rows])
    beside = np.column_stack([centred(column, group) for column in seen.T])
    for name, columns in ("the curve", seen), ("the curve less that of the job's other plans", beside):
        more = centred(points - expected(np.hstack([features, columns]), points, group, job), group)
        print(f"  {name} explains {100 - 100 * more.var() / rest.var():.0f} % of the rest")

    print("(c) rank correlation within a job")
    for name, of in ("job not seen", guess), ("network not seen", expected(features, points, group, network)):
        each = [rank_correlation(of[group == one], points[group == one]) for one in np.unique(group)]
        print(f"  {name}: {interval(np.reshape(each, (-1, 2)).mean(1))}")
    print(f"  one seed and the other: {interval(np.array([rank_correlation(*table) for table in tables]))}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} RESULTS.jsonl")
    with (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rt") as file:
        report([json.loads(line) for line in file])
