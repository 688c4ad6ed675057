// Keys and their values, with a search box.

/// The value of a key of "gguf-dump/1".
function keyValue(key) {
  if (key.type === 'ARRAY') return arrayValue(key);
  if (key.type === 'FLOAT32') return el('code', null, float32(key.value));
  if (key.type === 'STRING') return longText(key.value);
  return el('code', null, scalar(key.value));
}

/// Marks integers beyond the browser's exact range, whose last digits are lost.
const scalar = (value) => (Number.isInteger(value) && !Number.isSafeInteger(value) ? `≈ ${value}` : textOf(value));

function arrayValue(key) {
  const element = key.array_types?.[0];
  if (!key.value) return el('span', { class: 'note' }, `${counted(key.count ?? 0, 'element')} of ${(key.array_types ?? []).map(typeName).join(' of ')}`);
  const shown = key.value.flatMap((value, i) => [i > 0 ? ', ' : null,
    el('code', { class: 'text' }, element === 'FLOAT32' ? float32(value) : typeof value === 'number' ? scalar(value) : short80(value))]);
  const more = key.count > key.value.length;
  return [shown, more ? ', … ' : ' ', el('span', { class: 'note' }, `(${counted(key.count, 'element')})`)];
}

const short80 = (value) => (textOf(value).length > 80 ? `${textOf(value).slice(0, 80)}…` : textOf(value));

function keysSection(listing, config) {
  const rows = [];
  for (const [name, key] of Object.entries(listing.metadata ?? {})) {
    rows.push(typeof key === 'object' && key !== null && key.type !== undefined
      ? { name: key.name ?? name, type: typeText(key), key, order: Number(key.index) } : { name, type: 'string', key: { type: 'STRING', value: key }, order: 0 });
  }
  rows.sort((a, b) => a.order - b.order);
  for (const [name, value] of config ?? []) rows.push({ name, type: 'config.json', key: { type: 'STRING', value } });
  if (rows.length === 0) return;
  section('keys', 'Keys', thousands(rows.length), pagedTable({
    id: 'keys', caption: 'keys', rows, most: 100,
    find: (row) => `${plain(row.name)} ${searched(row.key)}`,
    choices: { title: 'Type', of: (row) => row.type },
    columns: [
      { title: 'key', cell: (row) => breakable(row.name), by: (row) => plain(row.name) },
      { title: 'type', cell: (row) => el('span', { class: 'note' }, row.type) },
      { title: 'value', cell: (row) => keyValue(row.key) },
    ],
  }));
}

/// Returns the name of a type as the tools print it: "u32" for gguf-py's "UINT32", "f32[]" for an array.
const typeName = (type) => (type ?? '?').replace(/^UINT|^INT|^FLOAT/, (kind) => kind[0]).toLowerCase();
const typeText = (key) => (key.type === 'ARRAY' ? `${typeName(key.array_types?.[0])}[]` : typeName(key.type));
const searched = (key) => (Array.isArray(key.value) ? key.value.map(textOf).join(' ') : textOf(key.value));
