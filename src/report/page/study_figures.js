// Figures of a study: lines, bars or a shaded table, drawn from the columns its record names.

const HUES = ['#3b6fb6', '#d9822b', '#3f8f55', '#b4443c', '#7a5ba8', '#8a6d3b', '#2a8c8c', '#c05a8c', '#5c6670', '#a0932c'];
const UNITS = {percent: (x) => percent(x, 1), seconds: duration, bytes, '': (x) => `${+x.toPrecision(3)}`};
let figureCount = 0;

// Vertical bars from low to high at each point that has both.
Chart.register({id: 'error-bars', afterDatasetsDraw(chart) {
  if (!showDatasets) return;
  const {ctx, scales: {y}} = chart;
  chart.data.datasets.forEach((dataset, d) => dataset.data.forEach((point, i) => {
    const {low, high} = dataset.ends?.[i] ?? {};
    if (!isNumber(low) || !isNumber(high) || high <= low) return;
    const x = chart.getDatasetMeta(d).data[i].x;
    const [top, bottom] = [y.getPixelForValue(high), y.getPixelForValue(Math.max(low, y.min))];
    ctx.save();
    ctx.strokeStyle = chart.config.type === 'bar' ? color('ink') : dataset.borderColor;
    ctx.lineWidth = 1.2;
    ctx.beginPath();
    for (const [x1, y1, x2, y2] of [[x, top, x, bottom], [x - 3, top, x + 3, top], [x - 3, bottom, x + 3, bottom]]) {
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2);
    }
    ctx.stroke();
    ctx.restore();
  }));
}});

// A row as an object by the heads of the columns.
function recordsOf({names, values, rows}) {
  return rows.map((row) => Object.fromEntries([...names.map((head, i) => [head, row.names[i]]), ...values.map((head, i) => [head, row.values[i]])]));
}

const distinct = (list) => [...new Set(list)];
// "edges+layer" joins two columns.
const keyOf = (row, heads) => heads === '' ? '' : heads.split('+').map((head) => row[head]).join(', ');

function panelsOf(figure, table) {
  const wanted = (row) => figure.only.every((rule) => row[rule.split('=')[0]] === rule.slice(rule.indexOf('=') + 1));
  const rows = recordsOf(table).filter(wanted);
  return distinct(rows.map((row) => keyOf(row, figure.panel))).map((panel) => ({panel, rows: rows.filter((row) => keyOf(row, figure.panel) === panel)}));
}

const endsOf = (rows, figure) => figure.low === '' ? null : rows.map((row) => ({low: row[figure.low], high: row[figure.high]}));
// An axis reaches as far as the bars of its points.
const reach = (rows, figure) => {
  const ends = (endsOf(rows, figure) ?? []).filter(({low, high}) => isNumber(low) && isNumber(high));
  return ends.length === 0 || figure.log_y ? {} : {suggestedMin: Math.min(...ends.map(({low}) => low)), suggestedMax: Math.max(...ends.map(({high}) => high))};
};
const axisOf = (title, unit, log, extra = {}) => axis(title, {type: log ? 'logarithmic' : 'linear', format: log && unit === '' ? compact : UNITS[unit], ...extra});

function lineChart(figure, rows) {
  const series = distinct(rows.map((row) => keyOf(row, figure.series)));
  const config = lines(series.map((label, i) => {
    const own = rows.filter((row) => keyOf(row, figure.series) === label);
    return {label: label || figure.y_title, x: own.map((row) => row[figure.x]), y: own.map((row) => row[figure.y]), color: HUES[i % HUES.length], points: own.length > 30 ? 0 : 2.5};
  }), {x: axisOf(figure.x_title, figure.x_unit, figure.log_x, {grid: false}), y: axisOf(figure.y_title, figure.y_unit, figure.log_y, reach(rows, figure))},
  {showLegend: series.length > 1, format: UNITS[figure.y_unit]});
  config.data.datasets.forEach((dataset, i) => { dataset.ends = endsOf(rows.filter((row) => keyOf(row, figure.series) === series[i]), figure); });
  return config;
}

function barChart(figure, rows) {
  const labels = distinct(rows.map((row) => row[figure.x]));
  const series = distinct(rows.map((row) => keyOf(row, figure.series)));
  const datasets = series.map((label, i) => {
    const own = labels.map((x) => rows.find((row) => row[figure.x] === x && keyOf(row, figure.series) === label) ?? {});
    const hues = series.length > 1 ? HUES[i % HUES.length] : labels.map((_, j) => HUES[j % HUES.length]);
    return {label: label || figure.y_title, data: own.map((row) => row[figure.y] ?? null), ends: endsOf(own, figure), backgroundColor: hues, barPercentage: 0.85};
  });
  return {
    type: 'bar', data: {labels: labels.map((label) => `${label}`.split(' ')), datasets},  // a word a line: they stand close
    options: {
      plugins: {legend: {display: series.length > 1, align: 'start', onClick: () => {}, labels: {boxWidth: 10, boxHeight: 10, padding: 10}},
                tooltip: {callbacks: {title: ([item]) => labels[item.dataIndex], label: (item) => `${item.dataset.label}: ${UNITS[figure.y_unit](item.parsed.y)}`}}},
      scales: {x: {grid: {display: false}, ticks: {maxRotation: 0, autoSkip: false, font: {size: 11}}},
               y: axisOf(figure.y_title, figure.y_unit, figure.log_y, {beginAtZero: !figure.log_y, ...reach(rows, figure)})},
    },
  };
}

// A square of numbers, the larger the darker; its columns in the order of its lines.
function heatTable(figure, rows, largest) {
  const lines = distinct(rows.map((row) => row[figure.y])), columns = distinct([...lines, ...rows.map((row) => row[figure.x])]);
  const cell = (line, column) => {
    const value = rows.find((row) => row[figure.y] === line && row[figure.x] === column)?.[figure.value];
    const strength = isNumber(value) && largest > 0 ? Math.max(0, Math.min(1, value / largest)) : 0;
    return element('td', {class: 'number heat', style: `background: rgba(201, 111, 30, ${(0.75 * strength).toFixed(3)})`}, isNumber(value) ? value.toPrecision(2) : '');
  };
  return table(['', ...columns], lines.map((line) => [line, ...columns.map((column) => cell(line, column))]), {className: 'heat'});
}

// The charts of one figure of a study, one per panel.
function figuresOf(figure, table) {
  const panels = panelsOf(figure, table);
  const largest = Math.max(...panels.flatMap(({rows}) => rows.map((row) => row[figure.value] ?? 0)));
  return panels.map(({panel, rows}) => {
    const title = panel === '' ? figure.title : `${figure.title}, ${panel}`;
    if (figure.kind === 'heat')
      return element('figure', {}, element('figcaption', {}, element('h3', {}, title), element('p', {}, figure.sentence)), heatTable(figure, rows, largest));
    return chartFigure(`figure-${++figureCount}`, title, figure.sentence, () => figure.kind === 'bars' ? barChart(figure, rows) : lineChart(figure, rows));
  });
}
