// The table of tensors, with the facts that the figures use.

/// Returns [{name, type, shape, bytes, place}] for a listing. `card` has the types and places; the parts of a packed
/// weight are counted with it.
function tensorsOf(listing, card) {
  const types = new Map();
  const places = new Map();
  eachTensor(card, (name, type, place) => {
    types.set(name, type);
    places.set(name, place);
  });
  const rows = [];
  const packed = new Map();
  const parts = [];
  for (const [member, entry] of Object.entries(listing.tensors ?? {})) {
    const name = textOf(entry.name ?? member);
    const row = { name, type: types.get(name) ?? textOf(entry.dtype ?? entry.type), shape: entry.shape, bytes: Number(entry.bytes ?? 0), place: places.get(name) ?? null, order: entry.index };
    if (!types.has(name) && name.includes('.')) {
      parts.push(row);
      continue;
    }
    packed.set(name.replace(/\.weight$/, ''), row);
    rows.push(row);
  }
  for (const part of parts) {
    const whole = packed.get(part.name.slice(0, part.name.lastIndexOf('.')));
    if (whole) whole.bytes += part.bytes;
    else rows.push(part);
  }
  for (const [path, module] of Object.entries(listing.modules ?? {})) {
    const row = packed.get(path);
    if (row && module.quantized) row.shape = module.shape;
  }
  return rows.sort((a, b) => (a.order ?? 0) - (b.order ?? 0));
}

function tensorsSection(tensors, groups) {
  if (tensors.length === 0) return;
  const look = new Map(groups.map((group) => [group.name, group.look]));
  section('tensors', 'Tensors', thousands(tensors.length), pagedTable({
    id: 'tensors', caption: 'tensors', rows: tensors,
    find: (row) => plain(row.name),
    choices: { title: 'Type', of: (row) => plain(row.type) },
    columns: [
      { title: 'tensor', cell: (row) => breakable(row.name), by: (row) => row.name },
      { title: 'type', cell: (row) => el('span', { class: `cell look${look.get(plain(row.type)) ?? 9}` }, row.type), by: (row) => plain(row.type) },
      { title: 'shape', cell: (row) => (row.shape ?? []).map(thousands).join(' × ') },
      { title: 'size', number: true, cell: (row) => size(row.bytes), by: (row) => row.bytes },
    ],
  }));
}
