// Loads GGUF files that come as lines on standard input, PATH or PATH, a tabulator and the number of sequences of a context that
// is to be made; answers each with a line of JSON: {ok, log}. run_only.py asks.
import readline from "node:readline";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";
let lines = [];
const llama = await getLlama({gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.debug,
    logger: (_level, message) => lines.push(message)});
for await (const line of readline.createInterface({input: process.stdin})) {
    lines = [];
    let ok = true, model, context;
    const [file, sequences] = line.split("\t");
    try {
        model = await llama.loadModel({modelPath: file, gpuLayers: 0, useMmap: true});
        if (sequences) {
            context = await model.createContext({contextSize: 2048, batchSize: 128, sequences: Number(sequences), flashAttention: true,
                ignoreMemorySafetyChecks: true});
        }
    } catch (error) {
        ok = false;
        lines.push("error: " + error.message);
    }
    // The log comes from another thread.
    await new Promise((resolve) => setTimeout(resolve, ok ? 300 : 30));
    console.log(JSON.stringify({ok, log: lines}));
    await context?.dispose();
    await model?.dispose();
}
process.exit(0);
