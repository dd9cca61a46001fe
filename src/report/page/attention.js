// Where the estimator's attention goes, and which edges the final network kept because of it.

const EDGE_TYPES = ['graph', 'expander', 'self-loop', 'virtual'];
const EDGE_HUES = ['blue', 'orange', 'green', 'grey'];

const layerName = (layer) => `layer ${layer + 1}`;
// In a deep network the legend names the two ends; the colours between run from one to the other.
const named = (i, layers) => layers <= 6 || i === 0 || i === layers - 1;
const perLayer = (layers, x, y, extra = {}) => layers.map((layer, i) => (
    {label: layerName(i), x, y: y(layer), color: layerColor(i, layers.length), inLegend: named(i, layers.length), ...extra}));

function entropyFigure(layers) {
  const bins = layers[0].entropy_histogram.length;
  const edges = Array.from({length: bins + 1}, (_, b) => b / bins);
  const shares = (layer) => {
    const total = layer.entropy_histogram.reduce((a, b) => a + b, 0) || 1;
    const heights = layer.entropy_histogram.map((n) => n / total);
    return [...heights, heights[bins - 1]];  // the last step needs an end
  };
  return chartFigure('entropy', 'How focused is attention?',
      'Entropy of a node’s scores over its largest possible: 0 looks at one neighbour, 1 at all alike.',
      () => lines(perLayer(layers, edges, shares, {stepped: 'before'}),
                  {x: axis('normalised entropy', {type: 'linear', min: 0, max: 1, grid: false}),
                   y: percentAxis('share of nodes', {beginAtZero: true})}, {format: (y) => percent(y, 1)}));
}

function shareFigure(layers) {
  const types = EDGE_TYPES.slice(0, Math.max(...layers.map((l) => l.share_by_type.length)));
  return chartFigure('edge-types', 'Which edges does it use?',
      'Share of all attention on each kind of edge; expander edges are random shortcuts, added so that any two nodes are few steps apart.',
      () => ({
        type: 'bar',
        data: {labels: layers.map((_, i) => layerName(i)),
               datasets: types.map((type, t) => ({label: type, data: layers.map((l) => l.share_by_type[t] ?? 0), backgroundColor: color(EDGE_HUES[t]), barPercentage: 0.75}))},
        options: {
          indexAxis: 'y',
          plugins: {legend: {align: 'start', onClick: () => {}, labels: {boxWidth: 10, boxHeight: 10, padding: 12}},
                    tooltip: {callbacks: {label: (item) => `${item.dataset.label}: ${percent(item.parsed.x, 1)}`}}},
          scales: {x: percentAxis('share of attention', {stacked: true, min: 0, max: 1}),
                   y: {stacked: true, grid: {display: false, drawBorder: false}, ticks: {autoSkip: false, font: {size: layers.length > 8 ? 9 : 12}}}},
        },
      }));
}

function topFigure(layers) {
  const ks = layers[0].top_sums.map((_, i) => i + 1);
  return chartFigure('top-scores', 'How few neighbours carry it?',
      'Attention on a node’s k strongest neighbours, averaged over nodes: a steep start means little is lost by sampling.',
      () => lines(perLayer(layers, ks, (layer) => layer.top_sums),
                  {x: axis('k', {type: 'linear', grid: false, min: 1, max: ks.length, ticks: {stepSize: 1}}),
                   y: percentAxis('sum of k largest scores', {min: 0, max: 1})}, {format: (y) => percent(y, 1)}));
}

function attentionSection({details}) {
  const layers = details.attention.filter((layer) => layer.entropy_histogram.length > 0);
  if (layers.length === 0) return null;
  const entropies = layers.map((l, i) => `${layerName(i)}: ${fixed(l.mean_entropy, 2)}`).join(', ');
  return section('Where the attention goes', 'What the estimator learned about who matters to whom, layer by layer.',
      element('div', {class: 'charts three'}, entropyFigure(layers), shareFigure(layers), topFigure(layers)),
      note(`Mean entropy in nats: ${entropies}.`));
}

const SAMPLING = {
  '"weighted"': 'edges drawn in proportion to the estimator’s scores',
  '"uniform"': 'edges drawn at random, all alike',
  '"top"': 'the edges with the largest scores',
};

function keptSection({summary, details, config}) {
  const layers = details.attention.map((layer, i) => ({...layer, name: layerName(i)})).filter((layer) => layer.edges_kept > 0);
  if (layers.length === 0 || summary.attention_edges === 0) return null;
  const before = summary.attention_edges;
  const sample = SAMPLING[config.find(([key]) => key === `${summary.model}.sampling`)?.[1]] ?? 'a sample of the edges';
  const rows = layers.map((layer) => [layer.name, count(before), count(layer.edges_kept),
                                         share(layer.edges_kept / before), barCell(layer.edges_kept, before)]);
  return section('How much was kept',
      `The final network sees, in each layer, only ${sample}: this is where memory and time are saved.`,
      table(['', 'edges before', 'edges kept', 'share', ''], rows, {numeric: [1, 2, 3], className: 'wide'}));
}
