// Loads GGUF files one by one in llama.cpp (node-llama-cpp in build/llama-client) and evaluates five tokens. Prints for each
// file: "refused PATH"; or "loads PATH", followed by "runs PATH V0,V1,…" with the log-probabilities after the last token, or by
// "fails PATH". If a file aborts the process, the last line is missing.
import { createRequire } from "node:module";
import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
const client = createRequire(pathToFileURL(`${process.cwd()}/build/llama-client/`));
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(client.resolve("node-llama-cpp")).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.disabled });
const settings = { contextSize: 64, batchSize: 64, threads: 1, flashAttention: false };
const wanted = { generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } } };
for (const path of process.argv.slice(2)) {
  let model;
  try {
    model = await llama.loadModel({ modelPath: path });
  } catch {
    writeSync(1, `refused ${path}\n`);
    continue;
  }
  writeSync(1, `loads ${path}\n`);
  try {
    const context = await model.createContext(settings);
    const results = await context.getSequence().controlledEvaluate([3, 7, 5, 9, [11, wanted]]);
    const row = [];
    for (const [token, probability] of results.at(-1).next.probabilities) row[token] = Math.log(probability).toPrecision(6);
    await context.dispose();
    writeSync(1, `runs ${path} ${row.join(",")}\n`);
  } catch {
    writeSync(1, `fails ${path}\n`);
  }
  await model.dispose();
}
process.exit(0);
