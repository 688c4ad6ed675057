// One random run of llama.cpp, and what gguf-dump --fit says of the same: tests/llama/memory calls it in the folder of
// the installed node-llama-cpp, in a process of its own, because llama.cpp aborts on options that it does not like.
//   node memory.mjs GGUF_DUMP MODELS_DIR SEED
// Exit 0: equal, 1: not, 2: llama.cpp refuses.
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const [tool, models, seed] = process.argv.slice(2);
let state = Math.imul(Number(seed), 2654435761) >>> 0;
const random = (n) => { // a small generator of its own: the same draws everywhere
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 4294967296 * n);
};
const pick = (list) => list[random(list.length)];

const lines = [];
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.debug,
    logger: (_level, message) => lines.push(...message.split("\n"))});

const number = (pattern) => {
    const found = lines.map((line) => line.match(pattern)).filter(Boolean);
    return found.length > 0 ? found.at(-1)[1] : undefined;
};
const mib = (pattern) => lines.map((line) => line.match(pattern)).filter(Boolean);
const bytes = (text) => Number(text) * 1048576;

const files = fs.readdirSync(models).filter((name) => name.endsWith(".gguf")).sort();
const file = path.join(models, pick(files));
const asked = {
    contextSize: pick([300, 1000, 2048, 4096, 5000, 8192]),
    batchSize: pick([63, 127, 511]),
    sequences: pick([1, 1, 2, 3]),
    flashAttention: pick([true, true, false]),
    swaFullCache: pick([false, false, true])
};
const quantised = asked.flashAttention && pick([false, false, true]);
if (quantised) asked.experimentalKvCacheKeyType = asked.experimentalKvCacheValueType = "Q8_0";
try {
    const model = await llama.loadModel({modelPath: file, gpuLayers: 0, useMmap: true});
    await model.createContext({...asked, ignoreMemorySafetyChecks: true});
} catch (error) {
    process.exit(2);
}
await new Promise((resolve) => setTimeout(resolve, 300)); // the log comes from another thread

// What became of the options is in the log.
const options = ["--context", number(/n_ctx\s*=\s*(\d+)/), "--batch", number(/n_batch\s*=\s*(\d+)/),
    "--ubatch", number(/n_ubatch\s*=\s*(\d+)/), "--sequences", number(/n_seq_max\s*=\s*(\d+)/),
    "--flash-attention", asked.flashAttention ? "on" : "off", "--ram", "64G"];
if (number(/kv_unified\s*=\s*(\w+)/) === "true") options.push("--unified");
if (asked.swaFullCache) options.push("--swa-full");
if (quantised) options.push("--kv", "q8_0");
const caches = mib(/K \(\w+\):\s*([\d.]+) MiB, V \(\w+\):\s*([\d.]+) MiB/);
const states = mib(/R \(f32\):\s*([\d.]+) MiB, S \(f32\):\s*([\d.]+) MiB/);
const compute = mib(/compute buffer size\s*=\s*([\d.]+) MiB/);
const sum = (found, i) => found.reduce((total, match) => total + bytes(match[i]), 0);
const name = `${path.basename(file)} ${options.join(" ")}`;
let ours;
try {
    ours = JSON.parse(execFileSync(tool, ["--fit", "--json", ...options, file], {encoding: "utf8"})).contexts[0];
} catch (error) {
    console.log(`${name}: gguf-dump fails: ${error.stderr ?? error}`);
    process.exit(1);
}
const theirs = {k_bytes: sum(caches, 1), v_bytes: sum(caches, 2), r_bytes: sum(states, 1), s_bytes: sum(states, 2)};
const differences = Object.keys(theirs).filter((key) => // the log has two decimals for each cache
    Math.abs(theirs[key] - ours[key]) > 0.0051 * 1048576 * Math.max(1, caches.length + states.length));
const measured = sum(compute.slice(-1), 1);
const verdict = differences.length === 0 ? "equal" :
    "DIFFERS " + differences.map((key) => `${key} ${ours[key]} / ${Math.round(theirs[key])}`).join(", ");
const ratio = measured > 0 ? (ours.compute.host_bytes / measured).toFixed(2) : "none";
console.log(`${name}: ${verdict}, compute estimate / measured ${ratio}`);
process.exit(differences.length === 0 ? 0 : 1);
