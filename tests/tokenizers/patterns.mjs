// Pre-tokenizers as published tokenizer.json files have them: the names of llama.cpp that fit, and the components. They are put
// into a real tokenizer, so that each name is compared with the split that it stands for.
const C = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const tail = "\\s+(?!\\S)|\\s+";
const words = (numbers) => `[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|${tail}`;
const cased = (lead, upper, lower, contraction, numbers, after) =>
  `${lead}${upper}*${lower}+${contraction}|${lead}${upper}+${lower}*${contraction}|${numbers}| ?[^\\s\\p{L}\\p{N}]+${after}|\\s*[\\r\\n]+|${tail}`;
const lead = "[^\\r\\n\\p{L}\\p{N}]?";
const upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]", lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const o200k = cased(lead, upper, lower, `${C}?`, "\\p{N}{1,3}", "[\\r\\n/]*");
const symbolWords = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|";

const split = (Regex, behavior = "Isolated", invert = false) => ({ type: "Split", pattern: { Regex }, behavior, invert });
const byteLevel = (use_regex = false) => ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex });
const digits = (individual_digits) => ({ type: "Digits", individual_digits });
const punctuation = (behavior) => ({ type: "Punctuation", behavior });
const bytes = (...splits) => [...splits.map((one) => (typeof one === "string" ? split(one) : one)), byteLevel()];

const cjk3 = "[一-龥\u3040-ゟ゠-ヿ]+", cjkd = "[一-龥ࠀ-一가-\ud7ff]+";
const deepseek3 = `${symbolWords} ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|${tail}`;

export const patterns = {
  "cl100k": { pre: ["dbrx", "smaug-bpe"], parts: bytes(`${C}|${words("\\p{N}{1,3}")}`) },
  "cl100k, removed": { pre: ["dbrx", "smaug-bpe"], parts: bytes(split(`${C}|${words("\\p{N}{1,3}")}`, "Removed", true)) },
  "cl100k, of tiktoken": {
    pre: ["dbrx", "smaug-bpe"],
    parts: bytes("'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"),
  },
  "cl100k, ignoring merges": { pre: ["llama-bpe"], ignore: true, parts: bytes(`${C}|${words("\\p{N}{1,3}")}`) },
  "qwen2": { pre: ["qwen2"], parts: bytes(`${C}|${words("\\p{N}")}`) },
  "qwen2, other spelling": {
    pre: ["qwen2"],
    parts: bytes("(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\p{L}\\p{N}\\n\\r]?\\p{L}+|\\p{N}{1}| ?[^\\p{N}\\p{L}\\s]+[\\n\\r]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"),
  },
  "ling": {
    pre: ["qwen2", "bailingmoe"],
    parts: bytes("'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"),
  },
  "no contractions": { pre: ["ufakzeka"], parts: bytes(words("\\p{N}")) },
  "qwen35": {
    pre: ["qwen35"],
    parts: bytes(`${C}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|${tail}`),
  },
  "laguna": { pre: ["laguna"], parts: bytes("[^\\n]+|[\\n]+", `${C}|${words("\\p{N}")}`) },
  "deepseek v3": { pre: ["deepseek-v3"], parts: bytes("\\p{N}{1,3}", cjk3, deepseek3) },
  "deepseek coder": { pre: ["deepseek-coder"], parts: bytes("[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", cjkd, digits(true)) },
  "starcoder": { pre: ["starcoder"], parts: [digits(true), byteLevel(true)] },
  "digits as a split": { pre: ["starcoder"], parts: [split("\\p{N}"), byteLevel(true)] },
  "tekken": { pre: ["tekken"], ignore: true, parts: bytes(cased(lead, upper, lower, "", "\\p{N}", "[\\r\\n/]*")) },
  "o200k": { pre: ["gpt-4o"], parts: bytes(o200k) },
  "o200k as llama.cpp has it": {
    pre: ["gpt-4o"],
    parts: bytes(cased(lead, "((?=[\\p{L}])([^a-z]))", "((?=[\\p{L}])([^A-Z]))", `${C}?`, "\\p{N}{1,3}", "[\\r\\n/]*")),
  },
  "youtu": {
    pre: ["youtu"], ignore: true,
    parts: bytes("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+", cased(lead, upper, lower, `${C}?`, "\\p{N}", "[\\r\\n/]*")),
  },
  "gpt-2": { pre: ["gpt-2"], parts: [byteLevel(true)] },
  "gpt-2 as a split": {
    pre: ["gpt-2"],
    parts: bytes("'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"),
  },
  "bloom": { pre: ["bloom"], parts: bytes(" ?[^(\\s|[.,!?…。，、।۔،])]+") },
  "viking": { pre: ["viking"], parts: [split(" ?[^(\\s|[.,!?…。，、।۔،])]+"), digits(true), byteLevel()] },
  "seed coder": {
    pre: ["seed-coder"],
    parts: bytes(`${C}|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|${tail}`),
  },
  "tiny aya": { pre: ["tiny_aya"], parts: bytes("\\d{1,3}(?=(?:\\d{3})*\\b)", o200k) },
  "jais 2": {
    pre: ["jais-2"],
    parts: bytes(`${C}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|`
      + "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"),
  },
  "exaone moe": {
    pre: ["exaone-moe"],
    parts: bytes(`${C}|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|${tail}`),
  },
  "superbpe": { pre: ["superbpe"], parts: bytes("\\p{N}+", "(?=(\\d{3})+(?!\\d))") },
  "chameleon": {
    pre: ["chameleon"],
    parts: [split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"), split("([\\t\\n]|    |  )"), digits(true), punctuation("Isolated"), byteLevel(true)],
  },
  "minicpm5": { pre: ["minicpm5"], ignore: true, parts: bytes("\\p{N}{1,3}", `${C}|${words("\\p{N}+")}`) },
  "spark": {
    pre: ["spark2_5"],
    parts: bytes("\\p{N}{1,3}", cjk3, `${symbolWords} ?[\\p{P}\\p{S}]+|[\r\n]|${tail}`, digits(true)),
  },
  "kimi": {
    pre: ["kimi-k2"],
    parts: bytes(`[\\p{Han}]+|${cased(lead, "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]", "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]", `${C}?`, "\\p{N}{1,3}", "[\\r\\n]*")}`),
  },
};

// Puts the pre-tokenizer `name` into a parsed tokenizer.json.
export function usePattern(tokenizer, name) {
  const { parts, ignore } = patterns[name];
  tokenizer.normalizer = null;
  tokenizer.pre_tokenizer = { type: "Sequence", pretokenizers: parts };
  tokenizer.model.ignore_merges = ignore ?? false;
}

// A Unigram tokenizer.json as gguf2mlx writes it -> as transformers does: Metaspace, and white space stripped at the end.
export function asPublished(tokenizer) {
  const flat = tokenizer.normalizer.normalizers ?? [tokenizer.normalizer];
  const has = (test) => flat.some(test);
  const prefix = has((one) => one.type === "Prepend");
  const normalizers = flat.filter((one) => one.type === "Precompiled");
  if (has((one) => one.pattern?.Regex)) {
    normalizers.push({ type: "Strip", strip_left: false, strip_right: true },
                     { type: "Replace", pattern: { Regex: " {2,}" }, content: "\u2581" });
  }
  tokenizer.normalizer = { type: "Sequence", normalizers };
  tokenizer.pre_tokenizer = { type: "Metaspace", replacement: "\u2581", prepend_scheme: prefix ? "always" : "never", split: true };
}
