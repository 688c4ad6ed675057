// The network as a grid: layer × role, with a text in each cell.

const mostRows = 256;
const mostRoles = 96;
// Columns that do not fit on a printed page continue in another band.
const bandColumns = 12;

/// Returns one or more tables for each stack, and a list of the tensors outside all layers. `look(text)`: CSS class of
/// a cell.
function grids({ stacks, others }, look, what) {
  const parts = stacks.flatMap((stack) => stackTables(stack, look, what));
  if (others.length > 0) {
    const columns = [{ title: 'tensor', cell: (row) => breakable(row.name) },
      { title: what, cell: (row) => el('span', { class: `cell ${look(row.type)}` }, row.type) }];
    parts.push(el('h3', null, stacks.length > 0 ? 'Outside the layers' : 'Tensors'),
      others.length <= 40 ? scrolling(`${what} outside the layers`, table(`${what} outside the layers`, columns, others))
        : pagedTable({ id: `grid-${what}`, caption: `${what} outside the layers`, columns, rows: others, find: (row) => plain(row.name) }));
  }
  return parts;
}

function stackTables(stack, look, what) {
  const layers = stack.rows.reduce((sum, row) => sum + row.layers.length, 0);
  const kinds = stack.rows.length;
  const alike = kinds === layers ? '' : kinds === 1 ? ', all alike' : `, ${kinds} kinds`;
  const parts = [el('h3', null, el('code', null, stack.prefix), ` ${counted(layers, 'layer')}${alike}`)];
  const roles = stack.roles.slice(0, mostRoles);
  const rows = stack.rows.slice(0, mostRows).map((row) => ({ layers: ranges(row.layers), count: row.layers.length, cells: new Map(row.cells) }));
  const bands = Math.ceil(roles.length / bandColumns);
  const columnsOfBand = Math.ceil(roles.length / bands);
  for (let band = 0; band < bands; ++band) {
    const places = roles.map((_, place) => place).slice(band * columnsOfBand, (band + 1) * columnsOfBand);
    const caption = `${what} of ${plain(stack.prefix)}${bands > 1 ? `, part ${band + 1} of ${bands}` : ''}`;
    parts.push(scrolling(caption, el('table', { class: 'grid' }, el('caption', { class: 'unseen' }, caption),
      el('thead', null, el('tr', null, el('th', { scope: 'col' }, 'layers'),
        places.map((place) => el('th', { scope: 'col' }, breakable(textOf(roles[place]).replace(/\.weight$/, '')))))),
      el('tbody', null, rows.map((row) => el('tr', null,
        el('th', { scope: 'row' }, row.layers.map((range, i) => [i > 0 ? ', ' : null, el('span', { class: 'whole' }, range)]), row.count > 1 ? el('span', { class: 'note' }, ` ×${row.count}`) : null),
        places.map((place) => gridCell(row.cells.get(place), look))))))));
  }
  if (stack.rows.length > mostRows) parts.push(el('p', { class: 'note' }, `${counted(stack.rows.length - mostRows, 'more kind')} of layers not shown`));
  if (stack.roles.length > mostRoles) parts.push(el('p', { class: 'note' }, `${counted(stack.roles.length - mostRoles, 'more role')} not shown`));
  return parts;
}

const gridCell = (text, look) => (text === undefined ? el('td', { class: 'none' }, '–') : el('td', { class: `cell ${look(text)}` }, text));

/// Calls visit(name, text, place) for every tensor of a grid; place is {stack, layer} or null.
function eachTensor({ stacks, others }, visit) {
  for (const stack of stacks) {
    for (const row of stack.rows) {
      for (const layer of row.layers) {
        const at = `${textOf(stack.prefix)}.${layer}`;
        for (const [role, text] of row.cells) visit(`${at}.${textOf(stack.roles[role])}`, text, at);
      }
    }
  }
  for (const { name, type } of others) visit(textOf(name), type, null);
}
