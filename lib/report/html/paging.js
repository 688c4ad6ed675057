// Tables that may be long, with a search box, sorting and pages.

/// `columns`: {title, cell(row), number, by(row)}; a column with `by` can be sorted. `find(row)`: the text to search.
/// `choices`: {title, of(row)} adds a drop-down list of the rows' values. The search box is the node's `search`.
function pagedTable({ id, caption, columns, rows, find, choices, most = 50 }) {
  let shown = rows;
  let page = 0;
  let order = null;
  const body = el('tbody');
  const status = el('p', { class: 'status', role: 'status' });
  const search = el('input', { type: 'search', id: `${id}-search`, autocomplete: 'off', spellcheck: 'false', input: select });
  const kinds = choices ? [...new Set(rows.map(choices.of))].sort() : [];
  const kind = kinds.length > 1
    ? el('select', { id: `${id}-kind`, change: select }, el('option', { value: '' }, 'all'),
      kinds.map((value, i) => el('option', { value: String(i + 1) }, value)))
    : null;
  const pages = () => Math.max(1, Math.ceil(shown.length / most));
  const button = (title, label, to) => el('button', { type: 'button', 'aria-label': `${label} page of ${caption}`, click: () => go(to()) }, title);
  const buttons = [button('« First', 'First', () => 0), button('‹ Previous', 'Previous', () => page - 1),
    button('Next ›', 'Next', () => page + 1), button('Last »', 'Last', () => pages() - 1)];

  function select() {
    const wanted = search.value.toLowerCase();
    const of = kind && kind.value !== '' ? kinds[Number(kind.value) - 1] : null;
    shown = rows.filter((row) => (of === null || choices.of(row) === of) &&
      (wanted === '' || find(row).toLowerCase().includes(wanted)));
    if (order) sort();
    go(0);
  }

  function sort() {
    const key = order.column.by;
    shown = [...shown].sort((a, b) => {
      const x = key(a);
      const y = key(b);
      return (x < y ? -1 : x > y ? 1 : 0) * order.sign;
    });
  }

  function go(to) {
    page = Math.min(Math.max(0, to), pages() - 1);
    const first = page * most;
    body.replaceChildren(...shown.slice(first, first + most).map((row) => tableRow(columns, row)));
    const last = Math.min(first + most, shown.length);
    const of = shown.length < rows.length ? `${thousands(shown.length)} found of ${thousands(rows.length)}` : thousands(rows.length);
    status.textContent = shown.length === 0 ? `nothing found among ${thousands(rows.length)}` : `${thousands(first + 1)}–${thousands(last)} of ${of}`;
    // Uses aria-disabled, because a disabled button would lose the keyboard focus.
    buttons.forEach((one, i) => one.setAttribute('aria-disabled', String(i < 2 ? page === 0 : page === pages() - 1)));
  }

  const heads = columns.map((column) => {
    const head = el('th', { scope: 'col', class: column.number && 'number' });
    if (!column.by) {
      head.append(column.title);
      return head;
    }
    head.append(el('button', { type: 'button', class: 'sort', click: () => {
      const sign = order && order.column === column ? -order.sign : column.number ? -1 : 1;
      order = { column, sign };
      heads.forEach((one) => one.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', sign < 0 ? 'descending' : 'ascending');
      sort();
      go(0);
    } }, column.title));
    return head;
  });
  const controls = rows.length > 5 ? el('div', { class: 'controls', role: 'search', 'aria-label': caption },
    el('label', { for: `${id}-search` }, 'Search'), search,
    kind ? [el('label', { for: `${id}-kind` }, choices.title), kind] : null) : null;
  const paging = rows.length > 5 && el('div', { class: 'paging' }, status, rows.length > most ? el('div', { class: 'buttons' }, buttons) : null);
  go(0);
  const node = el('div', { class: 'paged', id: `${id}-table` }, controls, paging || null,
    scrolling(caption, el('table', null, el('caption', { class: 'unseen' }, caption),
      el('thead', null, el('tr', null, heads)), body)));
  return Object.assign(node, { search });
}
