// The vocabulary, one page at a time.

function vocabularySection(vocabulary) {
  if (!vocabulary || vocabulary.tokens.length === 0) return;
  const rows = vocabulary.tokens;
  const columns = [
    { title: 'id', number: true, cell: (token) => String(token.id), by: (token) => -token.id },
    { title: 'text', cell: (token) => el('code', { class: 'text token' }, token.text) },
    { title: 'type', cell: (token) => token.type },
  ];
  if (rows.some((token) => token.score !== undefined)) columns.push({ title: 'score', number: true, cell: (token) => short(token.score), by: (token) => token.score ?? 0 });
  if (rows.some((token) => token.roles)) columns.push({ title: 'roles', cell: (token) => (token.roles ?? []).join(', ') });
  const all = rows.length === vocabulary.size ? counted(vocabulary.size, 'token') : `${thousands(rows.length)} of ${counted(vocabulary.size, 'token')}`;
  section('vocabulary', 'Vocabulary', `${plain(vocabulary.model)}, ${all}`, pagedTable({
    id: 'vocabulary', caption: 'tokens', rows, columns, most: 100,
    find: (token) => `${token.id} ${textOf(token.text)}`,
    choices: { title: 'Type', of: (token) => token.type },
  }));
}
