// Prints the embedding of each list of token ids, of a model with an adapter: tests/llama/families calls it in the folder
// of the installed node-llama-cpp.
//   node embed-adapted.mjs MODEL.gguf ADAPTER.gguf ID,ID,...
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const [modelPath, filePath, ...lists] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: 256, batchSize: 256, threads: 1, flashAttention: false,
    _embeddings: true, lora: {adapters: [{filePath, scale: 1}]}});
const sequence = context.getSequence();
const lines = [];
for (const list of lists) {
    const ids = list.split(",").map(Number);
    await sequence.eraseContextTokenRanges([{start: 0, end: sequence.nextTokenIndex}]);
    for await (const _ of sequence.evaluate(ids, {_noSampling: true})) break;
    lines.push(["embedding", ...Array.from(context._ctx.getEmbedding(ids.length), (value) => value.toPrecision(9))].join(" "));
}
process.stdout.write(lines.join("\n") + "\n", () => process.exit(0));
