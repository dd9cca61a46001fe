// How training went: loss and metric of each phase, learning rate, temperature.

const phaseTitle = (phase) => phase.charAt(0).toUpperCase() + phase.slice(1);

function aboutPhases(phases, summary, averaged) {
  const line = averaged ? 'One line per network.' : 'One line per seed.';
  const edges = summary.edges_kept_percent < 100 ? 'only the sampled edges' : 'all edges';
  if (phases.size < 2) return `${phaseTitle(summary.model)}. ${line}`;
  return `The estimator, a narrow network, sees all edges and learns where to look. The final network, wide enough for the task, sees ${edges}. ${line}`;
}

const ofSeed = (curve) => `, ${curve.averaged ? 'network' : 'seed'} ${curve.seed}`;

// The curves that hold at least one number under `key`: an epoch need not evaluate.
const withNumbers = (curves, key) => curves.filter((c) => c[key].some(isNumber));

function lossFigure(phase, all) {
  const curves = withNumbers(all, 'train_loss');
  if (curves.length === 0) return null;
  return chartFigure(`loss-${phase}`, `${phaseTitle(phase)}: training loss`,
      'What the optimiser lowers, averaged over an epoch; it should fall and then flatten.',
      () => lines(curves.map((c) => ({label: 'loss', note: ofSeed(c), x: c.epoch, y: c.train_loss, color: color('blue')})),
                  {x: epochAxis(), y: axis('loss')}, {showLegend: false, format: (y) => y.toPrecision(4)}));
}

function metricSeries(curves, bestEpochs) {
  const kinds = [['training', 'train', 'grey'], ['validation', 'validation', 'blue'], ['test', 'test', 'orange']];
  const series = kinds.flatMap(([label, key, hue]) => curves.map((c) => (
      {label, note: ofSeed(c), x: c.epoch, y: c[key], color: color(hue), width: curves.length > 1 ? 1.1 : 1.6})));
  const best = curves.flatMap((c) => {
    const at = c.epoch.indexOf(bestEpochs.get(c.seed));
    return at >= 0 && isNumber(c.validation[at]) ? [{x: c.epoch[at], y: c.validation[at], note: ofSeed(c)}] : [];
  });
  const dots = best.map((b) => ({label: 'chosen epoch', note: b.note, x: [b.x], y: [b.y], color: color('ink'), points: 3.5, inLegend: false}));
  return [...series, ...dots];
}

function metricFigure(phase, all, metric, bestEpochs) {
  const curves = withNumbers(all, 'validation');
  if (curves.length === 0) return null;
  const sentence = bestEpochs.size > 0
      ? 'A dot marks the epoch that was best on validation: its network is kept, and test nodes chose nothing.'
      : 'Training far above validation would mean learning by heart.';
  return chartFigure(`metric-${phase}`, `${phaseTitle(phase)}: ${metricName(metric)}`, sentence,
      () => lines(metricSeries(curves, bestEpochs), {x: epochAxis(), y: scoreAxis(metric)},
                  {format: (y) => score(metric, y)}));
}

// Two phases often share one schedule: the first is dashed, so that the other shows through.
function rateFigure(phases) {
  const hues = ['blue', 'orange', 'green'];
  const rates = [...phases.values()].flatMap((curves) => curves[0].learning_rate);
  const course = rates.every((rate) => rate === rates[0]) ? ', the same throughout' : rates.at(-1) < 0.5 * Math.max(...rates) ? ': a warm-up, then a slow descent to zero' : '';
  return chartFigure('learning-rate', 'Learning rate', `The size of the optimiser’s steps${course}.`,
      () => lines([...phases].map(([phase, curves], i) => ({label: phaseTitle(phase), x: curves[0].epoch, y: curves[0].learning_rate, color: color(hues[i % 3]),
                                                         dash: i === 0 && phases.size > 1 ? [6, 5] : []})),
                  {x: epochAxis(), y: axis('learning rate', {beginAtZero: true, format: (x) => +x.toPrecision(2)})},
                  {showLegend: phases.size > 1, format: (y) => y.toPrecision(3)}));
}

// Only a temperature that moved is worth a chart.
function temperatureFigure(curves) {
  const annealed = curves.find((c) => c.temperature.some((t) => t !== 1));
  if (!annealed) return null;
  return chartFigure('temperature', 'Softmax temperature',
      'Cooling sharpens attention, so that few edges carry most of the weight and a small sample suffices.',
      () => lines([{label: 'temperature', x: annealed.epoch, y: annealed.temperature, color: color('green')}],
                  {x: epochAxis(), y: axis('temperature', {min: 0})}, {showLegend: false, format: (y) => y.toFixed(3)}));
}

function trainingSection({summary, details, curves}) {
  if (curves.length === 0) return null;
  const phases = new Map(), networks = details.networks ?? [];
  for (const each of curves) {
    const curve = {...each, averaged: each.phase === summary.model && networks.length > 0};
    phases.set(curve.phase, [...(phases.get(curve.phase) ?? []), curve]);
  }
  const best = new Map((networks.length > 0 ? networks : summary.final.seeds).map((s) => [s.seed, s.best_epoch]));
  const figures = [...phases].flatMap(([phase, ofPhase]) => [
    lossFigure(phase, ofPhase), metricFigure(phase, ofPhase, summary.metric, phase === summary.model ? best : new Map())]);
  return section('Training', aboutPhases(phases, summary, networks.length > 0),
      element('div', {class: 'charts'}, figures, rateFigure(phases), temperatureFigure(curves)));
}
