// A treemap: areas proportional to tensor sizes, grouped by type.

/// Cuts a rectangle into pieces whose areas are proportional to the bytes of `items` (largest first) and which are as
/// square as possible (Bruls, Huizing and van Wijk, "Squarified treemaps", 2000).
function squarified(items, x, y, width, height) {
  const total = items.reduce((sum, item) => sum + item.bytes, 0);
  const placed = [];
  if (total <= 0 || width <= 0 || height <= 0) return placed;
  const scale = (width * height) / total;
  const worst = (sum, largest, smallest, side) => Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest));
  for (let i = 0; i < items.length; ) {
    const side = Math.min(width, height);
    let end = i;
    let sum = 0;
    let ratio = Infinity;
    while (end < items.length) {
      const area = items[end].bytes * scale;
      const next = worst(sum + area, items[i].bytes * scale, area, side);
      if (end > i && next > ratio) break;
      ratio = next;
      sum += area;
      ++end;
    }
    const depth = side > 0 ? sum / side : 0;
    let along = 0;
    for (; i < end; ++i) {
      const length = depth > 0 ? (items[i].bytes * scale) / depth : 0;
      placed.push(width >= height ? { item: items[i], x, y: y + along, width: depth, height: length }
        : { item: items[i], x: x + along, y, width: length, height: depth });
      along += length;
    }
    if (width >= height) {
      x += depth;
      width -= depth;
    } else {
      y += depth;
      height -= depth;
    }
  }
  return placed;
}

const mostRectangles = 1500;

/// `groups`: [{name, look, bytes, tensors: [{name, shape, bytes, label}]}], largest first.
function treemap(groups, total) {
  const detail = el('p', { class: 'status', role: 'status' });
  const figure = svg('svg', { class: 'treemap', 'aria-hidden': 'true' });
  const count = groups.reduce((sum, group) => sum + group.tensors.length, 0);
  const hint = 'Arrow keys move from the largest tensor to the smallest; the table of tensors shows the same numbers.';
  const box = el('div', { class: 'figure', tabindex: 0, role: 'group',
    'aria-label': `Treemap of ${counted(count, 'tensor')} by size and type: ${groups.map((g) => `${plain(g.name)} ${share(g.bytes, total)}`).join(', ')}. ${hint}` }, figure);
  let order = [];
  let chosen = -1;

  function choose(index) {
    if (order.length === 0) return;
    if (chosen >= 0) order[chosen].node.classList.remove('chosen');
    chosen = Math.min(Math.max(0, index), order.length - 1);
    const { node, tensor } = order[chosen];
    node.classList.add('chosen');
    detail.replaceChildren(visible(`${textOf(tensor.name)}: ${textOf(tensor.label)}${tensor.shape ? `, ${tensor.shape.join(' × ')}` : ''}, ${size(tensor.bytes)}, ${share(tensor.bytes, total)} of all`));
  }

  // Shows no label of which fewer than eight letters would remain: "16.ff…" says nothing.
  function label(x, y, width, text, style) {
    const letters = Math.floor((width - 8) / 6.6);
    const whole = plain(text);
    if (letters < Math.min(8, whole.length)) return null;
    return svg('text', { x: x + 4, y, class: style }, whole.length > letters ? `${whole.slice(0, letters - 1)}…` : whole);
  }

  function draw() {
    const width = Math.max(280, Math.round(box.clientWidth));
    const height = Math.round(Math.min(Math.max(width * 0.5, 300), 560));
    figure.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const nodes = [];
    order = [];
    for (const { item: group, ...place } of squarified(groups, 0, 0, width, height)) {
      const head = place.height > 44 && place.width > 40 ? 18 : 0;
      const inside = squarified(shownTensors(group, count), place.x + 1, place.y + head, place.width - 2, place.height - head - 1);
      for (const { item: tensor, ...at } of inside) {
        const node = svg('rect', { x: at.x, y: at.y, width: at.width, height: at.height, fill: `url(#look${group.look})`, class: 'edge' });
        node.addEventListener('pointerenter', () => choose(order.findIndex((one) => one.node === node)));
        order.push({ node, tensor });
        nodes.push(node);
        if (at.height > 15) nodes.push(label(at.x, at.y + Math.min(at.height / 2 + 4, 14), at.width, shortName(tensor.name), 'small'));
      }
      nodes.push(svg('rect', { x: place.x, y: place.y, width: place.width, height: place.height, class: 'frame' }));
      if (head) nodes.push(label(place.x, place.y + 13, place.width, `${textOf(group.name)} · ${size(group.bytes)} · ${share(group.bytes, total)}`, 'group'));
    }
    order.sort((a, b) => b.tensor.bytes - a.tensor.bytes);
    chosen = -1;
    figure.replaceChildren(...nodes.filter(Boolean));
  }

  box.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    choose(event.key === 'Home' ? 0 : event.key === 'End' ? order.length - 1 : chosen + step);
  });
  new ResizeObserver(draw).observe(box);
  detail.textContent = hint;
  return el('div', null, box, detail);
}

// Shortens "blk.10.ffn_down.weight" to "10.ffn_down" for small rectangles.
const shortName = (name) => textOf(name).replace(/\.weight$/, '').replace(/^[^0-9]*\.(?=[0-9]+\.)/, '');

/// Returns the largest tensors of a group, and the rest merged into one.
function shownTensors(group, count) {
  const most = count <= mostRectangles ? group.tensors.length : Math.max(1, Math.floor((mostRectangles * group.tensors.length) / count));
  const shown = group.tensors.slice(0, most);
  const rest = group.tensors.slice(most);
  if (rest.length === 0) return shown;
  const bytes = rest.reduce((sum, tensor) => sum + tensor.bytes, 0);
  return [...shown, { name: counted(rest.length, 'smaller tensor'), label: group.name, bytes }];
}
