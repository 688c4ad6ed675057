// Are the token ids of llama.cpp those of Hugging Face's tokenizers, or of SentencePiece where there is no tokenizer.json?
//   node compare.mjs LLAMA_CLIENT TOKENIZERS MODEL_DIR GGUF FINDINGS
// LLAMA_CLIENT, TOKENIZERS: folders with node_modules (node-llama-cpp; tokenizers). FINDINGS: what mlx2gguf --errors=json wrote.
// Prints one line {"texts","equal","allowed","different":[{text, expected, found}],"around"}; a text, and what is put around texts,
// may differ only where a finding says so.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { allowedBy } from "./allowed.mjs";
import { texts, textsWith } from "./texts.mjs";

const [client, modules, folder, gguf, findingsPath] = process.argv.slice(2);
const { Tokenizer } = createRequire(resolve(modules, "x.js"))("tokenizers");
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(resolve(client, "node_modules/node-llama-cpp/dist/index.js")).href);

const hasJson = existsSync(join(folder, "tokenizer.json"));
const json = hasJson ? JSON.parse(readFileSync(join(folder, "tokenizer.json"))) : {};
const findings = readFileSync(findingsPath, "utf8").split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
// Announced of every text with something that is not in the vocabulary: the unknown token is expected instead of bytes.
const noBytes = findings.some((finding) => finding.code === "hf-tok-byte-fallback");
if (noBytes && hasJson) json.model.byte_fallback = false;
const reference = hasJson ? Tokenizer.fromString(JSON.stringify(json)) : undefined;
const all = { ...texts, ...textsWith(json.added_tokens ?? []) };
const idsOf = hasJson ? async (text) => (await reference.encode(text, null, { addSpecialTokens: false })).getIds() : sentencePiece();

// Texts -> ids, all at once.
function sentencePiece() {
  const script = fileURLToPath(new URL("spm.py", import.meta.url));
  const texts = Object.values(all);
  const run = spawnSync("/usr/bin/python3", [script, noBytes ? "encode-without-bytes" : "encode", join(folder, "tokenizer.model")], { input: JSON.stringify(texts) });
  if (run.status !== 0) throw new Error(String(run.stderr));
  const ids = new Map(JSON.parse(run.stdout).map((ids, i) => [texts[i], ids]));
  return (text) => ids.get(text);
}

// Before version 5 of transformers these classes put a bos and an eos around texts, whatever the post-processor says.
function aroundByClass(path) {
  const config = existsSync(path) ? JSON.parse(readFileSync(path)) : {};
  const addsBos = { Llama: true, CodeLlama: true, Gemma: true, Cohere: true, GPTNeoX: false }[
    config.tokenizer_class?.replace(/Tokenizer(Fast)?$/, "")];
  if (addsBos === undefined) return undefined;
  const ids = (adds, token) => (adds && token ? [reference.tokenToId(token.content ?? token)] : []);
  return { before: ids(config.add_bos_token ?? addsBos, config.bos_token), after: ids(config.add_eos_token ?? false, config.eos_token) };
}

const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error,
                               logger: (level, text) => process.stderr.write(`${level}: ${text}`) });
let model;
try {
  model = await llama.loadModel({ modelPath: gguf, vocabOnly: true });
} catch (error) {
  console.log(JSON.stringify({ failed: error.message }));
  process.exit(1);
}

// Two splits into the same pieces are equally likely: which one is chosen is a matter of rounding.
const isUnigram = model.fileInfo.metadata.tokenizer.ggml.model === "t5";
const sorted = (ids) => [...ids].sort((a, b) => a - b).join();
const isTie = (a, b) => sorted(a) === sorted(b);

const result = { texts: 0, equal: 0, allowed: 0, different: [] };
for (const [name, text] of Object.entries(all)) {
  const expected = await idsOf(text);
  const found = Array.from(model.tokenize(text, true));
  ++result.texts;
  if (expected.length === found.length && expected.every((id, i) => id === found[i])) ++result.equal;
  else if (allowedBy(findings, text) || (isUnigram && isTie(expected, found))) ++result.allowed;
  else {
    const at = expected.findIndex((id, i) => id !== found[i]);
    const near = (ids) => ids.slice(Math.max(0, at - 1), at + 6).map((id) => reference?.idToToken(id) ?? id);
    result.different.push({ name, at, expected: near(expected), found: near(found) });
  }
}
// What is put around a text. llama.cpp's tokeniser with add_special goes by these two flags. It may differ only if that is
// announced, and is announced only if it does: from what the post-processor puts there (as transformers does from version 5 on),
// or from what the class puts there before version 5.
const ours = { before: model.tokens.shouldPrependBosToken && model.tokens.bos != null ? [model.tokens.bos] : [],
               after: model.tokens.shouldAppendEosToken && model.tokens.eos != null ? [model.tokens.eos] : [] };
if (hasJson) {
  const idsAround = async () => {
    const alone = await idsOf("a"), around = (await reference.encode("a", null, { addSpecialTokens: true })).getIds();
    const start = around.findIndex((_, i) => alone.every((id, j) => around[i + j] === id));
    return { before: around.slice(0, start), after: around.slice(start + alone.length) };
  };
  const theirs = [await idsAround(), aroundByClass(join(folder, "tokenizer_config.json"))].filter((one) => one !== undefined);
  const agrees = theirs.every((one) => JSON.stringify(one) === JSON.stringify(ours));
  if (agrees === findings.some((finding) => finding.code === "hf-tok-around")) {
    result.different.push({ name: agrees ? "around a text, announced in vain" : "around a text", at: 0, expected: theirs, found: ours });
  }
  const texts = (ids) => ids.map((id) => reference.idToToken(id));
  result.around = [...texts(ours.before), "…", ...texts(ours.after)].join(" ");
}
console.log(JSON.stringify(result));
process.exit(0);
