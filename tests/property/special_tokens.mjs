// The special tokens that llama.cpp takes from a GGUF file, as "name=id" in one line; "name=-" where it has none.
//   node special_tokens.mjs CLIENT MODEL.gguf TEXT      (CLIENT/node_modules has node-llama-cpp; tests/llama/edits calls it)
// Then which of them end a generation, which are control tokens, and TEXT's ids where special tokens are looked for.
import { resolve } from "node:path";

const [client, modelPath, text] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(resolve(client, "node_modules/node-llama-cpp/dist/index.js"));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath });
const { bos, eos, eot, infill } = model.tokens;
const special = { bos, eos, eot, fim_pre: infill.prefix };
const named = (holds) => Object.keys(special).filter((name) => special[name] !== null && holds(special[name])).join(",");
process.stdout.write([
  ...Object.entries(special).map(([name, id]) => `${name}=${id ?? "-"}`),
  `ends=${named((id) => model.isEogToken(id))}`,
  `control=${named((id) => model.getTokenAttributes(id).control)}`,
  `text=${model.tokenize(text, true).join(",")}`,
].join(" ") + "\n", () => process.exit(0));
