// Which differences a finding of the conversion has announced: code -> the texts that it is about.
const normalized = (form) => (text) => text.normalize(form) !== text;
const matches = (regex) => (text) => regex.test(text);

const kinds = {
  "hf-tok-nfc": normalized("NFC"),
  "hf-tok-normalizer": (text) => normalized("NFKC")(text),
  "hf-tok-pre-differs": (text, { message }) => /\p{M}|\p{Ll}\p{Lu}/u.test(text)
    || (message.includes("numbers next to letters") && /\p{N}\p{L}|\p{L}\p{N}/u.test(text)),
  "hf-tok-space-mark": matches(/\u2581/u),
};

export function allowedBy(findings, text) {
  return findings.some((finding) => kinds[finding.code]?.(text, finding));
}
