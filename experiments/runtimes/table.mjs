// Prints the results of run.sh as a table in Markdown. Usage: node table.mjs results.jsonl
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

const lines = readFileSync(process.argv[2], "utf8").split("\n").filter((line) => line !== "");
const results = new Map(lines.map((line) => JSON.parse(line)).map((r) => [`${r.model} ${r.level}`, r.found]));
const models = [...new Set(lines.map((line) => JSON.parse(line).model))];

const percent = (ratio) => (100 * (1 - ratio)).toFixed(1);

function cells(found) {
  if (found === undefined) return ["", "", "", ""];
  const original = found.files[0].median_ms.toFixed(3);
  if (found.winner === 0) return [original, "0", "", "original"];
  const kept = found.files[found.winner];
  const name = `${basename(dirname(kept.file))}/${basename(kept.file, ".onnx")}`;
  return [original, percent(kept.ratio), `${percent(kept.ratio_high)} to ${percent(kept.ratio_low)}`, name];
}

const worst = (found) =>
  Math.max(...found.filter(Boolean).map((f) => f.files[f.winner].max_rel_error)).toExponential(0);

console.log("| model | off: ms | gain % | 95% interval | kept | on: ms | gain % | 95% interval | kept | error |");
console.log("| --- | --: | --: | --- | --- | --: | --: | --- | --- | --: |");
for (const model of models) {
  const [off, on] = ["disabled", "all"].map((level) => results.get(`${model} ${level}`));
  console.log(`| ${[model, ...cells(off), ...cells(on), worst([off, on])].join(" | ")} |`);
}
const [any] = results.values();
console.log(`\n${any.library.split(",")[0]} on one thread of ${any.device.split(",")[0]}, its optimizer off and on (all).`);
