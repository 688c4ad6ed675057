// What the GgufInsights of node-llama-cpp says a context takes: a JSON object, file -> bytes at 8192, 32768, 131072 tokens.
//   node memory-table.mjs FILE…        tests/llama/memory-table calls it in the folder of the installed package
import {getLlama, GgufInsights, readGgufFileInfo} from "node-llama-cpp";

const llama = await getLlama({gpu: false, build: "never"});
const result = {};
for (const file of process.argv.slice(2)) {
    const insights = await GgufInsights.from(await readGgufFileInfo(file), llama);
    result[file] = [8192, 32768, 131072].map((contextSize) => {
        const need = insights.estimateContextResourceRequirements({contextSize, modelGpuLayers: insights.totalLayers,
            batchSize: 512, sequences: 1, isEmbeddingContext: false, flashAttention: true});
        return need.cpuRam + need.gpuVram;
    });
}
console.log(JSON.stringify(result));
process.exit(0);
