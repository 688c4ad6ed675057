// Converts real tokenizers and compares what llama.cpp makes of texts with what Hugging Face's tokenizers make of them.
//   node check.mjs [--table] BIN_DIR CLIENT MODULES CACHE CASE…      (tests/llama/tokenizers calls it)
// CASE: "NAME FOLDER" (a folder with tokenizer.json, or with a tokenizer.model that SentencePiece itself reads),
// "tekken:NAME FOLDER" (such a folder, its tokenizer.json given to mlx2gguf as a tekken.json, or CACHE/NAME.json) or "split:NAME FOLDER" (that tokenizer with a pre-tokenizer of patterns.mjs).
// Then, where BIN_DIR has gguf2mlx, the same of the tokenizer files that it makes of the GGUF.
// A line for each; --table as rows of Markdown. Exit status 1 if one fails.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { asPublished, patterns, usePattern } from "./patterns.mjs";
import { makeModel, replaceByTekken } from "./tiny_model.mjs";

const args = process.argv.slice(2);
const table = args[0] === "--table" && args.shift() !== undefined;
const [bin, client, modules, cache, ...cases] = args;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function run(program, parameters) {
  return new Promise((done) => {
    const child = spawn(program, parameters, { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "", stderr = "";
    child.stdout.on("data", (bytes) => (stdout += bytes));
    child.stderr.on("data", (bytes) => (stderr += bytes));
    child.on("close", (status) => done({ status, stdout, stderr }));
    child.on("error", (error) => done({ status: -1, stdout, stderr: error.message }));
  });
}

async function compare(folder, gguf, errors) {
  const compared = await run("node", [here("compare.mjs"), client, modules, folder, gguf, errors]);
  try {
    return JSON.parse(compared.stdout);
  } catch {
    return { failed: compared.stdout + compared.stderr };
  }
}

// The Unigram tokenizer.json of `back`, with the components that published ones have, converted once more.
async function checkPublished(back, work) {
  const model = join(work, "published"), gguf = join(work, "published.gguf"), errors = join(work, "published.findings");
  makeModel(back, model, asPublished);
  const converted = await run(join(bin, "mlx2gguf"), [model, "-o", gguf, "--errors=json"]);
  if (converted.status !== 0) return { failed: converted.stderr.trim() };
  writeFileSync(errors, converted.stderr);
  return compare(model, gguf, errors);
}

async function check(one) {
  const [name, source] = one.split(" ");
  const pattern = name.startsWith("split:") ? name.slice(6).replaceAll("_", " ") : undefined;
  const work = join(cache, "work", name.replace(/[^a-z0-9.]/g, "-"));
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const model = join(work, "model"), gguf = join(work, "out.gguf"), errors = join(work, "findings");
  try {
    makeModel(source, model, pattern && ((tokenizer) => usePattern(tokenizer, pattern)));
    if (name.startsWith("tekken:")) replaceByTekken(model, [join(cache, `${name.slice(7)}.json`)].find(existsSync));
    const converted = await run(join(bin, "mlx2gguf"), [model, "-o", gguf, "--errors=json"]);
    if (converted.status !== 0) return { name, failed: converted.stderr.trim() };
    writeFileSync(errors, converted.stderr);
    const get = async (key) => (await run(join(bin, "gguf-dump"), ["--get", `tokenizer.ggml.${key}`, gguf])).stdout.trim();
    const kind = await get("model"), pre = await get("pre");
    if (pattern && !patterns[pattern].pre.includes(pre)) return { name, failed: `recognised as '${pre}'` };
    const result = await compare(name.startsWith("tekken:") ? source : model, gguf, errors);
    if (result.failed) return { name, ...result };
    if (Number(process.env.ENCODE_COUNT ?? 0) > 0) {
      const encoded = await run("node", [here("encode.mjs"), client, join(bin, "..", "tests", "encode_texts"), process.env.ENCODE_COUNT, "1", gguf]);
      if (encoded.status !== 0) return { name, failed: encoded.stdout + encoded.stderr };
    }
    if (existsSync(join(bin, "gguf2mlx"))) {
      const back = join(work, "back");
      const made = await run(join(bin, "gguf2mlx"), [gguf, "-o", back, "--errors=json"]);
      if (made.status !== 0) return { name, failed: made.stderr.trim() };
      // The files that it makes agree with the GGUF about what is put around a text.
      // Families whose own tokenizers compose letters and accents compose there, too, whatever this vocabulary's did.
      const made_json = join(back, "tokenizer.json");
      const composes = existsSync(made_json) && readFileSync(made_json, "utf8").includes('"NFC"') ? '{"code":"hf-tok-nfc"}\n' : "";
      const kept = converted.stderr.split("\n").filter((line) => !line.includes('"hf-tok-around"')).join("\n");
      writeFileSync(errors, kept + composes + made.stderr);
      const add = (compared, where) => {
        if (compared.failed) throw new Error(`${where}: ${compared.failed}`);
        result.different.push(...compared.different.map((text) => ({ ...text, name: `${text.name}, ${where}` })));
      };
      add(await compare(back, gguf, errors), "on the way back");
      if (kind === "t5") add(await checkPublished(back, work), "as tokenizer.json");
    }
    const codes = [...new Set([...converted.stderr.matchAll(/"code":"(hf-tok-[a-z0-9-]+)"/g)].map((match) => match[1]))];
    return { name, kind, pre, codes, ...result };
  } catch (error) {
    return { name, failed: error.message };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function line(result) {
  if (result.failed) return `${result.name}: FAILED: ${result.failed}`;
  const fields = [result.name, result.kind, result.pre, String(result.texts), String(result.allowed), result.around ?? "",
                  result.codes.map((code) => `[${code}]`).join(", ")];
  if (table) return `| ${fields.map((field) => field.replaceAll("|", "\\|").replace(/[^ ]*[<>][^ ]*/g, "`$&`")).join(" | ")} |`;
  let text = `${result.name.padEnd(24)} ${result.kind.padEnd(6)} ${result.pre.padEnd(14)} ${result.texts} texts, ${result.allowed} differ as announced, ${result.around ?? "…"}`;
  text += result.different.length === 0 ? " ok" : ` ${result.different.length} FAILED`;
  for (const one of result.different.slice(0, 10)) {
    text += `\n  ${JSON.stringify(one.name)} at ${one.at}: ${JSON.stringify(one.expected)}, llama.cpp ${JSON.stringify(one.found)}`;
  }
  return text;
}

let failed = 0;
const queue = [...cases];
async function worker() {
  for (let one; (one = queue.shift()) !== undefined; ) {
    const result = await check(one);
    if (result.failed || result.different.length > 0) ++failed;
    console.log(line(result));
  }
}
await Promise.all([worker(), worker()]);
console.log(`${table ? "\n" : ""}${cases.length} tokenizers, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
