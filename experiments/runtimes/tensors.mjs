// Random inputs for a model, and how far two outputs are apart.
import { execFileSync } from "node:child_process";

// Mulberry32: a seeded generator, uniform in [0, 1).
export function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function randomTensor(ort, { type: dtype, shape }, random, scale) {
  const size = shape.reduce((a, b) => a * b, 1);
  if (dtype === "int64")
    return new ort.Tensor(dtype, BigInt64Array.from({ length: size }, () => BigInt(Math.floor(random() * 100))), shape);
  if (dtype !== "float32") throw new Error(`no random inputs of type ${dtype}`);
  return new ort.Tensor(dtype, Float32Array.from({ length: size }, () => scale * (2 * random() - 1)), shape);
}

// Inputs of the model by name: floats uniform in [-scale, scale], integers below 100.
export function randomInputs(ort, reverie, model, scale = 1, seed = 1) {
  const description = execFileSync(reverie, ["inspect", model, "--json"], { encoding: "utf8" });
  const { inputs } = JSON.parse(description.trim().split("\n").at(-1));
  const random = generator(seed);
  return Object.fromEntries(inputs.map((input) => [input.name, randomTensor(ort, input, random, scale)]));
}

// max |a - b| / max |a|; not a number where either is not, or where all of a is zero.
export function relativeError(reference, other) {
  let difference = 0, largest = 0;
  for (let i = 0; i < reference.length; ++i) {
    const apart = Math.abs(reference[i] - other[i]);
    if (Number.isNaN(apart)) return NaN;
    difference = Math.max(difference, apart);
    largest = Math.max(largest, Math.abs(reference[i]));
  }
  return difference / largest;
}
