// Are the token ids of llama.cpp those of Hugging Face's tokenizers?
//   node compare.mjs LLAMA_CLIENT TOKENIZERS MODEL_DIR GGUF FINDINGS
// LLAMA_CLIENT, TOKENIZERS: folders with node_modules (node-llama-cpp; tokenizers). FINDINGS: what mlx2gguf --errors=json wrote.
// Prints one line {"texts","equal","allowed","different":[{text, expected, found}]}; a text may differ only where a finding
// says that texts of its kind do.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { allowedBy } from "./allowed.mjs";
import { texts, textsWith } from "./texts.mjs";

const [client, modules, folder, gguf, findingsPath] = process.argv.slice(2);
const { Tokenizer } = createRequire(resolve(modules, "x.js"))("tokenizers");
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(resolve(client, "node_modules/node-llama-cpp/dist/index.js")).href);

const json = JSON.parse(readFileSync(join(folder, "tokenizer.json")));
const findings = readFileSync(findingsPath, "utf8").split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
const reference = Tokenizer.fromFile(join(folder, "tokenizer.json"));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error,
                               logger: (level, text) => process.stderr.write(`${level}: ${text}`) });
let model;
try {
  model = await llama.loadModel({ modelPath: gguf, vocabOnly: true });
} catch (error) {
  console.log(JSON.stringify({ failed: error.message }));
  process.exit(1);
}

const result = { texts: 0, equal: 0, allowed: 0, different: [] };
for (const [name, text] of Object.entries({ ...texts, ...textsWith(json.added_tokens ?? []) })) {
  const expected = (await reference.encode(text, null, { addSpecialTokens: false })).getIds();
  const found = Array.from(model.tokenize(text, true));
  ++result.texts;
  if (expected.length === found.length && expected.every((id, i) => id === found[i])) ++result.equal;
  else if (allowedBy(findings, text)) ++result.allowed;
  else {
    const at = expected.findIndex((id, i) => id !== found[i]);
    const near = (ids) => ids.slice(Math.max(0, at - 1), at + 6).map((id) => reference.idToToken(id));
    result.different.push({ name, at, expected: near(expected), found: near(found) });
  }
}
// What is put around a text.
const around = (await reference.encode("a", null, { addSpecialTokens: true })).getIds();
const alone = (await reference.encode("a", null, { addSpecialTokens: false })).getIds();
const before = around.slice(0, around.indexOf(alone[0])), after = around.slice(before.length + alone.length);
const ours = { before: model.tokens.shouldPrependBosToken && model.tokens.bos != null ? [model.tokens.bos] : [],
               after: model.tokens.shouldAppendEosToken && model.tokens.eos != null ? [model.tokens.eos] : [] };
result.around = { expected: [before, after], found: [ours.before, ours.after] };
console.log(JSON.stringify(result));
process.exit(0);
