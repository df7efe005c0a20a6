// Which of several models is the fastest, beyond doubt? The same procedure as `optimize --confirm`
// (core/cost/contest.h): fresh sittings, turns in random order, lower quartiles within a sitting, and
// the median over sittings with its 95% interval by order statistics.

export function medianInterval(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const n = sorted.length;
  const half = 0.98 * Math.sqrt(n);
  const at = (rank) => sorted[Math.min(Math.max(rank - 1, 0), n - 1)];
  return {
    median: (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2,
    low: at(Math.floor(n / 2 - half)),
    high: at(Math.ceil(n / 2 + 1 + half)),
  };
}

const lowerQuartile = (samples) => [...samples].sort((a, b) => a - b)[samples.length >> 2];

export function shuffled(items, random) {
  const order = [...items];
  for (let i = order.length; i > 1; --i) {
    const j = Math.floor(random() * i);
    [order[i - 1], order[j]] = [order[j], order[i - 1]];
  }
  return order;
}

const WARM_UP = 2, SCREENING = 2, FINALISTS = 3, FEWEST = 6;

export const defaults = { minSittings: 9, maxSittings: 25, spread: 0.005, seconds: 120, sittingSeconds: 0.3, rounds: 5, now: () => performance.now() };

// Contestant 0 is the one to beat. `open(contestant)` makes one ready and resolves to { run, close };
// `run` resolves after one run.
export async function holdContest(contestants, open, random, options = defaults) {
  const times = Array.from({ length: contestants }, () => []);
  const ratios = Array.from({ length: contestants }, () => []);
  let seconds = 0;

  async function sit(alive) {
    const players = new Map();
    for (const contestant of shuffled(alive, random)) players.set(contestant, await open(contestant));
    const samples = new Map(alive.map((contestant) => [contestant, []]));
    let total = 0;
    for (let round = -WARM_UP; round < options.rounds || total < options.sittingSeconds; ++round) {
      for (const contestant of shuffled(alive, random)) {
        const begin = options.now();
        await players.get(contestant).run();
        const elapsed = (options.now() - begin) / 1e3;
        seconds += elapsed;
        if (round < 0) continue;
        total += elapsed;
        samples.get(contestant).push(elapsed);
      }
    }
    for (const player of players.values()) await player.close();
    for (const contestant of alive) {
      ratios[contestant].push(lowerQuartile(samples.get(contestant)) / lowerQuartile(samples.get(0)));
      times[contestant].push(...samples.get(contestant));
    }
  }

  // One by one, so that no more than two models are in memory.
  let finalists = Array.from({ length: contestants - 1 }, (_, i) => i + 1);
  if (finalists.length > FINALISTS) {
    for (const contestant of finalists)
      for (let i = 0; i < SCREENING; ++i) await sit([0, contestant]);
    const ratio = (contestant) => medianInterval(ratios[contestant]).median;
    finalists = finalists.sort((a, b) => ratio(a) - ratio(b)).slice(0, FINALISTS);
  }
  const final = [0, ...finalists];
  for (const contestant of final) ratios[contestant] = [];
  seconds = 0;
  const spread = ({ low, high, median }) => (high - low) / 2 / median;
  for (let sittings = 0; sittings < options.maxSittings && final.length > 1; ++sittings) {
    if (sittings >= FEWEST && seconds >= options.seconds) break;
    if (sittings >= options.minSittings && final.every((c) => spread(medianInterval(ratios[c])) <= options.spread)) break;
    await sit(final);
  }
  const standings = times.map((own, contestant) => ({
    median_ms: own.length > 0 ? 1e3 * medianInterval(own).median : 0,
    ratio: ratios[contestant].length > 0 ? medianInterval(ratios[contestant]) : { median: 1, low: 1, high: 1 },
    sittings: ratios[contestant].length,
    finalist: final.includes(contestant),
  }));
  const won = finalists.filter((c) => standings[c].ratio.high < 1);
  const winner = won.sort((a, b) => standings[a].ratio.median - standings[b].ratio.median)[0] ?? 0;
  return { standings, winner };
}
