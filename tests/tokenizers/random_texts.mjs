// Random and hostile texts for tokenizers, the same for each seed.
import { texts } from "./texts.mjs";

// A small generator of random numbers (xorshift32).
export function randomNumbers(seed) {
  let state = (seed * 2654435761 + 1) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const spaces = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", " \n", "\n ", "\u000b", "\u000c", "\u001c", "\u0085", "\u00a0", "\u1680",
                "\u2003", "\u2028", "\u202f", "\u3000", "\u200b", "\ufeff", "\u2581", "\u180e", " ".repeat(8), " ".repeat(33), "\t".repeat(9)];
const contractions = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'M", "'lL", "'D", "'", "''", "’s", "'k", "'\u212a", "'\u017f"];
const marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const odd = ["\0", "\x01", "\x1b", "\x7f", "\u0080", "\u00ad", "\u0378", "\u0300", "\u0301\u0302", "e\u0301", "\u0e33", "\u0f71\u0f72", "\u200d", "\u20e3", "\ufe0f",
             "\ufffd", "\uffff", "\ue000", "\u{10ffff}", "\u{e0001}", "\u{1f1e9}\u{1f1ea}", "\u{1f468}\u200d\u{1f469}", "\u2ffc", "\u31ef", "\u{2ebf0}", "\u{2ee5d}",
             "\ufa6e", "\u{2a6de}", "\u{1d7ce}", "\u00b2", "\u2167", "\u0663", "\u00bd", "\u4e00", "\u9fa5", "\u9fff", "\u3007", "\u3040", "\u309f", "\u30a0", "\u30ff",
             "\u0800", "\ud7a3", "\ud7ff", "\uac00", "\u3131", "\u318e", "\u3105", "\u312f", "\u201c", "\u2026", "\ufe30", "\ufe4f", "\uff01", "\uff5e", "\u2018", "\u201f",
             "\u00b5", "\u01ba", "\u01bf", "\u0293", "\u0295", "\u02af", "\u1c90", "\u2c7b", "\ufb06", "\u{10400}", "\u{1e943}", "\u0e40", "\u17ff", "\uaa60", "\u1100", "\u11ff",
             "ß", "ẞ", "ı", "İ", "ﬁ", "Ǆ", "ǅ", "ʰ", "ª", "ー", "々"];
// Where letters, digits, marks … of many scripts begin.
const blocks = [0x41, 0x61, 0xc0, 0x100, 0x180, 0x250, 0x300, 0x370, 0x400, 0x531, 0x5d0, 0x621, 0x660, 0x710, 0x780, 0x904, 0x966, 0x985, 0xa05, 0xb85, 0xc05, 0xd05, 0xe01,
                0xe81, 0xf40, 0x1000, 0x10a0, 0x1100, 0x1200, 0x13a0, 0x1780, 0x1820, 0x1e00, 0x1f00, 0x2000, 0x20a0, 0x2150, 0x2190, 0x2200, 0x2460, 0x2500, 0x2700, 0x2c00,
                0x3041, 0x30a1, 0x3105, 0x3400, 0x4e00, 0x5b57, 0xa000, 0xa640, 0xab70, 0xac00, 0xf900, 0xfb00, 0xfb50, 0xfe30, 0xff01, 0x10000, 0x10280, 0x10400, 0x12000,
                0x1d400, 0x1d7ce, 0x1e900, 0x1f300, 0x1f600, 0x20000, 0x2f800];
const samples = Object.values(texts);

function character(random) {
  const kind = random(8);
  if (kind < 4) return String.fromCodePoint(blocks[random(blocks.length)] + random(24));
  if (kind < 5) return odd[random(odd.length)];
  if (kind < 6) return String.fromCodePoint(0x20 + random(0x5f));
  for (;;) {
    const point = random(random(2) ? 0x3000 : 0x110000);
    if (point < 0xd800 || point > 0xdfff) return String.fromCodePoint(point);
  }
}

function part(random, pieces) {
  switch (random(13)) {
    case 0: return spaces[random(spaces.length)];
    case 1: return contractions[random(contractions.length)];
    case 2: return marks[random(marks.length)].repeat(1 + random(4));
    case 3: return String(random(10 ** (1 + random(9)))).repeat(1 + random(2));
    case 4: return odd[random(odd.length)];
    case 5: return character(random).repeat(1 + random(12));
    case 6: {
      const sample = samples[random(samples.length)], at = random(sample.length);
      return sample.slice(at, at + 1 + random(24));
    }
    case 7: {
      const first = 97 + random(20);
      let word = "";
      for (let i = random(9); i >= 0; --i) word += String.fromCharCode(first + random(7));
      return random(3) ? word : random(2) ? word.toUpperCase() : word[0].toUpperCase() + word.slice(1);
    }
    case 8: return " " + character(random);
    case 9:
    case 10: return pieces.length > 0 ? pieces[random(pieces.length)] : " ";
    default: return character(random);
  }
}

// `pieces`: texts of a vocabulary's tokens. Lone surrogates, which no UTF-8 has, are replaced.
export function randomText(random, pieces) {
  let text = "";
  for (let i = 1 + random(random(4) ? 8 : 40); i > 0; --i) text += part(random, pieces);
  return text.toWellFormed ? text.toWellFormed() : text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
