// Loads GGUF files one after the other in llama.cpp (node-llama-cpp in build/llama-client): "loads PATH" or "refused PATH" of each.
import { createRequire } from "node:module";
import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
const client = createRequire(pathToFileURL(`${process.cwd()}/build/llama-client/`));
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(client.resolve("node-llama-cpp")).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.disabled });
for (const path of process.argv.slice(2)) {
  let answer = "loads";
  try {
    await (await llama.loadModel({ modelPath: path })).dispose();
  } catch {
    answer = "refused";
  }
  writeSync(1, `${answer} ${path}\n`);
}
process.exit(0);
