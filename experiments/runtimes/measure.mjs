// Runs a model and what was made of it in ONNX Runtime, on one thread, and prints one line of JSON.
// Usage: node measure.mjs --runtime FOLDER --reverie FILE --level disabled|basic|extended|all
//                         [--seconds S] ORIGINAL CONTENDER...
// FOLDER is where onnxruntime-node was installed. Exit status 1: an output disagrees; its model is left out.
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { defaults, holdContest } from "./contest.mjs";
import { generator, randomInputs, relativeError } from "./tensors.mjs";

const TOLERANCE = 1e-3;

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    runtime: { type: "string" },
    reverie: { type: "string" },
    level: { type: "string", default: "all" },
    seconds: { type: "string", default: String(defaults.seconds) },
  },
});
const load = createRequire(join(resolve(options.runtime), "measure.js"));
const ort = load("onnxruntime-node");

const open = (file, level) =>
  ort.InferenceSession.create(file, {
    graphOptimizationLevel: level, intraOpNumThreads: 1, interOpNumThreads: 1,
    executionMode: "sequential", logSeverityLevel: 3,
  });

async function outputsOf(file, level, feeds) {
  const session = await open(file, level);
  const outputs = await session.run(feeds);
  await session.release();
  return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data]));
}

function worstError(reference, other) {
  const errors = Object.entries(reference).map(([name, data]) => relativeError(data, other[name]));
  return errors.includes(NaN) || errors.length === 0 ? NaN : Math.max(...errors);
}

// Where nothing normalizes, the size of the inputs decides whether numbers stay in range: inputs for
// which the original's outputs are neither zero nor infinite.
async function usableInputs(original) {
  let low = 0, high = 4;
  for (let scale = 1, i = 0; i < 40; ++i, scale = (low + high) / 2) {
    const feeds = randomInputs(ort, options.reverie, original, scale);
    const outputs = Object.values(await outputsOf(original, "disabled", feeds));
    const finite = outputs.every((data) => data.every((x) => Number.isFinite(Number(x))));
    const alive = outputs.every((data) => data.some((x) => Math.abs(Number(x)) > 1e-20));
    if (finite && alive) return { feeds, reference: await outputsOf(original, "disabled", feeds) };
    if (finite) low = scale; else high = scale;
  }
  throw new Error(`${original}: no inputs keep its outputs in range`);
}

const { feeds, reference } = await usableInputs(files[0]);
const errors = [];
for (const file of files) errors.push(worstError(reference, await outputsOf(file, options.level, feeds)));

// What disagrees takes no part: the original does, whatever the runtime makes of it.
const fit = files.map((_, i) => i).filter((i) => i === 0 || errors[i] <= TOLERANCE);
const { standings, winner } = await holdContest(
  fit.length,
  async (contestant) => {
    const session = await open(files[fit[contestant]], options.level);
    return { run: () => session.run(feeds), close: () => session.release() };
  },
  generator(1),
  { ...defaults, seconds: Number(options.seconds) },
);

console.log(JSON.stringify({
  model: basename(files[0], ".onnx"),
  level: options.level,
  runtime: `onnxruntime ${load("onnxruntime-node/package.json").version}`,
  processor: cpus()[0].model,
  winner,
  contestants: fit.map((i, contestant) => ({
    file: i === 0 ? "original" : join(basename(dirname(files[i])), basename(files[i])),
    max_rel_error: errors[i],
    ...standings[contestant],
  })),
  disagree: files.filter((_, i) => !fit.includes(i)),
}));
process.exit(fit.length === files.length ? 0 : 1);
