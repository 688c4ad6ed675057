// Parses the reports (docs/json.md), one per line of the data block, and shows a section for each.

function readReports() {
  const reports = { statistics: [] };
  for (const line of document.getElementById('data').textContent.split('\n')) {
    if (!line.startsWith('{')) continue;
    const json = line.endsWith(',') ? line.slice(0, -1) : line;
    const report = JSON.parse(json, json.startsWith('{"schema":"vocabulary/1"') ? undefined : exactNumbers);
    const name = report.schema.split('/')[0];
    if (name === 'stats') reports.statistics.push(report);
    else reports[name.endsWith('-dump') ? 'listing' : name] = report;
  }
  return reports;
}

function modelPage({ page, card, listing, statistics, fit, vocabulary }) {
  header(textOf(card.name) || base(card.path), card.path);
  factsSection(card, listing);
  remarksSection(page.remarks);
  const tensors = tensorsOf(listing, card);
  const groups = groupsOf(tensors);
  typesSection(groups);
  const look = new Map(groups.map((group) => [group.name, group.look]));
  if (tensors.length > 0) section('layers', 'Layers', null, grids(card, (text) => `look${look.get(plain(text)) ?? looks - 1}`, 'types'));
  memorySection(fit);
  keysSection(listing, page.config);
  templateSection(page.templates, listing);
  statisticsSection(statistics, card);
  tensorsSection(tensors, groups);
  vocabularySection(vocabulary, document.getElementById('vocabulary-block'), `${page.program} --tokens all ${base(card.path)}`);
}

const reports = readReports();
if (reports['model-diff']) {
  diffPage(reports.page, reports['model-diff']);
} else {
  modelPage(reports);
}
document.getElementById('bottom').append(`Made with ${plain(reports.page.program)} ${plain(reports.page.version)} (modelutils). This page contains its data as JSON.`);

// In a srcdoc frame, as in a notebook, the base address is the surrounding page's, so a plain fragment link would leave
// the frame.
if (location.protocol === 'about:') {
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    const part = document.getElementById(link.getAttribute('href').slice(1));
    part.scrollIntoView();
    part.focus({ preventScroll: true });
  });
}
