// Prints the special tokens that llama.cpp reads from a GGUF file, as "name=id" in one line; "name=-" if there is none.
//   node special_tokens.mjs CLIENT MODEL.gguf TEXT      (CLIENT/node_modules has node-llama-cpp; tests/llama/edits calls it)
// Then those that end a generation, those that are control tokens, and the ids of TEXT tokenised with special tokens.
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
