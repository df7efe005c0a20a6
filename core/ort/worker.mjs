// Runs ONNX models for core/ort/worker.h, which describes the protocol: a JSON object a line in, one a line out.
// Argument: the folder whose node_modules hold onnxruntime-node.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const load = createRequire(join(process.argv.at(-1), "worker.js"));
const ort = load("onnxruntime-node");

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

// A file of tensors: a line of JSON, [{name, type, dims, bytes}, ...], and behind it their elements.
function readTensors(path) {
  const file = readFileSync(path);
  const end = file.indexOf(10);
  let at = end + 1;
  const tensors = {};
  for (const { name, type, dims, bytes } of JSON.parse(file.toString("utf8", 0, end))) {
    const elements = new Uint8Array(file.subarray(at, at + bytes)).buffer;
    tensors[name] = new ort.Tensor(type, new ARRAYS[type](elements), dims);
    at += bytes;
  }
  return tensors;
}

function writeTensors(path, tensors) {
  const parts = Object.entries(tensors).map(([name, { type, dims, data }]) => {
    if (!(type in ARRAYS)) throw new Error(`output '${name}' is of type ${type}`);
    const elements = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    return { entry: { name, type, dims, bytes: elements.length }, elements };
  });
  const header = JSON.stringify(parts.map(({ entry }) => entry)) + "\n";
  writeFileSync(path, Buffer.concat([Buffer.from(header), ...parts.map(({ elements }) => elements)]));
}

const sessions = new Map();

const commands = {
  version: () => ({ version: load("onnxruntime-node/package.json").version }),

  async load({ id, model, inputs, threads, optimize }) {
    const session = await ort.InferenceSession.create(model, {
      graphOptimizationLevel: optimize ? "all" : "disabled", intraOpNumThreads: threads,
      interOpNumThreads: 1, executionMode: "sequential", logSeverityLevel: 3,
    });
    sessions.set(id, { session, feeds: readTensors(inputs) });
    return {};
  },

  async run({ id, outputs }) {
    const { session, feeds } = sessions.get(id);
    const begin = performance.now();
    const results = await session.run(feeds);
    const seconds = (performance.now() - begin) / 1e3;
    if (outputs !== undefined) writeTensors(outputs, results);
    return { seconds };
  },

  async drop({ id }) {
    await sessions.get(id)?.session.release();
    sessions.delete(id);
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const request = JSON.parse(line);
    answer = await commands[request.do](request);
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);
