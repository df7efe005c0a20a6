// Prints the results of run.sh as a table in Markdown. Usage: node table.mjs results.jsonl
import { readFileSync } from "node:fs";

const lines = readFileSync(process.argv[2], "utf8").split("\n").filter((line) => line !== "");
const results = new Map(lines.map((line) => JSON.parse(line)).map((r) => [`${r.model} ${r.level}`, r]));
const models = [...new Set([...results.values()].map((r) => r.model))];

const percent = (ratio) => (100 * (1 - ratio)).toFixed(1);

function cells(result) {
  if (result === undefined) return ["", "", "", ""];
  const kept = result.contestants[result.winner];
  const original = result.contestants[0].median_ms.toFixed(3);
  if (result.winner === 0) return [original, "0", "", "original"];
  const { median, low, high } = kept.ratio;
  return [original, percent(median), `${percent(high)} to ${percent(low)}`, kept.file.replace(".onnx", "")];
}

const worst = (results) =>
  Math.max(...results.filter(Boolean).map((r) => r.contestants[r.winner].max_rel_error)).toExponential(0);

console.log("| model | off: ms | gain % | 95% interval | kept | on: ms | gain % | 95% interval | kept | error |");
console.log("| --- | --: | --: | --- | --- | --: | --: | --- | --- | --: |");
for (const model of models) {
  const [off, on] = ["disabled", "all"].map((level) => results.get(`${model} ${level}`));
  console.log(`| ${[model, ...cells(off), ...cells(on), worst([off, on])].join(" | ")} |`);
}
const [any] = results.values();
console.log(`\n${any.runtime} on one thread of ${any.processor}, its optimizer off and on (all).`);
