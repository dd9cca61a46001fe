// The result and its spread, the graph, and the mistakes.

// The seeds' test values as dots on a line, the mean as a stroke.
function seedStrip(summary) {
  const tests = summary.final.seeds.map((s) => s.test).filter(isNumber);
  if (tests.length < 2 || !isNumber(summary.test_mean)) return null;
  const [low, high] = [Math.min(...tests), Math.max(...tests)];
  const margin = (high - low) * 0.08 || 0.005;
  const place = (value) => 4 + 92 * (value - low + margin) / (high - low + 2 * margin);
  const svg = (tag, attributes, text = '') => {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  };
  const strip = svg('svg', {class: 'strip', role: 'img'});
  strip.append(svg('title', {}, 'Test value of each seed; the stroke is their mean'));
  strip.append(svg('line', {x1: '4%', x2: '96%', y1: 22, y2: 22, stroke: 'var(--rule)'}));
  strip.append(svg('line', {x1: `${place(summary.test_mean)}%`, x2: `${place(summary.test_mean)}%`, y1: 10, y2: 34, stroke: 'var(--ink)', 'stroke-width': 2}));
  for (const value of tests)
    strip.append(svg('circle', {cx: `${place(value)}%`, cy: 22, r: 5.5, fill: 'var(--orange)', 'fill-opacity': 0.8}));
  strip.append(svg('text', {x: `${place(low)}%`, y: 50, 'text-anchor': 'start'}, percent(low)));
  strip.append(svg('text', {x: `${place(high)}%`, y: 50, 'text-anchor': 'end'}, percent(high)));
  return strip;
}

function seedTable(summary) {
  const rows = summary.final.seeds.map((s, i) => [
    `${s.seed}`, figureOf(`seed_${i}_val`, percent(s.val)), figureOf(`seed_${i}_test`, percent(s.test)),
    figureOf(`seed_${i}_best_epoch`, count(s.best_epoch))]);
  return table(['seed', 'validation', 'test', 'chosen epoch'], rows, {numeric: [1, 2, 3], className: 'wide'});
}

function facts(summary) {
  const entries = [
    ['nodes', 'nodes', count(summary.nodes)],
    ['directed edges', 'edges', count(summary.edges)],
    ['attention edges', 'attention_edges', count(summary.attention_edges)],
    ['of these kept', 'edges_kept_percent', isNumber(summary.edges_kept_percent) ? share(summary.edges_kept_percent / 100) : NONE],
    ['whole run', 'seconds', duration(summary.seconds)],
    ['peak memory (RSS)', 'peak_rss_bytes', bytes(summary.peak_rss_bytes)],
  ];
  return element('dl', {class: 'facts'}, entries.map(([term, name, text]) => element('div', {},
      element('dt', {}, term), element('dd', {}, figureOf(name, text)))));
}

function resultSection({summary}) {
  const seeds = summary.final.seeds.length;
  const spread = seeds > 1 ? element('span', {class: 'spread'}, ' ± ', figureOf('test_std', hundredfold(summary.test_std)), ' %')
                           : element('span', {class: 'spread'}, ' %');
  const meaning = seeds > 1 ? `mean ± standard deviation over ${seeds} seeds` : 'one seed; train several (--seeds 5) to see the spread';
  return element('section', {},
      element('div', {class: 'result'},
          element('div', {},
              element('p', {class: 'headline'}, figureOf('test_mean', hundredfold(summary.test_mean)), spread),
              element('p', {}, `${metricName(summary.metric)} on the test nodes, ${meaning}.`),
              note('Each seed trains the final network anew from other random weights. The test value is read at the epoch that was best on validation, so the test nodes chose nothing.')),
          element('div', {}, seedTable(summary), seedStrip(summary))),
      facts(summary));
}

function degreeFigure({degree_bounds: bounds, degree_histogram: histogram}) {
  const label = (b) => bounds[b + 1] - bounds[b] === 1 ? `${bounds[b]}` : `${compact(bounds[b])}–${compact(bounds[b + 1] - 1)}`;
  return chartFigure('degrees', 'Degree distribution', 'Nodes by their number of neighbours, on a scale that grows tenfold from line to line: a long tail to the right means hubs.',
      () => ({
        type: 'bar',
        data: {labels: histogram.map((_, b) => label(b)),
               datasets: [{label: 'nodes', data: histogram.map((n) => n > 0 ? n : null), backgroundColor: color('blue'), categoryPercentage: 1, barPercentage: 0.92}]},
        options: {
          plugins: {legend: {display: false}, tooltip: {callbacks: {label: (item) => `${count(item.parsed.y)} nodes`}}},
          scales: {x: {title: {display: true, text: 'degree', color: color('muted')}, grid: {display: false, drawBorder: false}, ticks: {maxRotation: 60}},
                   y: axis('nodes', {type: 'logarithmic', min: 0.8, format: (n) => /^10*$/.test(`${n}`) ? compact(n) : null})},
        },
      }));
}

// The spectral gap on a bar from 0 to the larger of the two, with a tick where it had to be.
function gapFigure({spectral_gap: gap, required_gap: required}) {
  const rows = [['spectral gap', fixed(gap, 3), barCell(gap, Math.max(gap, required), required)]];
  if (required > 0) rows.push(['asked for (tick)', fixed(required, 3), '']);
  return element('figure', {class: 'tall'},
      element('figcaption', {}, element('h3', {}, 'Expander'),
          element('p', {}, 'The larger the gap between the two largest eigenvalues of the random shortcuts, the fewer steps news needs to reach every node.')),
      table(['', '', ''], rows, {numeric: [1], className: 'wide headless'}));
}

function graphSection({details}) {
  const figures = [details.degree_histogram.length > 0 ? degreeFigure(details) : null,
                   details.spectral_gap > 0 ? gapFigure(details) : null].filter((figure) => figure);
  if (figures.length === 0) return null;
  return section('The graph', 'How many neighbours nodes have in the data, and how well the added edges join them.',
      element('div', {class: 'charts'}, figures));
}

function confusionTable({class_names: names, confusion}) {
  const dense = confusion.length > 16;
  const name = (i) => names[i] ?? `class ${i}`;
  const heads = dense ? null : element('thead', {}, element('tr', {}, element('th'), confusion.map((_, i) => element('th', {title: name(i)}, name(i))), element('th', {}, 'found')));
  const rows = confusion.map((row, t) => {
    const total = row.reduce((a, b) => a + b, 0);
    const cells = row.map((n, p) => {
      const part = total > 0 ? n / total : 0;
      const hue = t === p ? 'blue' : 'orange';
      const style = `background:color-mix(in srgb, var(--${hue}) ${(part * 85).toFixed(1)}%, var(--wash));` + (part > 0.55 ? 'color:var(--paper)' : '');
      return element('td', {style, title: `${name(t)} taken for ${name(p)}: ${count(n)} (${percent(part, 1)})`}, dense ? '' : count(n));
    });
    const found = dense ? null : element('th', {class: 'number'}, total > 0 ? percent(row[t] / total, 1) : NONE);
    return element('tr', {}, element('th', {title: name(t)}, name(t)), cells, found);
  });
  return element('figure', {class: confusion.length > 6 ? 'tall full' : 'tall'},
      element('figcaption', {}, element('h3', {}, 'Confusion matrix'),
          element('p', {}, 'Rows are the true class, columns the predicted one; shade is the share of the row, blue where right, orange where wrong.')),
      element('div', {class: 'scroll'}, element('table', {class: dense ? 'confusion dense' : 'confusion'}, heads, element('tbody', {}, rows))));
}

function rocFigure(details) {
  return chartFigure('roc', 'ROC curve', 'Positives found against false alarms as the threshold moves; the dashed diagonal is guessing.',
      () => lines([{label: 'this run', x: details.roc_false_positive, y: details.roc_true_positive, color: color('blue'), width: 2},
                   {label: 'guessing', x: [0, 1], y: [0, 1], color: color('grey'), dash: [4, 4], width: 1}],
                  {x: percentAxis('false positives', {type: 'linear', min: 0, max: 1}), y: percentAxis('true positives', {min: 0, max: 1})},
                  {format: (y) => percent(y, 1)}));
}

// Nodes by the names the data gives them, so that they can be looked up there.
function mistakesTable({mistakes, confusion, roc_true_positive: roc}) {
  const classes = confusion.length + roc.length > 0;
  const rows = mistakes.map((m) => [m.node, m.truth, m.prediction, classes ? percent(m.size, 1) : significant(m.size)]);
  return element('figure', {class: 'tall'},
      element('figcaption', {}, element('h3', {}, 'Largest mistakes'),
          element('p', {}, classes ? 'Test nodes of another class than the network is surest of: errors of the network, or of the labels.'
                                   : 'Test nodes whose prediction is furthest from the truth.')),
      table(['node', 'truth', 'prediction', classes ? 'probability' : 'distance'], rows, {numeric: [3], className: 'wide'}));
}

function mistakesSection({details}) {
  const parts = [details.roc_false_positive.length > 1 ? rocFigure(details) : null,
                 details.confusion.length > 0 ? confusionTable(details) : null,
                 details.mistakes.length > 0 ? mistakesTable(details) : null].filter((part) => part);
  if (parts.length === 0) return null;
  return section('Right and wrong', 'How the predictions on the test nodes compare with the truth.',
      element('div', {class: 'charts'}, parts));
}
