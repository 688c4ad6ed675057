// Value statistics: a histogram per tensor, and the layers that are hardest to quantise.

function histogram(row) {
  if (!row.histogram) return el('span', { class: 'note' }, row.error ? row.error : 'one value');
  const most = Math.max(...row.histogram);
  const bars = row.histogram.map((count, i) => svg('rect', { x: i * 8, y: count === 0 ? 32 : 32 - Math.max(1.5, (31 * count) / most), width: 7,
    height: count === 0 ? 0 : Math.max(1.5, (31 * count) / most), class: 'count' }));
  const label = `from ${short(row.min)} to ${short(row.max)} in 16 steps: ${row.histogram.join(', ')}`;
  return svg('svg', { viewBox: '0 0 128 33', class: 'histogram', role: 'img', 'aria-label': label }, bars, svg('path', { d: 'M0 32.5H128', class: 'axis' }));
}

const bad = (count) => (count > 0 ? el('strong', { class: 'severity error' }, thousands(count)) : thousands(count ?? 0));

/// Returns the largest absolute value in standard deviations; null for vectors and for tensors with a single value.
function reach(row) {
  if (row.error || typeof row.std !== 'number' || row.std === 0 || row.shape.length < 2) return null;
  return Math.max(Math.abs(row.min), Math.abs(row.max)) / row.std;
}

function statisticsSection(rows, card) {
  if (rows.length === 0) return;
  const places = new Map();
  eachTensor(card, (name, type, place) => places.set(name, place));
  section('statistics', 'Values', counted(rows.length, 'tensor'), worstLayers(rows, places), pagedTable({
    id: 'statistics', caption: 'statistics of tensors', rows,
    find: (row) => plain(row.name),
    columns: [
      { title: 'tensor', cell: (row) => breakable(row.name), by: (row) => plain(row.name) },
      { title: 'min to max', cell: histogram },
      { title: 'min', number: true, cell: (row) => short(row.min), by: (row) => row.min ?? 0 },
      { title: 'max', number: true, cell: (row) => short(row.max), by: (row) => row.max ?? 0 },
      { title: 'mean', number: true, cell: (row) => short(row.mean), by: (row) => row.mean ?? 0 },
      { title: 'deviation', number: true, cell: (row) => short(row.std), by: (row) => row.std ?? 0 },
      { title: 'zeros', number: true, cell: (row) => numberOf(row.zeros), by: (row) => row.zeros ?? 0 },
      { title: 'NaN', number: true, cell: (row) => bad(row.nan), by: (row) => row.nan ?? 0 },
      { title: 'Inf', number: true, cell: (row) => bad(row.inf), by: (row) => row.inf ?? 0 },
      { title: 'dead rows', number: true, cell: (row) => bad(row.dead_rows), by: (row) => row.dead_rows ?? 0 },
    ],
  }));
}

function worstLayers(rows, places) {
  const layers = new Map();
  for (const row of rows) {
    const place = places.get(textOf(row.name));
    if (!place) continue;
    if (!layers.has(place)) layers.set(place, { place, reach: 0, name: '', broken: 0, dead: 0 });
    const layer = layers.get(place);
    layer.broken += (row.nan ?? 0) + (row.inf ?? 0);
    layer.dead += row.dead_rows ?? 0;
    const wide = reach(row);
    if (wide !== null && wide > layer.reach) Object.assign(layer, { reach: wide, name: row.name });
  }
  const worst = [...layers.values()].sort((a, b) => b.broken - a.broken || b.reach - a.reach).slice(0, 12);
  if (worst.length === 0) return null;
  const most = Math.max(...worst.map((layer) => layer.reach), 1e-30);
  const columns = [
    { title: 'layer', cell: (layer) => breakable(layer.place) },
    { title: 'largest value ÷ deviation', number: true, cell: (layer) => short(layer.reach, 3) },
    { title: '', cell: (layer) => bar([[layer.reach, 0]], most, short(layer.reach, 3)) },
    { title: 'in', cell: (layer) => breakable(layer.name) },
    { title: 'NaN and Inf', number: true, cell: (layer) => bad(layer.broken) },
    { title: 'dead rows', number: true, cell: (layer) => bad(layer.dead) },
  ];
  return [el('h3', null, 'The worst layers'),
    el('p', { class: 'note' }, 'Layers with non-finite values come first, then those whose largest value is the most standard deviations away from 0: the farther, the more a quantisation loses.'),
    scrolling('the worst layers', table('the worst layers', columns, worst)), el('h3', null, 'Every tensor')];
}
