// Building the page. Text always goes in as text, never as HTML, whatever a data set is called.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat(Infinity).filter((child) => child !== null));
  return node;
}

function svg(tag, attributes, text = '') {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

// A number of summary.json; the browser test finds it by its name.
const figureOf = (name, text) => element('span', {'data-figure': name}, text);

function section(title, lead, ...children) {
  return element('section', {}, element('h2', {}, title), element('p', {class: 'lead'}, lead), children);
}

const note = (...text) => element('p', {class: 'note'}, text);

// rows: arrays of cells. A cell is text or a node; columns named in `numeric` are set right-aligned.
function table(heads, rows, {numeric = [], className = ''} = {}) {
  const side = (i) => numeric.includes(i) ? {class: 'number'} : {};
  const headSide = (head, i) => i > 0 && head === '' ? {class: 'bars'} : side(i);
  const cell = (content, i) => content instanceof HTMLTableCellElement ? content : element(i === 0 ? 'th' : 'td', side(i), content);
  return element('div', {class: 'scroll'}, element('table', {class: className},
      element('thead', {}, element('tr', {}, heads.map((head, i) => element('th', headSide(head, i), head)))),
      element('tbody', {}, rows.map((row) => element('tr', {}, row.map(cell))))));
}

// What was, as a bar, and what was forecast, as a tick, both as shares of `largest`.
function bar(value, largest, forecast = 0) {
  const width = (x) => `${largest > 0 ? Math.min(100, 100 * x / largest) : 0}%`;
  const node = element('div', {class: 'bar'});
  if (value > 0) node.append(element('i', {style: `width:${width(value)}`}));
  if (forecast > 0) node.append(element('b', {style: `left:${width(forecast)}`}));
  return node;
}

const barCell = (...args) => element('td', {class: 'bars'}, bar(...args));
