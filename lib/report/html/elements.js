// Creates elements and the building blocks of all sections.

/// el('td', {class: 'number'}, 'text', node …). Strings become text nodes; attribute values are made safe.
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/// The same for SVG elements.
function svg(name, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') {
      node.addEventListener(key, value);
    } else {
      node.setAttribute(key, value === true ? '' : plain(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null) continue;
    node.append(child instanceof Node ? child : visible(child));
  }
  return node;
}

/// A foldable section of the page, with its entry in the contents.
function section(id, title, note, ...children) {
  const heading = `${id}-title`;
  const details = el('details', { open: true },
    el('summary', null, el('h2', { id: heading }, title), note ? el('span', { class: 'note' }, note) : null),
    ...children);
  document.getElementById('page').append(el('section', { id, 'aria-labelledby': heading }, details));
  document.getElementById('contents').append(
    el('a', { href: `#${id}`, click: () => { details.open = true; } }, title));
}

/// Wraps a node that may be wider than the screen, so that it scrolls instead of the page.
const scrolling = (label, node) => el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, node);

/// A name with positions for line breaks.
function breakable(name) {
  const nodes = [];
  for (const piece of textOf(name).split(/(?<=[._/-])/)) nodes.push(visible(piece), el('wbr'));
  return el('code', { class: 'name' }, nodes.slice(0, -1));
}

/// Text from a file; long texts are folded.
function longText(value) {
  const text = textOf(value);
  if (text.length <= 160 && !text.includes('\n')) return el('code', { class: 'text' }, text);
  const beginning = text.slice(0, 80).replaceAll('\n', ' ');
  return el('details', { class: 'long' },
    el('summary', null, el('code', { class: 'text' }, beginning), ` … ${counted(text.length, 'character')}`),
    el('pre', { tabindex: 0, 'aria-label': 'whole text' }, visible(text, true)));
}

/// A table; `columns`: {title, cell(row), number}. The first column is the row's heading.
function table(caption, columns, rows) {
  return el('table', null, el('caption', { class: 'unseen' }, caption),
    el('thead', null, el('tr', null, columns.map((c) => el('th', { scope: 'col', class: c.number && 'number' }, c.title)))),
    el('tbody', null, rows.map((row) => tableRow(columns, row))));
}

function tableRow(columns, row) {
  return el('tr', null, columns.map((column, i) =>
    el(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: column.number && 'number' }, column.cell(row))));
}

/// A list of names and values; pairs without a value are skipped.
function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return el('dl', { class: 'facts' }, shown.map(([name, value]) => el('div', { class: plain(value).length > 30 ? 'wide' : null }, el('dt', null, name), el('dd', null, value))));
}

// Ten looks for types. Each has a colour and a pattern, so that figures are readable without colour.
const looks = 10;
const hatches = ['', 'M0 8L8 0', 'M0 0L8 8', 'M0 4H8', 'M4 0V8', 'M3 4H5', 'M0 8L8 0M0 0L8 8', 'M0 4H8M4 0V8', 'M2 2H3M6 6H7', 'M0 2H8M0 6H8'];

function patterns() {
  const one = (look) => svg('pattern', { id: `look${look}`, width: 8, height: 8, patternUnits: 'userSpaceOnUse' },
    svg('rect', { width: 8, height: 8, class: `fill${look}` }),
    hatches[look] ? svg('path', { d: hatches[look], class: 'hatch' }) : null);
  return svg('svg', { width: 0, height: 0, class: 'patterns', 'aria-hidden': 'true' },
    svg('defs', null, Array.from({ length: looks }, (_, look) => one(look))));
}

const swatch = (look) => svg('svg', { width: 16, height: 16, class: 'swatch', 'aria-hidden': 'true' },
  svg('rect', { width: 16, height: 16, fill: `url(#look${look})`, class: 'edge' }));

/// A bar with several parts, scaled to `most`: [[amount, look] …]. The numbers are shown next to it.
function bar(parts, most, label, limit) {
  const width = 240;
  let x = 0;
  const pieces = parts.map(([part, look]) => {
    const piece = svg('rect', { x, y: 1, width: Math.max(0, (width * part) / most), height: 16, fill: `url(#look${look})`, class: 'edge' });
    x += (width * part) / most;
    return piece;
  });
  const mark = limit ? svg('path', { d: `M${(width * limit) / most} 0V18`, class: 'limit' }) : null;
  return svg('svg', { viewBox: `0 0 ${width} 18`, class: 'bar', role: 'img', 'aria-label': label, preserveAspectRatio: 'none' }, pieces, mark);
}
