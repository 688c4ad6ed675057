'use strict';
// Formats text, sizes and numbers. All text from a file becomes a text node, never markup.

// Characters that are invisible or change their surroundings, the same set as in lib/base/escape.h.
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const unsafeRuns = /([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}])/u;

const escaped = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;

/// Returns text from a file as a plain string that is safe in an attribute and in the title.
const plain = (value) => [...textOf(value)].map((c) => (unsafe.test(c) ? escaped(c) : c)).join('');

/// Returns the text of a JSON value; text that was not UTF-8 has U+FFFD in place of invalid bytes.
function textOf(value) {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  if (typeof value.exact === 'string') return value.exact;
  if (typeof value.base64 !== 'string') return JSON.stringify(value);
  const [whole, cut] = value.base64.split('…', 2);
  const bytes = Uint8Array.from(atob(whole.slice(0, whole.length - (whole.length % 4))), (c) => c.charCodeAt(0));
  return new TextDecoder().decode(bytes) + (cut === undefined ? '' : '…');
}

/// Returns text from a file as nodes; invisible characters are shown as escapes. `lines`: keep line feeds and tabs.
function visible(value, lines = false) {
  const text = textOf(value);
  const nodes = document.createDocumentFragment();
  for (const piece of text.split(unsafeRuns)) {
    if (piece === '') continue;
    if (!unsafe.test(piece) || (lines && (piece === '\n' || piece === '\t'))) {
      nodes.append(piece);
      continue;
    }
    const mark = document.createElement('span');
    mark.className = 'escape';
    mark.textContent = piece === '\n' ? '\\n' : piece === '\t' ? '\\t' : piece === '\r' ? '\\r' : escaped(piece);
    nodes.append(mark);
  }
  return nodes;
}

const thousands = (number) => Number(number).toLocaleString('en');
const counted = (number, noun) => `${thousands(number)} ${noun}${number === 1 ? '' : 's'}`;

/// Returns "4.7 kB" or "1.24 GB" as the tools print it: three significant digits; "?" if unknown.
function size(bytes) {
  if (bytes === null || bytes === undefined) return '?';
  let value = Number(bytes);
  if (value < 1000) return `${value} B`;
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  let unit = 0;
  for (; value >= 999.5 && unit + 1 < units.length; ++unit) value /= 1000;
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${units[unit]}`;
}

/// Returns a number of parameters as "8.03 B".
function amount(number) {
  for (const [unit, least] of [['T', 1e12], ['B', 1e9], ['M', 1e6], ['K', 1e3]]) {
    if (number >= least) return `${(number / least).toPrecision(3)} ${unit}`;
  }
  return String(number);
}

const share = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '');

/// Returns a number with `digits` significant digits; texts such as "NaN" unchanged.
function short(number, digits = 4) {
  if (typeof number !== 'number') return textOf(number);
  if (number !== 0 && (Math.abs(number) < 1e-3 || Math.abs(number) >= 1e6)) return number.toExponential(digits - 1);
  return String(Number(number.toPrecision(digits)));
}

/// The shortest decimal that reads back to the same float32.
function float32(number) {
  if (typeof number !== 'number') return textOf(number);
  for (let digits = 1; digits < 9; ++digits) {
    const text = Number(number.toPrecision(digits));
    if (Math.fround(text) === Math.fround(number)) return String(text);
  }
  return String(number);
}

/// Keeps the digits of integers beyond 2^53 if the browser supports it.
function exactNumbers(key, value, context) {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
  if (key !== 'value' && key !== 'a' && key !== 'b') return value;
  return context && /^-?\d+$/.test(context.source) ? { exact: context.source } : value;
}

/// Returns ["0–3", "6"] for the ascending numbers 0, 1, 2, 3, 6.
function ranges(numbers) {
  const pieces = [];
  for (let i = 0; i < numbers.length; ) {
    let end = i + 1;
    while (end < numbers.length && numbers[end] === numbers[end - 1] + 1) ++end;
    pieces.push(end - i > 1 ? `${numbers[i]}–${numbers[end - 1]}` : String(numbers[i]));
    i = end;
  }
  return pieces;
}
