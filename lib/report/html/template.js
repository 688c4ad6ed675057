// Chat templates: their text, and an example conversation rendered with them.

function templateSection(templates, listing) {
  if (!templates || templates.length === 0) return;
  const can = listing.chat_template;
  const abilities = can ? ['system', 'tools', 'thinking', 'multimodal'].map((name) => `${name}: ${can[name] ? 'yes' : 'no'}`).join(', ') : null;
  section('template', 'Chat template', abilities, templates.map((template) => {
    const text = template.text ?? listing.metadata?.[textOf(template.name)]?.value ?? '';
    const lines = textOf(text).split('\n').length;
    return [
      templates.length > 1 ? el('h3', null, el('code', null, template.name)) : null,
      el('h4', null, 'An example conversation, rendered'),
      template.error === undefined ? el('pre', { class: 'prompt', tabindex: 0, 'aria-label': 'rendered example' }, visible(template.prompt, true))
        : el('p', null, el('strong', { class: 'severity error' }, 'error'), ' ', template.error),
      el('details', { class: 'long' }, el('summary', null, `The template (${counted(lines, 'line')})`),
        el('pre', { tabindex: 0, 'aria-label': 'template' }, visible(text, true))),
    ];
  }));
}
