// The memory that llama.cpp needs to run the model, over context.

function memorySection(fit) {
  if (!fit) return;
  const rows = fit.contexts.filter((one) => one.n_ctx !== null).map((one) => ({
    one,
    weights: one.weights.gpu_bytes + one.weights.host_bytes,
    cache: ['k_bytes', 'v_bytes', 'r_bytes', 's_bytes'].reduce((sum, name) => sum + (one[name] ?? 0), 0),
    compute: (one.compute.gpu_bytes ?? 0) + (one.compute.host_bytes ?? 0),
  }));
  if (rows.length === 0) {
    const weights = fit.contexts[0]?.weights;
    section('memory', 'Memory', null, el('p', null, `The architecture is not known: weights ${weights ? size(weights.gpu_bytes + weights.host_bytes) : '?'}, cache and compute buffers unknown.`));
    return;
  }
  const { options } = fit;
  const limit = options.gpu ?? options.memory ?? options.ram;
  const total = (row) => row.weights + row.cache + row.compute;
  const most = Math.max(...rows.map(total), limit ?? 0);
  const asked = [['GPU', options.gpu], ['memory', options.memory], ['host', options.ram]].filter(([, bytes]) => bytes !== null);
  const columns = [
    { title: 'context', cell: (row) => thousands(row.one.n_ctx) },
    { title: '', cell: (row) => bar([[row.weights, 0], [row.cache, 1], [row.compute, 2]], most,
      `weights ${size(row.weights)}, cache ${size(row.cache)}, compute ${size(row.compute)}`, limit) },
    { title: 'weights', number: true, cell: (row) => size(row.weights) },
    { title: 'cache', number: true, cell: (row) => size(row.cache) },
    { title: 'compute', number: true, cell: (row) => size(row.compute) },
    { title: 'total', number: true, cell: (row) => size(total(row)) },
    { title: 'on the GPU', number: true, cell: (row) => size(row.one.total.gpu_bytes) },
  ];
  if (limit) columns.push({ title: 'fits', cell: (row) => fits(row.one) });
  section('memory', 'Memory', `${plain(options.runtime)}, cache ${options.kv.map(plain).join(' and ')}`,
    el('p', { class: 'legend' }, swatch(0), ' weights ', swatch(1), ' cache ', swatch(2), ' compute buffers',
      limit ? [' ', svg('svg', { width: 8, height: 16, class: 'swatch', 'aria-hidden': 'true' }, svg('path', { d: 'M4 0V16', class: 'limit' })),
        ` ${asked.map(([name, bytes]) => `${name} ${size(bytes)}`).join(', ')}`] : null),
    scrolling('memory over context', table('memory over context', columns, rows)),
    fit.trained_context ? el('p', { class: 'note' }, `The model was trained for ${thousands(fit.trained_context)} tokens.`) : null,
    alternatives(rows));
}

function fits(one) {
  if (one.fits === null) return '?';
  if (one.fits) return el('strong', { class: 'severity ok' }, 'yes');
  return el('span', { class: 'whole' }, el('strong', { class: 'severity error' }, 'no'), one.ngl === null ? null : ` (${one.ngl} layers fit)`);
}

function alternatives(rows) {
  const list = rows.flatMap((row) => row.one.alternatives.map((other) => ({ context: row.one.n_ctx, other })));
  if (list.length === 0) return null;
  const columns = [
    { title: 'context', cell: (row) => thousands(row.context) },
    { title: 'alternative', cell: (row) => row.other.costs },
    { title: 'options', cell: (row) => el('code', { class: 'whole' }, row.other.options) },
    { title: 'on the GPU', number: true, cell: (row) => size(row.other.gpu_bytes) },
    { title: 'on the host', number: true, cell: (row) => size(row.other.host_bytes) },
  ];
  return [el('h3', null, 'Alternatives that fit'), scrolling('alternatives that fit', table('alternatives that fit', columns, list))];
}
