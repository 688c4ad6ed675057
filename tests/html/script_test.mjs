// The parts of the script of a page, and whole pages, in a document that is not drawn (dom.mjs).
// usage: script_test.mjs SCRIPT_DIR PAGES_DIR
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { gzipSync } from 'node:zlib';
import { browser } from './dom.mjs';

const [folder, pages] = process.argv.slice(2);
// In the order of lib/report/CMakeLists.txt, without the last, which starts them.
const parts = ['text', 'elements', 'paging', 'treemap', 'grid', 'facts', 'keys', 'tensors', 'statistics', 'memory', 'vocabulary', 'template', 'diff'];
const script = parts.map((part) => readFileSync(`${folder}/${part}.js`, 'utf8')).join('\n');

/// The functions and constants of the script, in a document of their own.
function functions(...names) {
  const context = vm.createContext({ ...browser(), process });
  vm.runInContext(script, context);
  return Object.fromEntries(names.map((name) => [name, vm.runInContext(name, context)]));
}

const tests = {
  'texts of a file stay texts'() {
    const { visible, plain, textOf, el, breakable, longText } = functions('visible', 'plain', 'textOf', 'el', 'breakable', 'longText');
    const hostile = '<b>&amp;\u0000\u001b[31m\u202e\u200b\u2028\u{e0041}x\n\t';
    assert.equal(plain(hostile), '<b>&amp;\\u{0}\\u{1b}[31m\\u{202e}\\u{200b}\\u{2028}\\u{e0041}x\\u{a}\\u{9}');
    assert.equal(visible(hostile).textContent, '<b>&amp;\\u{0}\\u{1b}[31m\\u{202e}\\u{200b}\\u{2028}\\u{e0041}x\\n\\t');
    assert.equal(visible('a\n\tb\r', true).textContent, 'a\n\tb\\r');
    // What was spelled is marked as such; nothing else is an element.
    assert.deepEqual(visible('a\u202eb').childNodes.map((node) => [node.name ?? 'text', node.textContent]),
      [['text', 'a'], ['span', '\\u{202e}'], ['text', 'b']]);
    assert.equal(el('p', { title: 'a\u202e' }, 'b\u202e').getAttribute('title'), 'a\\u{202e}');
    assert.equal(breakable('blk.0\u202e').textContent, 'blk.0\\u{202e}');
    assert.equal(longText('x'.repeat(160)).name, 'code');
    assert.equal(longText('x'.repeat(161)).name, 'details');
    assert.equal(textOf({ base64: Buffer.from('a\xffb', 'latin1').toString('base64') }), 'a\ufffdb');
    assert.equal(textOf({ base64: 'YWJj…(7 more characters)' }), 'abc…');
    assert.equal(textOf({ exact: '18446744073709551615' }), '18446744073709551615');
  },

  'numbers for people'() {
    const { size, share, short, float32, ranges, amount } = functions('size', 'share', 'short', 'float32', 'ranges', 'amount');
    assert.deepEqual([0, 999, 1000, 999499, 999500, 1.5e6, 12345678, 2 ** 30, 2 ** 50, null].map(size),
      ['0 B', '999 B', '1.00 kB', '999 kB', '1.00 MB', '1.50 MB', '12.3 MB', '1.07 GB', '1.13 PB', '?']);
    assert.deepEqual([share(1, 3), share(0, 0)], ['33.3 %', '']);
    assert.deepEqual([0, 1234.56, 1e-4, 1e6, 'NaN'].map((n) => short(n)), ['0', '1235', '1.000e-4', '1.000e+6', 'NaN']);
    assert.equal(float32(Math.fround(0.1)), '0.1');
    assert.deepEqual([...ranges([0, 1, 2, 5, 7, 8])], ['0–2', '5', '7–8']);
    assert.deepEqual([999, 1000, 8.03e9].map(amount), ['999', '1.00 K', '8.03 B']);
  },

  'a table pages, searches and sorts'() {
    const { pagedTable } = functions('pagedTable');
    const rows = Array.from({ length: 23 }, (_, i) => ({ name: `t${i}`, kind: i % 2 ? 'odd' : 'even', bytes: (i * 7) % 23 }));
    const node = pagedTable({ id: 't', caption: 'rows', rows, most: 10, find: (row) => row.name, choices: { title: 'Kind', of: (row) => row.kind },
      columns: [{ title: 'name', cell: (row) => row.name, by: (row) => row.name }, { title: 'bytes', number: true, cell: (row) => String(row.bytes), by: (row) => row.bytes }] });
    const status = () => node.find((one) => one.getAttribute('class') === 'status').textContent;
    const body = () => node.find((one) => one.name === 'tbody').childNodes.map((row) => row.childNodes[0].textContent);
    const button = (label) => node.find((one) => (one.getAttribute('aria-label') ?? '').startsWith(label));
    const dead = () => ['First', 'Previous', 'Next', 'Last'].map((label) => button(label).getAttribute('aria-disabled')).join(' ');
    const search = node.find((one) => one.id === 't-search');
    assert.deepEqual([status(), body().length, body()[0], dead()], ['1–10 of 23', 10, 't0', 'true true false false']);
    button('Next').send('click');
    assert.deepEqual([status(), body()[0], dead()], ['11–20 of 23', 't10', 'false false false false']);
    button('Last').send('click');
    assert.deepEqual([status(), body(), dead()], ['21–23 of 23', ['t20', 't21', 't22'], 'false false true true']);
    button('Next').send('click');
    assert.equal(status(), '21–23 of 23');
    button('Previous').send('click');
    assert.equal(status(), '11–20 of 23');
    button('First').send('click');
    button('Previous').send('click');
    assert.equal(status(), '1–10 of 23');
    // The search forgets the page, and the choice narrows it.
    button('Last').send('click');
    Object.assign(search, { value: 'T1' }).send('input');
    assert.deepEqual([status(), body()[0]], ['1–10 of 11 found of 23', 't1']);
    const kind = node.find((one) => one.id === 't-kind');
    Object.assign(kind, { value: '2' }).send('change');
    assert.deepEqual([status(), body()], ['1–6 of 6 found of 23', ['t1', 't11', 't13', 't15', 't17', 't19']]);
    Object.assign(kind, { value: '' }).send('change');
    Object.assign(search, { value: 'none' }).send('input');
    assert.equal(status(), 'nothing found among 23');
    Object.assign(search, { value: '' }).send('input');
    const heads = node.all.filter((one) => one.getAttribute('class') === 'sort');
    heads[1].send('click');  // numbers: the largest first
    assert.deepEqual([body()[0], heads[1].parent.getAttribute('aria-sort')], [rows.find((row) => row.bytes === 22).name, 'descending']);
    heads[1].send('click');
    assert.deepEqual([body()[0], heads[1].parent.getAttribute('aria-sort')], ['t0', 'ascending']);
    heads[1].send('click');
    Object.assign(search, { value: 't2' }).send('input');  // what is found stays sorted
    assert.deepEqual(body(), ['t22', 't2', 't21', 't20']);
    Object.assign(search, { value: '' }).send('input');
    heads[0].send('click');
    assert.deepEqual([body().slice(0, 3), heads[1].parent.getAttribute('aria-sort')], [['t0', 't1', 't10'], null]);
    // A short one has neither search nor pages.
    const short = pagedTable({ id: 's', caption: 'few', rows: rows.slice(0, 5), find: (row) => row.name, columns: [{ title: 'name', cell: (row) => row.name }] });
    assert.equal(short.find((one) => one.name === 'button' || one.name === 'input'), undefined);
  },

  'areas of a treemap are as large as the tensors'() {
    const functionsOf = functions('squarified');
    const squarified = (...given) => Array.from(functionsOf.squarified(...given));  // an array of this realm
    const items = [50, 20, 10, 10, 5, 3, 1, 1].map((bytes) => ({ bytes }));
    for (const [x, y, width, height] of [[0, 0, 400, 300], [7, 9, 100, 900]]) {
      const placed = squarified(items, x, y, width, height);
      assert.deepEqual(placed.map((one) => one.item), items);
      for (const one of placed) {
        assert.ok(Math.abs(one.width * one.height - (one.item.bytes * width * height) / 100) < 1e-6, JSON.stringify(one));
        assert.ok(one.x >= x - 1e-9 && one.y >= y - 1e-9 && one.x + one.width <= x + width + 1e-6 && one.y + one.height <= y + height + 1e-6, JSON.stringify(one));
      }
      for (const [i, a] of placed.entries()) {
        for (const b of placed.slice(i + 1)) {
          const apart = a.x + a.width <= b.x + 1e-6 || b.x + b.width <= a.x + 1e-6 || a.y + a.height <= b.y + 1e-6 || b.y + b.height <= a.y + 1e-6;
          assert.ok(apart, `${JSON.stringify(a)} and ${JSON.stringify(b)} overlap`);
        }
      }
    }
    // As square as it goes: the example of the paper (Bruls, Huizing, van Wijk), whose first column has two pieces of 6.
    const example = squarified([6, 6, 4, 3, 2, 2, 1].map((bytes) => ({ bytes })), 0, 0, 6, 4);
    assert.deepEqual(example.slice(0, 2).map(({ x, y, width, height }) => [x, y, width, height]), [[0, 0, 3, 2], [0, 2, 3, 2]]);
    assert.deepEqual(squarified(items, 0, 0, 0, 10), []);
    assert.deepEqual(squarified([{ bytes: 0 }], 0, 0, 10, 10), []);
  },

  'a treemap of many tensors draws the largest, and the rest as one'() {
    const { treemap, shownTensors, mostRectangles } = functions('treemap', 'shownTensors', 'mostRectangles');
    const tensors = Array.from({ length: 4000 }, (_, i) => ({ name: `blk.${i}.attn_q.weight`, label: 'F16', bytes: 4000 - i, shape: [4000 - i] }));
    const total = tensors.reduce((sum, one) => sum + one.bytes, 0);
    const group = { name: 'F16', look: 0, bytes: total, tensors };
    const shown = shownTensors(group, tensors.length);
    assert.deepEqual([shown.length, shown.at(-1).name], [mostRectangles + 1, '2,500 smaller tensors']);
    assert.equal(shown.reduce((sum, one) => sum + one.bytes, 0), total);
    assert.equal(shownTensors({ ...group, tensors: tensors.slice(0, 3) }, 3).length, 3);
    const node = treemap([{ ...group, tensors: tensors.slice(0, 3), bytes: 11997 }], 11997);
    const status = node.find((one) => one.getAttribute('role') === 'status');
    const box = node.find((one) => one.getAttribute('role') === 'group');
    const press = (key) => {
      box.send('keydown', { key });
      return status.textContent.split(':')[0];
    };
    // The arrows stop at both ends; the chosen rectangle is the only one that is marked.
    assert.deepEqual(['ArrowRight', 'ArrowRight', 'End', 'ArrowDown', 'ArrowLeft', 'Home', 'ArrowUp'].map(press),
      [0, 1, 2, 2, 1, 0, 0].map((i) => `blk.${i}.attn_q.weight`));
    assert.equal(status.textContent, 'blk.0.attn_q.weight: F16, 4000, 4.00 kB, 33.3 % of all');
    assert.equal(node.all.filter((one) => one.name === 'rect' && one.classList.contains('chosen')).length, 1);
  },

  async 'a long vocabulary is unpacked when it is seen'() {
    const tokens = Array.from({ length: 250 }, (_, id) => ({ id, text: `t${id}`, type: id < 2 ? 'control' : 'normal' }));
    const block = gzipSync(JSON.stringify({ schema: 'vocabulary/1', model: 'gpt2', size: 250, tokens })).toString('base64');
    const drawn = (globals, text = block) => {
      const context = vm.createContext({ ...browser('[\n]', text), process, ...globals, vocabulary: { model: 'gpt2', size: 250, tokens: tokens.slice(0, 2) } });
      vm.runInContext(script, context);
      vm.runInContext("vocabularySection(vocabulary, document.getElementById('vocabulary-block'), 'gguf-dump --tokens all m.gguf')", context);
      return context.document.getElementById('page');
    };
    const body = (page) => page.find((one) => one.name === 'tbody').childNodes.length;
    const until = async (is) => {
      for (let i = 0; i < 4000 && !is(); ++i) await new Promise((done) => setTimeout(done, 5));
      assert.ok(is());
    };
    const page = drawn({ Response, Blob, DecompressionStream });
    await until(() => body(page) === 100);
    assert.equal(page.find((one) => one.getAttribute('class') === 'status').textContent, '1–100 of 250');
    assert.ok(page.textContent.includes('gpt2, 250 tokens') && page.textContent.includes('t99'));
    assert.equal(page.all.filter((one) => one.name === 'table').length, 1);
    // Until it is seen, and where it cannot be unpacked, the special tokens are there.
    let see;
    const unseen = drawn({ Response, Blob, DecompressionStream, IntersectionObserver: class { constructor(act) { see = act; } observe() {} disconnect() {} } });
    assert.equal(body(unseen), 2);
    see([{ isIntersecting: false }]);
    await new Promise((done) => setTimeout(done, 20));
    assert.equal(body(unseen), 2);
    see([{ isIntersecting: true }]);
    await until(() => body(unseen) === 100);
    for (const old of [drawn({ Response, Blob }), drawn({ Response, Blob, DecompressionStream }, 'AAAA')]) {
      await until(() => old.textContent.includes('This browser cannot unpack the others'));
      assert.equal(body(old), 2);
      assert.ok(old.textContent.includes('gguf-dump --tokens all m.gguf'));
    }
  },

  'whole pages are drawn, and links stay in them'() {
    const sections = {
      small: ['model', 'types', 'layers', 'memory', 'keys', 'template', 'statistics', 'tensors', 'vocabulary'],
      directory: ['model', 'remarks', 'types', 'layers', 'memory', 'keys', 'template', 'tensors', 'vocabulary'],
      hostile: ['model', 'remarks', 'types', 'layers', 'keys', 'template', 'tensors', 'vocabulary'],
    };
    for (const [name, wanted] of Object.entries(sections)) {
      const html = readFileSync(`${pages}/${name}.html`, 'utf8');
      const [, data] = html.match(/<script type="application\/json" id="data">(.*?)<\/script>/s);
      const [, code] = html.match(/<script>(.*?)<\/script>/s);
      const context = vm.createContext({ ...browser(data), process });
      vm.runInContext(code, context);
      const { document } = context;
      const page = document.getElementById('page');
      assert.deepEqual(page.childNodes.map((section) => section.id), wanted, name);
      for (const element of page.all) assert.ok(!/^(script|img|iframe|style)$/.test(element.name), `${name}: ${element.name}`);
      assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/.test(page.textContent + document.title), name);
    }
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
  } catch (error) {
    failed += 1;
    console.error(`${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length} tests, ${failed} failed`);
process.exit(failed ? 1 : 0);
