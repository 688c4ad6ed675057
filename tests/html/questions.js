// What check_pages.py asks a page about itself.
(() => {
  // Contrast as WCAG 2.2 defines it, of a colour on the colour behind it.
  function channels(color) {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 1;
    const context = canvas.getContext('2d');
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  }
  const known = new Map();
  function luminance(color) {
    if (!known.has(color)) {
      const [r, g, b] = channels(color).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      known.set(color, 0.2126 * r + 0.7152 * g + 0.0722 * b);
    }
    return known.get(color);
  }
  function contrast(a, b) {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  }
  function behind(node) {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (color !== 'rgba(0, 0, 0, 0)' && color !== 'transparent') return color;
    }
    return 'white';
  }
  const path = (node) => (node.id ? `#${node.id}` : `${node.parentElement ? path(node.parentElement) : ''} > ${node.localName}${node.getAttribute('class') ? `.${node.getAttribute('class')}` : ''}`);

  return {
    /// Texts with too little contrast.
    faint() {
      const found = new Set();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (walker.currentNode.data.trim() === '' || node.closest('script, noscript, .unseen, .skip, option')) continue;
        const style = getComputedStyle(node);
        const grounds = node.closest('svg') ? Array.from({ length: 10 }, (_, i) => getComputedStyle(document.querySelector(`.fill${i}`)).fill) : [behind(node)];
        for (const ground of grounds) {
          const ratio = contrast(node.closest('svg') ? style.fill : style.color, ground);
          if (ratio < 4.5) found.add(`${ratio.toFixed(2)} : 1 ${path(node)}`);
        }
      }
      return [...found];
    },
    /// What sticks out of the page: of its width, or with `everything` of any box that would scroll.
    wide(everything) {
      const found = [];
      if (document.documentElement.scrollWidth > innerWidth) found.push(`page: ${document.documentElement.scrollWidth} > ${innerWidth}`);
      if (everything) {
        for (const box of document.querySelectorAll('.scroll, pre, section')) {
          if (box.getClientRects().length > 0 && box.scrollWidth > box.clientWidth + 1) found.push(`${path(box)}: ${box.scrollWidth} > ${box.clientWidth}`);
        }
      }
      return found;
    },
    /// What somebody who cannot see the page would miss.
    unnamed() {
      const found = [];
      const want = (node, is) => is || found.push(path(node));
      for (const node of document.querySelectorAll('svg')) want(node, node.getAttribute('aria-hidden') === 'true' || (node.getAttribute('role') === 'img' && node.getAttribute('aria-label')));
      for (const node of document.querySelectorAll('input, select')) want(node, node.labels.length === 1);
      for (const node of document.querySelectorAll('table')) want(node, node.caption && node.caption.textContent);
      for (const node of document.querySelectorAll('[tabindex="0"]')) want(node, node.getAttribute('aria-label'));
      for (const node of document.querySelectorAll('section')) want(node, document.getElementById(node.getAttribute('aria-labelledby')));
      const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
      for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements are #${id}`);
      return found;
    },
    /// Elements that only text of a file could have brought.
    strange() {
      const allowed = new Set('a button caption code dd details div dl dt h1 h2 h3 h4 input label li option p pre section select span strong summary svg defs path pattern rect text table tbody td th thead tr ul wbr noscript'.split(' '));
      const places = document.querySelectorAll('#top *, #contents *, #page *, #bottom *');
      return [...new Set([...places].map((node) => node.localName).filter((name) => !allowed.has(name)))];
    },
    /// Characters that move others or leave no mark, as text of the page.
    unsafe: () => [...(document.body.cloneNode(true), document.getElementById('page').textContent)].filter((c) => c !== '\n' && c !== '\t' && /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(c)).length,
  };
})()
