// A model directory around tokenizer files: a llama of one layer with zeros for weights, one embedding row for each token id.
import { closeSync, copyFileSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

const width = 32;

// Rows that the embedding needs: one more than the highest id of vocabulary and added tokens.
export function rowsFor(tokenizer) {
  let highest = 0;
  const vocab = tokenizer.model.vocab;
  if (Array.isArray(vocab)) highest = vocab.length - 1;
  else for (const id of Object.values(vocab)) highest = Math.max(highest, id);
  for (const token of tokenizer.added_tokens ?? []) highest = Math.max(highest, token.id);
  return highest + 1;
}

// `config` overrides fields of config.json.
export function writeWeights(folder, rows, config = {}) {
  const block = "model.layers.0.";
  const tensors = { "model.embed_tokens.weight": [rows, width], "model.norm.weight": [width] };
  for (const name of ["input_layernorm", "post_attention_layernorm"]) tensors[`${block}${name}.weight`] = [width];
  for (const name of ["q", "k", "v", "o"]) tensors[`${block}self_attn.${name}_proj.weight`] = [width, width];
  for (const name of ["gate", "up", "down"]) tensors[`${block}mlp.${name}_proj.weight`] = [width, width];
  const header = {};
  let end = 0;
  for (const [name, shape] of Object.entries(tensors)) {
    const bytes = shape.reduce((a, b) => a * b, 2);
    header[name] = { dtype: "BF16", shape, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(join(folder, "model.safetensors"), "w");
  writeSync(file, length);
  writeSync(file, text);
  ftruncateSync(file, 8 + text.length + end);
  closeSync(file);
  writeFileSync(join(folder, "config.json"), JSON.stringify({
    architectures: ["LlamaForCausalLM"], model_type: "llama", hidden_size: width, intermediate_size: width,
    num_hidden_layers: 1, num_attention_heads: 1, num_key_value_heads: 1, head_dim: width, rms_norm_eps: 1e-5,
    max_position_embeddings: 128, vocab_size: rows, rope_theta: 10000, tie_word_embeddings: true, ...config,
  }));
}

// Mistral's tekken.json in place of the tokenizer.json of a model directory: `published`, one as an npm package carries it (with
// its tokens in one string), or else the tokenizer.json itself in that form, special tokens first, then bytes by rank.
export function replaceByTekken(folder, published) {
  const path = join(folder, "tokenizer.json");
  const text = published ? restoredTekken(JSON.parse(readFileSync(published))) : tekkenOf(JSON.parse(readFileSync(path)));
  writeFileSync(join(folder, "tekken.json"), JSON.stringify(text));
  for (const name of readdirSync(folder)) if (name.startsWith("tokenizer")) rmSync(join(folder, name));
}

// "! 0 AA== AQ== …": the tokens from rank 0 on.
function restoredTekken({ config, bpe_ranks: ranks }) {
  const [mark, first, ...tokens] = ranks.split(" ");
  if (mark !== "!" || first !== "0") throw new Error("the package has its tokens in another form");
  return { config, vocab: tokens.map((bytes, rank) => ({ rank, token_bytes: bytes, token_str: null })) };
}

function tekkenOf({ model, added_tokens: added, pre_tokenizer: splits }) {
  // Byte-level BPE's alphabet: what is printable in Latin-1 is itself, the other bytes follow from U+0100 on.
  const bytes = new Map();
  for (let byte = 0, next = 256; byte < 256; ++byte) {
    const itself = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    bytes.set(String.fromCodePoint(itself ? byte : next++), byte);
  }
  const vocab = [];
  for (const [text, id] of Object.entries(model.vocab)) {
    if (id < added.length) continue;
    const token = Buffer.from([...text].map((symbol) => bytes.get(symbol)));
    vocab.push({ rank: id - added.length, token_bytes: token.toString("base64"), token_str: null });
  }
  const special = added.map((token) => ({ rank: token.id, token_str: token.content, is_control: token.special }));
  return {
    config: { pattern: splits.pretokenizers[0].pattern.Regex, num_vocab_tokens: vocab.length,
              default_vocab_size: vocab.length + added.length, default_num_special_tokens: added.length, version: "v3" },
    vocab, special_tokens: special.filter((token) => token.token_str !== `<SPECIAL_${token.rank}>`),
  };
}

// `source`: a folder with tokenizer.json and perhaps tokenizer_config.json, or with tokenizer.model and tokenizer.vocab (a
// line for each piece). `change` may alter the parsed tokenizer.json.
export function makeModel(source, folder, change) {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(source)) copyFileSync(join(source, name), join(folder, name));
  const path = join(folder, "tokenizer.json");
  if (!existsSync(path)) {
    const pieces = readFileSync(join(source, "tokenizer.vocab"), "utf8");
    return writeWeights(folder, pieces.trimEnd().split("\n").length);
  }
  const tokenizer = JSON.parse(readFileSync(path));
  if (change) {
    change(tokenizer);
    writeFileSync(path, JSON.stringify(tokenizer));
  }
  writeWeights(folder, rowsFor(tokenizer));
}
