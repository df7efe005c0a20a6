// Runs two ONNX models on the same random inputs in ONNX Runtime and compares their outputs.
// Usage: node compare.mjs REVERIE ORIGINAL OPTIMIZED
// Exit status: 0 they agree within 1e-4, 1 they do not, 77 ONNX Runtime is not installed here.
import { execFileSync } from "node:child_process";

const SKIPPED = 77;
const TOLERANCE = 1e-4;

async function loadRuntime() {
  try {
    return (await import("onnxruntime-node")).default;
  } catch {
    console.log("skipped: no ONNX Runtime (run npm install --ignore-scripts in tests/smoke/onnxruntime)");
    process.exit(SKIPPED);
  }
}

// Mulberry32: a seeded generator, uniform in [0, 1).
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function randomTensor(ort, { type: dtype, shape }, random) {
  const size = shape.reduce((a, b) => a * b, 1);
  if (dtype === "int64")
    return new ort.Tensor(dtype, BigInt64Array.from({ length: size }, () => BigInt(Math.floor(random() * 100))), shape);
  if (dtype !== "float32") throw new Error(`no random inputs of type ${dtype}`);
  return new ort.Tensor(dtype, Float32Array.from({ length: size }, () => 2 * random() - 1), shape);
}

function relativeError(reference, other) {
  let difference = 0, largest = 0;
  for (let i = 0; i < reference.length; ++i) {
    difference = Math.max(difference, Math.abs(reference[i] - other[i]));
    largest = Math.max(largest, Math.abs(reference[i]));
  }
  return difference / largest;
}

async function main() {
  const [reverie, original, optimized] = process.argv.slice(2);
  const ort = await loadRuntime();
  const description = execFileSync(reverie, ["inspect", original, "--json"], { encoding: "utf8" });
  const { inputs } = JSON.parse(description.trim().split("\n").at(-1));
  const random = generator(1);
  const feeds = Object.fromEntries(inputs.map((input) => [input.name, randomTensor(ort, input, random)]));
  const options = { graphOptimizationLevel: "disabled", intraOpNumThreads: 1 };
  const results = [];
  for (const path of [original, optimized]) {
    const session = await ort.InferenceSession.create(path, options);
    results.push(await session.run(feeds));
  }
  let agreed = Object.keys(results[0]).length > 0;
  for (const [name, { data }] of Object.entries(results[0])) {
    const error = relativeError(data, results[1][name].data);
    console.log(`${name}: relative error ${error.toExponential(2)}`);
    agreed &&= error <= TOLERANCE;  // false for NaN too
  }
  process.exit(agreed ? 0 : 1);
}

await main();
