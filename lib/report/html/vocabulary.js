// The vocabulary, one page at a time. A long one is in a compressed block, which is unpacked when the section is seen.

function vocabularySection(vocabulary, block, command) {
  if (!vocabulary || vocabulary.tokens.length === 0) return;
  const note = el('p', { class: 'note', role: 'status' }, block ? 'The special tokens. The others are unpacked when this part is seen.' : '');
  const place = el('div', null, block ? note : null, tokenTable(vocabulary));
  const all = vocabulary.tokens.length === vocabulary.size || block ? counted(vocabulary.size, 'token') : `${thousands(vocabulary.tokens.length)} of ${counted(vocabulary.size, 'token')}`;
  section('vocabulary', 'Vocabulary', `${plain(vocabulary.model)}, ${all}`, place);
  if (block) whenSeen(place, () => showBlock(place, note, block, command));
}

function tokenTable(vocabulary) {
  const rows = vocabulary.tokens;
  const columns = [
    { title: 'id', number: true, cell: (token) => String(token.id), by: (token) => -token.id },
    { title: 'text', cell: (token) => el('code', { class: 'text token' }, token.text) },
    { title: 'type', cell: (token) => token.type },
  ];
  if (rows.some((token) => token.score !== undefined)) columns.push({ title: 'score', number: true, cell: (token) => short(token.score), by: (token) => token.score ?? 0 });
  if (rows.some((token) => token.roles)) columns.push({ title: 'roles', cell: (token) => (token.roles ?? []).join(', ') });
  return pagedTable({
    id: 'vocabulary', caption: 'tokens', rows, columns, most: 100,
    find: (token) => `${token.id} ${textOf(token.text)}`,
    choices: { title: 'Type', of: (token) => token.type },
  });
}

function whenSeen(node, act) {
  if (typeof IntersectionObserver === 'undefined') return act();
  const observer = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    observer.disconnect();
    act();
  }, { rootMargin: '400px' });
  return observer.observe(node);
}

/// Returns the text of a block: gzip in base64. Nothing is fetched.
async function unpacked(block) {
  const bytes = Uint8Array.from(atob(block.textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

/// Replaces the special tokens by those of the block; a search that has begun goes on. A browser without
/// DecompressionStream keeps the special tokens and says where the others are.
async function showBlock(place, note, block, command) {
  let table;
  try {
    table = tokenTable(JSON.parse(await unpacked(block)));
  } catch {
    note.textContent = `The special tokens. This browser cannot unpack the others; a newer one can, and this command lists them: ${plain(command)}`;
    return;
  }
  const old = place.childNodes[place.childNodes.length - 1].search;
  const hasFocus = document.activeElement === old;
  table.search.value = old.value;
  place.replaceChildren(table);
  if (old.value !== '') table.search.dispatchEvent(new Event('input'));
  if (hasFocus) table.search.focus();
}
