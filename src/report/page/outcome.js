// The result, its spread, what it stands beside, and the graph.

// The seeds' test values as dots on a line, the mean as a stroke.
function seedStrip(summary) {
  const tests = summary.final.seeds.map((s) => s.test).filter(isNumber);
  if (tests.length < 2 || !isNumber(summary.test_mean)) return null;
  const [low, high] = [Math.min(...tests), Math.max(...tests)];
  const margin = (high - low) * 0.08 || 0.005;
  const place = (value) => 4 + 92 * (value - low + margin) / (high - low + 2 * margin);
  const strip = svg('svg', {class: 'strip', role: 'img'});
  strip.append(svg('title', {}, 'Test value of each seed; the stroke is their mean'));
  strip.append(svg('line', {x1: '4%', x2: '96%', y1: 22, y2: 22, stroke: 'var(--rule)'}));
  strip.append(svg('line', {x1: `${place(summary.test_mean)}%`, x2: `${place(summary.test_mean)}%`, y1: 10, y2: 34, stroke: 'var(--ink)', 'stroke-width': 2}));
  for (const value of tests)
    strip.append(svg('circle', {cx: `${place(value)}%`, cy: 22, r: 5.5, fill: 'var(--orange)', 'fill-opacity': 0.8}));
  strip.append(svg('text', {x: `${place(low)}%`, y: 50, 'text-anchor': 'start'}, score(summary.metric, low)));
  strip.append(svg('text', {x: `${place(high)}%`, y: 50, 'text-anchor': 'end'}, score(summary.metric, high)));
  return strip;
}

// Of networks that are averaged, each has a chosen epoch of its own.
function chosenEpochs(s, networks, seeds) {
  const members = networks.length / seeds.length, first = seeds.indexOf(s) * members;
  return networks.length > 0 ? networks.slice(first, first + members).map((n) => count(n.best_epoch)).join(', ') : count(s.best_epoch);
}

function seedTable({final: {seeds}, metric}, networks) {
  const rows = seeds.map((s, i) => [
    `${s.seed}`, figureOf(`seed_${i}_val`, score(metric, s.val)), figureOf(`seed_${i}_test`, score(metric, s.test)),
    figureOf(`seed_${i}_best_epoch`, chosenEpochs(s, networks, seeds))]);
  return table(['seed', 'validation', 'test', 'chosen epoch'], rows, {numeric: [1, 2, 3], className: 'wide'});
}

function facts(summary) {
  const entries = [
    ['nodes', 'nodes', count(summary.nodes)],
    ['directed edges', 'edges', count(summary.edges)],
    ['attention edges', 'attention_edges', count(summary.attention_edges)],
    ['of these kept', 'edges_kept_percent', isNumber(summary.edges_kept_percent) && summary.attention_edges > 0 ? share(summary.edges_kept_percent / 100) : NONE],
    ['whole run', 'seconds', duration(summary.seconds)],
    ['peak memory (RSS)', 'peak_rss_bytes', bytes(summary.peak_rss_bytes)],
  ];
  return element('dl', {class: 'facts'}, entries.map(([term, name, text]) => element('div', {},
      element('dt', {}, term), element('dd', {}, figureOf(name, text)))));
}

// What the result stands beside: one answer for all nodes, a network without edges, and the estimator alone.
function baselineTable({summary, details}) {
  const rows = [];
  const constant = {accuracy: 'the commonest class, for all', roc_auc: 'one answer for all', r2: 'the mean, for all'}[summary.metric] ?? 'one answer for all';
  if (isNumber(details.constant_test) && details.made.version !== '') rows.push([constant, score(summary.metric, details.constant_test), '']);
  if (isNumber(details.edgeless_test)) rows.push(['a perceptron, no edges', score(summary.metric, details.edgeless_test), '']);
  if (details.networks?.length > 0) rows.push(['one of the networks alone, on average', score(summary.metric, details.networks.reduce((sum, n) => sum + n.test, 0) / details.networks.length), '']);
  if (summary.estimator.epochs > 0) rows.push(['the estimator alone', score(summary.metric, summary.estimator.test), '']);
  if (rows.length === 0) return null;
  rows.push([`this run, ${summary.model}`, score(summary.metric, summary.test_mean), '']);
  return element('div', {class: 'beside'}, element('h3', {}, 'Beside it'), table(['', metricName(summary.metric)], rows.map(([a, b]) => [a, b]), {numeric: [1], className: 'wide'}));
}

function findingsBox({findings}) {
  if (findings.length === 0) return null;
  return element('div', {class: 'findings'}, element('h3', {}, 'In plain words'), element('ul', {}, findings.map((text) => element('li', {}, text))));
}

// Of several networks: whether they differ in settings, too.
function networksNote(config, members) {
  const variants = config.find(([key]) => key === 'variants')?.[1].replaceAll('"', '');
  if (!variants) return `Each seed trains ${members} networks from other random weights and averages what they predict.`;
  const all = ['as under Settings', ...variants.split('|').map((each) => each.trim() || 'the same')].slice(0, members);
  return `Each seed trains ${members} networks and averages what they predict; in turn they have the settings ${all.map((each, i) => `(${i + 1}) ${each}`).join(', ')}.`;
}

function resultSection(run) {
  const {summary} = run, {metric} = summary, networks = run.details.networks ?? [];
  const seeds = summary.final.seeds.length, members = networks.length / seeds;
  const spread = seeds > 1 ? element('span', {class: 'spread'}, ' ± ', figureOf('test_std', scoreSpread(metric, summary.test_std)), scoreUnit(metric))
                           : element('span', {class: 'spread'}, scoreUnit(metric));
  const meaning = seeds > 1 ? `mean ± standard deviation over ${seeds} seeds` : 'one seed; train several (--seeds 5) to see the spread';
  return element('section', {},
      element('div', {class: 'result'},
          element('div', {},
              element('p', {class: 'headline'}, figureOf('test_mean', scoreNumber(metric, summary.test_mean)), spread),
              element('p', {}, `${metricName(summary.metric)} on the test nodes, ${meaning}.`),
              note(`${members > 1 ? networksNote(run.config, members) : 'Each seed trains the final network anew from other random weights.'} The test value is read at the epoch that was best on validation, so the test nodes chose nothing.`)),
          element('div', {}, seedTable(summary, networks), seedStrip(summary))),
      element('div', {class: 'result'}, findingsBox(run), baselineTable(run)),
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
