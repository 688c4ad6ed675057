// The model's summary, its findings and the use of its bytes.

function header(title, subtitle) {
  const theme = el('button', { type: 'button', class: 'theme', click: () => {
    const root = document.documentElement;
    root.dataset.theme = getComputedStyle(root).colorScheme.startsWith('dark') ? 'light' : 'dark';
  } }, 'Light / dark');
  document.getElementById('top').append(patterns(), el('div', { class: 'line' }, el('h1', null, title), theme), el('p', { class: 'note' }, subtitle));
  document.title = plain(title);
}

const span = (range) => (range === null ? null : range[0] === range[1] ? thousands(range[0]) : `${thousands(range[0])}–${thousands(range[1])}`);
const numberOf = (number) => (number === null || number === undefined ? null : thousands(number));

// The words of the text listing about a vision or audio tower.
function towerWords(tower) {
  const range = (of) => (of[0] === of[1] ? thousands(of[0]) : `${thousands(of[0])} to ${thousands(of[1])}`);
  const colours = (values) => values.map((value) => Number(value).toFixed(3).replace(/0+$/, '').replace(/\.$/, '')).join(' ');
  return [
    plain(tower.type),
    tower.image_size === null ? null : Number(tower.image_size) === 0 ? 'images of any size' : `images of ${thousands(tower.image_size)}`,
    tower.patch_size === null ? null : `patches of ${thousands(tower.patch_size)}`,
    tower.tokens === null ? null : `${range(tower.tokens)} tokens per picture`,
    tower.mel_bins === null ? null : `${thousands(tower.mel_bins)} mel bins`,
    tower.mean.length > 0 && tower.std.length > 0 ? `mean ${colours(tower.mean)}, std ${colours(tower.std)}` : null,
    tower.pixels === null ? null : `${range(tower.pixels)} pixels`,
    tower.tiles === null ? null : `${range(tower.tiles)} tiles`,
    tower.layers === null ? null : counted(tower.layers, 'layer'),
    tower.width === null ? null : `for a width of ${thousands(tower.width)}`,
    tower.width !== null && Number(tower.parts) > 1 ? `${thousands(tower.parts)} of them for a token` : null,
  ].filter((word) => word !== null).join(' · ');
}

// A type that only forks of ggml know.
const foreignWords = (type) => [
  plain(type.text), `${type.bits_per_weight.toFixed(2)} bits per weight`,
  `read by ${type.forks.map((fork) => plain(fork.repository)).join(' or ')}`, plain(type.advice),
].join(' · ');

function factsSection(card, listing) {
  const files = listing.files && listing.files.length > 1 ? listing.files : [];
  section('model', 'Model', null,
    facts([
      ['format', card.kind], ['architecture', card.architecture], ['mix', card.mix],
      ['variant', card.image ? [card.image.title, ...card.image.variants].join(', ') : null],
      ...(card.towers ?? []).map((tower) => [`${plain(tower.encoder)} tower`, towerWords(tower)]),
      ...(card.foreign_types ?? []).map((type) => ['fork type', foreignWords(type)]),
      ['text encoders', card.image ? card.image.text_encoders : null], ['VAE', card.image ? card.image.vae : null],
      ['parameters', card.parameters === null ? null : `${amount(card.parameters)} (${thousands(card.parameters)})`],
      ['active parameters', card.active_parameters === null ? null : amount(card.active_parameters)],
      ['bits per weight', typeof card.bits_per_weight === 'number' ? card.bits_per_weight.toFixed(2) : null],
      ['size', card.file_size === null ? null : size(card.file_size)], ['tensors', numberOf(card.tensors)],
      ['layers', numberOf(card.layers)], ['context', numberOf(card.context)], ['embedding', numberOf(card.embedding)],
      ['heads', span(card.heads)], ['KV heads', span(card.heads_kv)], ['experts', numberOf(card.experts)],
      ['experts used', numberOf(card.experts_used)], ['vocabulary', numberOf(card.vocabulary)], ['tokenizer', card.tokenizer],
      ['stop tokens', card.stop.length === 0 ? null : card.stop.map((token) => `${token.id} ${plain(token.text)}`.trim()).join(', ')],
    ]),
    files.length ? [el('h3', null, counted(files.length, 'file')), pagedTable({
      id: 'files', caption: 'files', rows: files, find: (file) => plain(file.name),
      columns: [{ title: 'file', cell: (file) => breakable(file.name) },
        { title: 'size', number: true, cell: (file) => size(file.file_size), by: (file) => Number(file.file_size ?? 0) }],
    })] : null);
}

function remarksSection(remarks) {
  if (!remarks || remarks.length === 0) return;
  section('remarks', 'Remarks', counted(remarks.length, 'remark'), pagedTable({
    id: 'remarks', caption: 'remarks', rows: remarks, most: 20,
    find: (remark) => `${plain(remark.where)} ${plain(remark.message)} ${remark.code}`,
    choices: { title: 'Severity', of: (remark) => remark.severity },
    columns: [
      { title: 'severity', cell: (remark) => el('strong', { class: `severity ${plain(remark.severity)}` }, remark.severity) },
      { title: 'place', cell: (remark) => el('code', null, remark.where) },
      { title: 'message', cell: (remark) => remark.message },
      { title: 'code', cell: (remark) => el('code', { class: 'note' }, remark.code) },
    ],
  }));
}

/// `tensors`: [{name, type, shape, bytes}]. Returns the tensors grouped by type, with a look for each type.
function groupsOf(tensors) {
  const groups = new Map();
  for (const tensor of tensors) {
    const name = plain(tensor.type);
    if (!groups.has(name)) groups.set(name, { name, bytes: 0, tensors: [] });
    const group = groups.get(name);
    group.bytes += tensor.bytes;
    group.tensors.push({ ...tensor, label: name });
  }
  const list = [...groups.values()].sort((a, b) => b.bytes - a.bytes);
  list.forEach((group, i) => {
    group.look = Math.min(i, looks - 1);
    group.tensors.sort((a, b) => b.bytes - a.bytes);
  });
  return list;
}

function typesSection(groups) {
  if (groups.length === 0) return;
  const total = groups.reduce((sum, group) => sum + group.bytes, 0);
  const columns = [
    { title: 'type', cell: (group) => el('span', { class: 'type' }, swatch(group.look), ' ', el('code', null, group.name)) },
    { title: 'tensors', number: true, cell: (group) => thousands(group.tensors.length) },
    { title: 'size', number: true, cell: (group) => size(group.bytes) },
    { title: 'share', number: true, cell: (group) => share(group.bytes, total) },
    { title: '', cell: (group) => bar([[group.bytes, group.look]], total, share(group.bytes, total)) },
  ];
  section('types', 'Size by type', counted(groups.length, 'type'),
    total > 0 ? treemap(groups.filter((group) => group.bytes > 0), total) : null,
    scrolling('types', table('types', columns, groups)));
}
