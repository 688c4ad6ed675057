// Prints the contents of GGUF files as read by @huggingface/gguf: a line of JSON for each path on standard input.
//   node huggingface_gguf.mjs MODULES        (MODULES/node_modules has the package; tests/llama/edits calls it)
// Numbers as the eight bytes of a double in hexadecimal, 64-bit integers in decimal.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const { gguf } = createRequire(resolve(process.argv[2], "x.js"))("@huggingface/gguf");
const bits = new DataView(new ArrayBuffer(8));
const plain = (value) => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number") return value;
  bits.setFloat64(0, value);
  return bits.getBigUint64(0).toString(16).padStart(16, "0");
};
for await (const path of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const read = await gguf(path, { typedMetadata: true, allowLocalFile: true });
    const keys = Object.entries(read.typedMetadata).slice(3); // its own entries: version and the two counts
    answer = {
      version: read.metadata.version, data_offset: Number(read.tensorDataOffset),
      keys: keys.map(([name, { type, subType, value }]) => [name, type, subType ?? null, plain(value)]),
      tensors: read.tensorInfos.map(({ name, shape, dtype, offset }) => [name, shape.map(Number), dtype, Number(offset)]),
    };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
