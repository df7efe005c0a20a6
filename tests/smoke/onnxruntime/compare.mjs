// Runs two ONNX models on the same random inputs in ONNX Runtime and compares their outputs.
// Usage: node compare.mjs REVERIE ORIGINAL OPTIMIZED
// Exit status: 0 they agree within 1e-4, 1 they do not, 77 ONNX Runtime is not installed here.
import { randomInputs, relativeError } from "../../../experiments/runtimes/tensors.mjs";

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

async function main() {
  const [reverie, original, optimized] = process.argv.slice(2);
  const ort = await loadRuntime();
  const feeds = randomInputs(ort, reverie, original);
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
