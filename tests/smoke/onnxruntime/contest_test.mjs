// The contest of experiments/runtimes on a machine whose clock is made up.
import assert from "node:assert/strict";
import { defaults, holdContest, medianInterval } from "../../../experiments/runtimes/contest.mjs";
import { generator } from "../../../experiments/runtimes/tensors.mjs";

// Runs take known milliseconds, up to noise and a shift drawn for each contestant in each sitting.
async function play(milliseconds, seed) {
  const random = generator(seed);
  let clock = 0, sittings = 0;
  const open = async (contestant) => {
    ++sittings;
    const time = milliseconds[contestant] * (1 + 0.02 * (2 * random() - 1));
    return { run: async () => { clock += time * (1 + 0.05 * random()); }, close: async () => {} };
  };
  const options = { ...defaults, seconds: 1e9, now: () => clock };
  return { ...(await holdContest(milliseconds.length, open, generator(seed + 1), options)), sittings };
}

assert.deepEqual(medianInterval([3, 1, 2]), { median: 2, low: 1, high: 3 });
const many = medianInterval(Array.from({ length: 100 }, (_, i) => i + 1));
assert.equal(many.median, 50.5);
assert.deepEqual([many.low, many.high], [40, 61]);

const { winner, standings } = await play([100, 97, 80, 120, 90], 1);
assert.equal(winner, 2);
assert.ok(Math.abs(standings[2].ratio.median - 0.8) < 0.02);
assert.ok(!standings[3].finalist);
assert.ok(standings[2].sittings >= defaults.minSittings);

let lost = 0;
for (let seed = 0; seed < 50; ++seed) lost += (await play([100, 100, 100, 100], seed)).winner !== 0;
assert.ok(lost <= 5, `an equal beat the original ${lost} times of 50`);
assert.equal((await play([100, 110], 1)).winner, 0);
assert.equal((await play([100], 1)).winner, 0);
