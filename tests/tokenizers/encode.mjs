// Compares the tokens that encode_texts makes of random texts with those of llama.cpp, and the texts made of them again.
//   node encode.mjs CLIENT ENCODE_TEXTS COUNT SEED MODEL.gguf…      (tests/llama/encoding calls it)
// A line for each model; exit status 1 if a text differs.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { randomNumbers, randomText } from "./random_texts.mjs";
import { texts } from "./texts.mjs";

const [client, program, count, seed, ...models] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(createRequire(resolve(client, "package.json")).resolve("node-llama-cpp")));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.disabled });

function run(model, list, parses) {
  return new Promise((done, fail) => {
    const child = spawn(program, [model, ...(parses ? ["--parse-special"] : [])], { stdio: ["pipe", "pipe", "inherit"] });
    const parts = [];
    child.stdout.on("data", (bytes) => parts.push(bytes));
    child.on("error", fail);
    child.on("close", (status) => (status === 0 ? done(Buffer.concat(parts).toString("latin1").split("\n")) : fail(new Error(`status ${status}`))));
    const input = [];
    for (const text of list) {
      const bytes = Buffer.from(text), size = Buffer.alloc(4);
      size.writeUInt32LE(bytes.length);
      input.push(size, bytes);
    }
    child.stdin.end(Buffer.concat(input));
  });
}

// What decodes to something with U+FFFD stands for bytes that JavaScript does not show.
const isWhole = (text) => !text.includes("\ufffd");

async function check(path) {
  const model = await llama.loadModel({ modelPath: path, vocabOnly: true });
  const random = randomNumbers(Number(seed));
  const pieces = [];
  for (let i = 0; i < 2000; ++i) {
    const text = model.detokenize([random(model.fileInfo.metadata.tokenizer.ggml.tokens.length)], true);
    if (text !== "" && isWhole(text)) pieces.push(text);
  }
  const list = Object.values(texts);
  while (list.length < Number(count)) list.push(randomText(random, pieces));
  const differing = [];
  let compared = 0;
  const block = 20000;
  for (let begin = 0; begin < list.length; begin += block) {
    const part = list.slice(begin, begin + block);
    for (const parses of [false, true]) {
      const lines = await run(path, part, parses);
      part.forEach((text, i) => {
        const expected = model.tokenize(text, parses);
        const [ids, hex] = lines[i].split("\t");
        ++compared;
        if (ids !== expected.join(" ")) {
          differing.push({ text, parses, expected: expected.join(" "), found: ids });
        } else if (begin === 0) {
          const back = model.detokenize(expected, true), ours = Buffer.from(hex, "hex").toString();
          if (back !== ours) differing.push({ text, parses, expected: back, found: ours });
        }
      });
    }
  }
  await model.dispose();
  return { compared, differing };
}

let failed = 0;
for (const path of models) {
  try {
    const { compared, differing } = await check(path);
    console.log(`${basename(path, ".gguf").padEnd(32)} ${compared} texts, ${differing.length === 0 ? "all equal" : `${differing.length} FAILED`}`);
    if (differing.length > 0) ++failed;
    for (const one of differing.sort((a, b) => a.text.length - b.text.length).slice(0, 6)) {
      console.log(`  ${JSON.stringify(one.text).slice(0, 300)}${one.parses ? " (special parsed)" : ""}\n    llama.cpp ${JSON.stringify(one.expected).slice(0, 300)}\n    here      ${JSON.stringify(one.found).slice(0, 300)}`);
    }
  } catch (error) {
    ++failed;
    console.log(`${basename(path, ".gguf")}: FAILED: ${error.message}`);
  }
}
console.log(`${models.length} vocabularies, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
