// The changes between two models, and the distribution of the error.

function diffPage(page, diff) {
  header(`${base(diff.a)} → ${base(diff.b)}`, diff.equal ? 'equal' : 'different');
  const changed = diff.tensors.changed.filter((one) => !one.equal_values);
  section('summary', 'Models', null, facts([
    ['A', diff.a], ['B', diff.b], ['equal', diff.equal ? 'yes' : 'no'],
    ['values', diff.values_compared ? 'compared' : 'not compared (model-diff --data compares them)'],
    ['keys', changes(diff.keys)], ['tokenizer', changes(diff.tokenizer)],
    ['tensors', [[diff.tensors.added.length, 'added'], [diff.tensors.removed.length, 'removed'], [diff.tensors.reshaped.length, 'reshaped'],
      [diff.tensors.retyped.length, 'of a different type'], [changed.length, 'with different values']].filter(([n]) => n > 0).map(([n, what]) => `${thousands(n)} ${what}`).join(', ') || 'no difference'],
  ]), sides('facts', diff.identity, 'fact'), diff.remarks.length ? el('ul', null, diff.remarks.map((remark) => el('li', null, remark))) : null);
  errorSections(page, diff, changed);
  typesOfDiff(page, diff);
  keyChanges('keys', 'Keys', diff.keys);
  keyChanges('tokenizer', 'Tokenizer', diff.tokenizer);
  tensorChanges(diff.tensors);
  if (diff.layout.length) section('layout', 'Layout', thousands(diff.layout.length), sides('layout', diff.layout, 'name'));
}

const base = (path) => textOf(path).replace(/\/+$/, '').split('/').pop();

function changes(keys) {
  if (!keys.compared) return null;
  return [[keys.added.length, 'added'], [keys.removed.length, 'removed'], [keys.changed.length, 'changed']].filter(([n]) => n > 0)
    .map(([n, what]) => `${thousands(n)} ${what}`).join(', ') || 'no difference';
}

function sides(caption, rows, name) {
  if (rows.length === 0) return null;
  return pagedTable({ id: caption, caption, rows, find: (row) => plain(row[name]), columns: [
    { title: name, cell: (row) => breakable(row[name]) },
    { title: 'A', cell: (row) => longText(sideText(row.a)) },
    { title: 'B', cell: (row) => longText(sideText(row.b)) },
  ] });
}

function sideText(value) {
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (value && typeof value === 'object' && value.count !== undefined) return counted(value.count, 'element');
  return textOf(value);
}

/// An error as a percentage with two significant digits, as the tools print it.
const percent = (rms) => (typeof rms !== 'number' ? textOf(rms) || '?' : rms === 0 ? '0' : `${short(100 * rms, 2)} %`);
const worth = (rms) => (typeof rms === 'number' ? rms : rms === 'Infinity' ? Infinity : -1);

function errorSections(page, diff, changed) {
  if (!diff.values_compared) return;
  const total = (id, title, rows) => {
    const most = Math.max(...rows.map((row) => worth(row.rms)).filter(Number.isFinite), 1e-30);
    return rows.length === 0 ? null : [el('h3', null, title), pagedTable({ id, caption: title, rows, most: 64, find: (row) => plain(row.name), columns: [
      { title: id === 'by-layer' ? 'layer' : 'role', cell: (row) => breakable(row.name) },
      { title: 'RMS error', number: true, cell: (row) => percent(row.rms), by: (row) => worth(row.rms) },
      { title: '', cell: (row) => bar([[Math.min(Math.max(worth(row.rms), 0), most), 0]], most, percent(row.rms)) },
      { title: 'largest error', number: true, cell: (row) => short(row.max_abs, 3), by: (row) => worth(row.max_abs) },
      { title: 'cosine', number: true, cell: (row) => short(row.cosine, 6) },
      { title: 'tensors', number: true, cell: (row) => thousands(row.tensors) },
    ] })];
  };
  const grid = page.grids.find((one) => one.shows === 'errors');
  const worst = [...changed].sort((a, b) => worth(b.rms) - worth(a.rms));
  const greatest = Math.max(...changed.map((one) => worth(one.rms)).filter(Number.isFinite), 1e-30);
  section('error', 'Error', counted(changed.length, 'tensor'),
    el('p', { class: 'note' }, 'Root mean square of B − A, relative to A.'),
    total('by-layer', 'By layer', diff.tensors.by_layer), total('by-role', 'By role', diff.tensors.by_role),
    grid ? [el('h3', null, 'Layer by layer, role by role'), el('p', { class: 'note' }, '= means equal in every value; a stronger colour means a larger error.'),
      grids(grid, (text) => heat(text, greatest), 'errors')] : null,
    worst.length ? [el('h3', null, 'Tensors with different values'), pagedTable({ id: 'errors', caption: 'errors of tensors', rows: worst, find: (row) => plain(row.name), columns: [
      { title: 'tensor', cell: (row) => breakable(row.name), by: (row) => plain(row.name) },
      { title: 'RMS error', number: true, cell: (row) => (row.problem ? row.problem : percent(row.rms)), by: (row) => worth(row.rms) },
      { title: 'largest error', number: true, cell: (row) => short(row.max_abs, 3), by: (row) => worth(row.max_abs) },
      { title: 'cosine', number: true, cell: (row) => short(row.cosine, 6), by: (row) => worth(row.cosine) },
      { title: 'worst rows', cell: (row) => (row.worst_rows ?? []).map((one) => `${one.row} (${percent(one.rms)})`).join(', ') },
    ] })] : null);
}

/// Maps an error to one of five steps, relative to the largest error on the page.
function heat(text, greatest) {
  const value = parseFloat(text) / 100;
  if (textOf(text) === 'infinite') return 'heat4';
  if (!(value > 0)) return 'none';
  return `heat${Math.min(4, Math.floor((5 * value) / greatest))}`;
}

function typesOfDiff(page, diff) {
  const grid = page.grids.find((one) => one.shows === 'types');
  if (!grid || diff.tensors.retyped.length === 0) return;
  const order = new Map();
  eachTensor(grid, (name, text) => order.set(textOf(text), (order.get(textOf(text)) ?? 0) + 1));
  const sorted = [...order].sort((a, b) => b[1] - a[1]).map(([text]) => text);
  section('types', 'Types', counted(diff.tensors.retyped.length, 'tensor'), grids(grid, (text) => `look${Math.min(sorted.indexOf(textOf(text)), looks - 1)}`, 'types'));
}

function keyChanges(id, title, keys) {
  const count = keys.added.length + keys.removed.length + keys.changed.length;
  if (count === 0) return;
  section(id, title, counted(count, 'difference'), names('Only in A', keys.removed), names('Only in B', keys.added),
    keys.changed.length ? [el('h3', null, 'Changed'), sides(`changed ${id}`, keys.changed, 'key')] : null);
}

const names = (title, list) => (list.length === 0 ? null : [el('h3', null, title), list.length > 40
  ? pagedTable({ id: title, caption: title, rows: list, find: plain, columns: [{ title: 'name', cell: breakable }] })
  : el('ul', null, list.map((name) => el('li', null, breakable(name))))]);

function tensorChanges(tensors) {
  const { added, removed, reshaped } = tensors;
  if (added.length + removed.length + reshaped.length === 0) return;
  section('tensors', 'Tensors', counted(added.length + removed.length + reshaped.length, 'difference'),
    names('Only in A', removed), names('Only in B', added),
    reshaped.length ? [el('h3', null, 'Of a different shape'), sides('shapes', reshaped, 'name')] : null);
}
