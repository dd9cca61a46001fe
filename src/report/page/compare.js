// The page of a comparison: the table, accuracy with its spread, accuracy against time and memory,
// and the curves of one training each.

const HUES = ['#3b6fb6', '#d9822b', '#3f8f55', '#b4443c', '#7a5ba8', '#8a6d3b', '#2a8c8c', '#c05a8c', '#5c6670', '#a0932c'];
const hue = (i) => HUES[i % HUES.length];

function comparedTable({models, metric}) {
  const mark = (m) => m.best ? ' (best)' : m.within_noise ? ' (within noise of the best)' : '';
  const rows = models.map((m) => [
    m.model + mark(m), scoreNumber(metric, m.test_mean) + (m.runs.length > 1 ? ` ± ${scoreSpread(metric, m.test_std)}` : ''), count(m.runs.length), duration(m.epoch_seconds),
    duration(m.seconds), bytes(m.peak_bytes), count(m.parameters)]);
  const trainings = (m) => JSON.stringify(m.runs.map((r) => [r.split, r.seed]));
  const alike = models.every((m) => trainings(m) === trainings(models[0]));
  const paired = alike ? 'every one had the same splits and seeds' : 'splits or seeds differ, so differences may be luck';
  return section('The models', `Test ${metricName(metric)} at the epoch that was best on validation, mean and standard deviation; ${paired}.`,
      table(['', `${metricName(metric)}${isShare(metric) ? ', %' : ''}`, 'trainings', 'time per epoch', 'time in all', 'peak memory', 'parameters'], rows, {numeric: [1, 2, 3, 4, 5, 6], className: 'wide'}),
      models.some((m) => m.within_noise) ? note('Within noise: the mean of the paired differences to the best is below two standard errors.') : null);
}

// Every training as a dot, the mean as a line across.
function spreadFigure({models, metric}) {
  const dots = models.map((m, i) => ({label: m.model, x: m.runs.map(() => i + 1), y: m.runs.map((r) => r.test), color: hue(i), points: 4, width: 0}));
  const means = models.map((m, i) => ({label: `${m.model}, mean`, x: [i + 0.75, i + 1.25], y: [m.test_mean, m.test_mean], color: hue(i), width: 3, points: 0, inLegend: false}));
  const name = (x) => models[x - 1]?.model ?? '';
  return chartFigure('spread', 'Accuracy with its spread', 'One dot per training, the mean as a line.',
      () => lines([...dots, ...means], {x: axis('', {type: 'linear', min: 0.5, max: models.length + 0.5, grid: false, format: name}), y: scoreAxis(metric)},
                  {showLegend: false, format: (y) => score(metric, y)}));
}

function againstFigure(id, title, {models, metric}, value, unit, format) {
  const series = models.map((m, i) => ({label: m.model, x: [value(m)], y: [m.test_mean], color: hue(i), points: 6, width: 0}));
  return chartFigure(id, title, 'Up and to the left is better.',
      () => lines(series, {x: axis(unit, {type: 'logarithmic', format}), y: scoreAxis(metric)}, {format: (y) => score(metric, y)}));
}

function curvesFigure({models, metric}) {
  const series = models.map((m, i) => ({label: m.model, x: m.curve.map((e) => e.epoch), y: m.curve.map((e) => e.validation), color: hue(i)}));
  return chartFigure('curves', 'Validation by epoch', 'The first split and seed of each model.',
      () => lines(series, {x: epochAxis(), y: scoreAxis(metric, `validation ${metricName(metric)}`)}, {format: (y) => score(metric, y)}));
}

function comparedHeader({data}) {
  return element('header', {}, element('div', {}, element('p', {class: 'eyebrow'}, 'comparison of models'), element('h1', {class: 'short'}, data)), themeButton());
}

function comparedCharts(run) {
  return section('Accuracy, time and memory', 'What each model costs, and what it gives for that.',
      element('div', {class: 'charts'}, spreadFigure(run),
          againstFigure('time', 'Accuracy against time', run, (m) => m.seconds, 'seconds in all', (x) => `${+x.toPrecision(2)} s`),
          againstFigure('memory', 'Accuracy against memory', run, (m) => m.peak_bytes, 'peak memory', bytes),
          curvesFigure(run)));
}

buildPage(JSON.parse(document.getElementById('run').textContent), [comparedHeader, comparedTable, comparedCharts, pageFooter]);
