// One way to make every chart: a figure with a title, a sentence, and a function that gives Chart.js
// its configuration in the colours of the theme.

const drawn = [];  // {id, canvas, configure, chart}
let showDatasets = true;

function chartFigure(id, title, sentence, configure) {
  const canvas = element('canvas', {id, role: 'img', 'aria-label': `${title}. ${sentence}`});
  drawn.push({id, canvas, configure, chart: null});
  return element('figure', {},
      element('figcaption', {}, element('h3', {}, title), element('p', {}, sentence)),
      element('div', {class: 'plot'}, canvas));
}

function redrawCharts() {
  Object.assign(Chart.defaults, {animation: false, responsive: true, maintainAspectRatio: false, color: color('muted')});
  Object.assign(Chart.defaults.font, {family: color('sans'), size: 12});
  for (const entry of drawn) {
    entry.chart?.destroy();
    entry.chart = new Chart(entry.canvas, entry.configure());
  }
}

// Lets the self-check draw a chart without its data, to see what the data adds.
Chart.register({id: 'datasets-switch', beforeDatasetsDraw: () => showDatasets});

// Of a logarithmic axis: as many ticks as have room for a label.
function keepRoundTicks(scale) {
  const decades = Math.log10(scale.max / scale.min);
  const digits = decades > 3 ? /^1/ : decades > 1.5 ? /^[13]/ : /^[1235]/;
  scale.ticks = scale.ticks.filter(({value}) => digits.test(value.toExponential()));
}

function axis(title, {format = (x) => +x.toPrecision(12), grid = true, ...rest} = {}) {
  return {
    title: {display: true, text: title, color: color('muted')},
    ticks: {callback: (value) => format(value), maxTicksLimit: 7, maxRotation: 0},
    grid: {color: color('rule'), display: grid, drawBorder: false, tickLength: 4},
    ...(rest.type === 'logarithmic' ? {afterBuildTicks: keepRoundTicks} : {}),
    ...rest,
  };
}

const percentAxis = (title, rest = {}) => axis(title, {format: (x) => `${+(100 * x).toFixed(1)} %`, ...rest});
// Of a metric: the better, the higher.
const scoreAxis = (metric, title = metricName(metric)) => isShare(metric) ? percentAxis(title) : axis(title, {format: (x) => +(-x).toPrecision(4)});
const epochAxis = () => axis('epoch', {type: 'linear', grid: false});

// A legend of lines; entries that repeat a name (one per seed) appear once.
function legend(labels) {
  const seen = new Set();
  const first = (item) => !seen.has(item.text) && seen.add(item.text);
  return {
    display: labels, align: 'start', onClick: () => {},
    labels: {usePointStyle: true, pointStyle: 'line', boxWidth: 22, padding: 12,
             generateLabels: (chart) => {
               seen.clear();
               const of = (item) => chart.data.datasets[item.datasetIndex];
               const wanted = (item) => of(item).inLegend;
               // What has dots and no line gets a thick stroke.
               const drawn = (item) => of(item).borderWidth > 0 ? item : {...item, lineWidth: 6, strokeStyle: of(item).backgroundColor};
               return Chart.defaults.plugins.legend.labels.generateLabels(chart).filter(wanted).filter(first).map(drawn);
             }},
  };
}

// A lone value makes no line, so it is drawn as a dot.
const dotRadius = (values) => values.filter(isNumber).length === 1 ? 3 : 0;

// series: {label, x, y, color} and, where they differ from the usual, {note, width, points, dash, stepped, inLegend}; `format` writes a value in the tooltip.
function lines(series, scales, {showLegend = true, format = (y) => y} = {}) {
  return {
    type: 'line',
    data: {datasets: series.map((s) => ({
      label: s.label, data: s.x.map((x, i) => ({x, y: s.y[i]})), note: s.note, inLegend: s.inLegend ?? true, borderColor: s.color,
      backgroundColor: s.color, borderWidth: s.width ?? 1.6, pointRadius: s.points ?? dotRadius(s.y), pointHitRadius: 6,
      borderDash: s.dash ?? [], spanGaps: true, stepped: s.stepped ?? false,
    }))},
    options: {
      interaction: {mode: 'nearest', intersect: false},
      plugins: {legend: legend(showLegend), tooltip: {callbacks: {
        label: (item) => `${item.dataset.label}${item.dataset.note ?? ''}: ${format(item.parsed.y)}`,
      }}},
      scales,
    },
  };
}
