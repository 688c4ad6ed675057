// Which differences a finding of the conversion has announced: code -> the texts that it is about.
const normalized = (form) => (text) => text.normalize(form) !== text;
const matches = (regex) => (text) => regex.test(text);

// Texts whose findings about spaces are "texts …" (lib/tokenizer/read/unigram.cc).
const spaces = {
  "texts that begin with spaces": /^ |[>\]] /, "texts that end with spaces": / $/, "texts of spaces only": /^ +$/,
  "texts with leading, trailing or repeated white space": /^\s|\s\s|\s$|\u2581/, "texts with a piece that contains spaces": /./s,
  "texts that continue directly after an added token": /./s,
};

const graphemes = (text) => /\p{M}|\r\n/u.test(text);

const kinds = {
  "hf-tok-charsmap-differs": graphemes,
  "tok-charsmap-differs": graphemes,
  "hf-tok-unigram-spaces": (text, { message }) => Object.entries(spaces).some(([about, regex]) => message.startsWith(about) && regex.test(text)),
  "hf-tok-nfc": normalized("NFC"),
  "hf-tok-normalizer": (text) => normalized("NFKC")(text),
  "hf-tok-pre-differs": (text, { message }) => /\p{M}|\p{Ll}\p{Lu}/u.test(text)
    || (message.includes("numbers next to letters") && /\p{N}\p{L}|\p{L}\p{N}/u.test(text)),
  "hf-tok-space-mark": matches(/\u2581/u),
};

export function allowedBy(findings, text) {
  return findings.some((finding) => kinds[finding.code]?.(text, finding));
}
