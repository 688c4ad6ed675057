// As much of a browser's document as the script of a page asks for: elements keep what they are given and nothing is drawn.
class Node {
  constructor() {
    this.childNodes = [];
    this.parent = null;
  }

  append(...children) {
    for (const child of children) {
      const nodes = child instanceof Fragment ? child.childNodes.splice(0) : [child instanceof Node ? child : new Text(String(child))];
      for (const node of nodes) node.parent = this;
      this.childNodes.push(...nodes);
    }
  }

  replaceChildren(...children) {
    this.childNodes = [];
    this.append(...children);
  }

  get textContent() {
    return this.childNodes.map((child) => child.textContent).join('');
  }

  set textContent(text) {
    this.replaceChildren(String(text));
  }

  /// Every element below, in the order of the document.
  get all() {
    return this.childNodes.flatMap((child) => (child instanceof Element ? [child, ...child.all] : []));
  }

  find(wanted) {
    return this.all.find(wanted);
  }
}

class Text extends Node {
  constructor(text) {
    super();
    this.data = text;
  }

  get textContent() {
    return this.data;
  }
}

class Fragment extends Node {}

class Element extends Node {
  constructor(name) {
    super();
    this.name = name;
    this.attributes = new Map();
    this.listeners = {};
    this.value = '';
    this.dataset = {};
    const classes = () => new Set((this.attributes.get('class') ?? '').split(' ').filter(Boolean));
    const keep = (set) => this.attributes.set('class', [...set].join(' '));
    this.classList = {
      add: (one) => keep(classes().add(one)),
      remove: (one) => keep([...classes()].filter((other) => other !== one)),
      contains: (one) => classes().has(one),
    };
  }

  set className(text) {
    this.attributes.set('class', text);
  }

  get id() {
    return this.attributes.get('id');
  }

  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  addEventListener(kind, listener) {
    this.listeners[kind] = listener;
  }

  send(kind, event = {}) {
    this.listeners[kind]({ preventDefault() {}, ...event });
  }

  get clientWidth() {
    return 1000;
  }
}

/// A document with the elements that page.html has, with `data` as the block of JSON and `block` as the compressed one.
export function browser(data = '[\n]', block = null) {
  const root = new Element('html');
  const places = new Map(['top', 'contents', 'page', 'bottom', 'data', ...(block === null ? [] : ['vocabulary-block'])].map((id) => {
    const element = new Element(id === 'data' ? 'script' : 'div');
    element.setAttribute('id', id);
    root.append(element);
    return [id, element];
  }));
  places.get('data').append(data);
  places.get('vocabulary-block')?.append(block);
  return {
    Node, TextDecoder, atob, Uint8Array,
    location: { protocol: 'file:' },
    getComputedStyle: () => ({ colorScheme: 'light dark' }),
    ResizeObserver: class {
      constructor(draw) {
        this.draw = draw;
      }

      observe() {
        this.draw();
      }
    },
    document: {
      documentElement: root,
      title: '',
      createElement: (name) => new Element(name),
      createElementNS: (_, name) => new Element(name),
      createDocumentFragment: () => new Fragment(),
      getElementById: (id) => places.get(id) ?? root.find((element) => element.id === id) ?? null,
      addEventListener() {},
    },
  };
}
