// Where one node looks: a small drawing of its neighbourhood, layer by layer.

const DRAWING = {width: 250, height: 230, radius: 82};

// The node in the middle, its neighbours around it; the thicker the line, the larger the score.
function drawLook(node, seen, layer) {
  const {width, height, radius} = DRAWING;
  const [x0, y0] = [width / 2, height / 2 + 4];
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, class: 'look', role: 'img'});
  drawing.append(svg('title', {}, `${layerName(layer)}: ${seen.map((n) => `${n.node} ${percent(n.score, 1)}`).join(', ')}`));
  seen.forEach((n, i) => {
    const angle = 2 * Math.PI * i / seen.length - Math.PI / 2;
    const [x, y] = [x0 + radius * Math.cos(angle), y0 + radius * Math.sin(angle)];
    const hue = `var(--${EDGE_HUES[n.type] ?? 'grey'})`;
    drawing.append(svg('line', {x1: x0, y1: y0, x2: x, y2: y, stroke: hue, 'stroke-width': (0.6 + 9 * n.score).toFixed(2), 'stroke-opacity': 0.75}));
    drawing.append(svg('circle', {cx: x, cy: y, r: 4, fill: hue}));
    drawing.append(svg('text', {x: x + 13 * Math.cos(angle), y: y + 13 * Math.sin(angle) + 4, 'text-anchor': Math.cos(angle) > 0.3 ? 'start' : Math.cos(angle) < -0.3 ? 'end' : 'middle'}, shortened(n.node)));
  });
  drawing.append(svg('circle', {cx: x0, cy: y0, r: 6, fill: 'var(--ink)'}));
  return element('figure', {class: 'tall'}, element('figcaption', {}, element('h3', {}, layerName(layer))), drawing);
}

const shortened = (name) => name.length > 9 ? `${name.slice(0, 8)}…` : name;

function edgeKey(looks) {
  const used = new Set(looks.flatMap((look) => look.layers.flat().map((n) => n.type)));
  return note(EDGE_TYPES.map((type, t) => used.has(t) ? element('span', {class: 'key'}, element('i', {class: 'swatch', style: `background:var(--${EDGE_HUES[t]})`}), `${type} edge`) : null));
}

function looksSection({details}) {
  const looks = details.looks.filter((look) => look.layers.length > 0);
  if (looks.length === 0) return null;
  const place = element('div', {class: 'looks'});
  const show = (i) => place.replaceChildren(...looks[i].layers.map((seen, layer) => drawLook(looks[i].node, seen, layer)));
  const chooser = element('select', {'aria-label': 'node'}, looks.map((look, i) => element('option', {value: i}, look.node)));
  chooser.addEventListener('change', () => show(Number(chooser.value)));
  show(0);
  return section('Where one node looks', 'Its ten strongest neighbours in each layer, by the estimator’s scores: the thicker the line, the likelier the neighbour is drawn.',
      element('p', {}, 'Node ', chooser, details.mistakes.length > 0 ? ' (those predicted worst come first)' : ''), place, edgeKey(looks));
}
