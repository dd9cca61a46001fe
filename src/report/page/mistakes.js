// Right and wrong on the test nodes: by class, by threshold, by probability, and node by node.

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

function precisionFigure(details) {
  const base = details.confusion[1].reduce((a, b) => a + b, 0) / details.confusion.flat().reduce((a, b) => a + b, 0);
  return chartFigure('precision-recall', 'Precision by recall', 'Of the nodes called positive, how many are, as more of the positives are found; the dashed line is guessing.',
      () => lines([{label: 'this run', x: details.recall, y: details.precision, color: color('blue'), width: 2},
                   {label: 'guessing', x: [0, 1], y: [base, base], color: color('grey'), dash: [4, 4], width: 1}],
                  {x: percentAxis('recall', {type: 'linear', min: 0, max: 1}), y: percentAxis('precision', {min: 0, max: 1})},
                  {format: (y) => percent(y, 1)}));
}

function calibrationFigure(details) {
  const two = details.confusion.length === 2;
  const what = two ? `probability of ${details.class_names[1] ?? 'class 1'}` : 'probability of the predicted class';
  return chartFigure('calibration', 'Calibration', 'Do probabilities mean what they say? Ten bins of them against how often it was so; on the dashed line they agree.',
      () => lines([{label: 'this run', x: details.calibration_predicted, y: details.calibration_right, color: color('orange'), points: 3, width: 2},
                   {label: 'perfect', x: [0, 1], y: [0, 1], color: color('grey'), dash: [4, 4], width: 1}],
                  {x: percentAxis(what, {type: 'linear', min: 0, max: 1}), y: percentAxis(two ? 'share that is so' : 'share that was right', {min: 0, max: 1})},
                  {format: (y) => percent(y, 1)}));
}

// Precision, recall, F1 and support of each class, from the confusion matrix.
function classTable({class_names: names, confusion}) {
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const ratio = (a, b) => b > 0 ? percent(a / b, 1) : NONE;
  const rows = confusion.map((row, c) => {
    const hit = row[c], support = sum(row), called = sum(confusion.map((r) => r[c]));
    return [names[c] ?? `class ${c}`, ratio(hit, called), ratio(hit, support), ratio(2 * hit, called + support), count(support)];
  });
  const body = table(['class', 'precision', 'recall', 'F1', 'test nodes'], rows, {numeric: [1, 2, 3, 4], className: 'wide'});
  return element('figure', {class: 'tall'},
      element('figcaption', {}, element('h3', {}, 'By class'),
          element('p', {}, 'Precision: of the nodes given this class, how many have it. Recall: of those that have it, how many were found. F1 is their harmonic mean.')),
      rows.length > 12 ? element('details', {}, element('summary', {}, `Show all ${rows.length} classes`), body) : body);
}

function valuesFigure({true_values: actual, predicted_values: predicted}) {
  const ends = [Math.min(...actual, ...predicted), Math.max(...actual, ...predicted)];
  return chartFigure('values', 'Predicted against true', 'One dot per test node; on the dashed line they agree.',
      () => lines([{label: 'test nodes', x: actual, y: predicted, color: color('blue'), points: 2, width: 0},
                   {label: 'equal', x: ends, y: ends, color: color('grey'), dash: [4, 4], width: 1, points: 0}],
                  {x: axis('true', {type: 'linear'}), y: axis('predicted')}, {format: (y) => y.toPrecision(4)}));
}

function residualsFigure({true_values: actual, predicted_values: predicted}) {
  const residuals = actual.map((value, i) => predicted[i] - value);
  const [low, high] = [Math.min(...residuals), Math.max(...residuals)];
  const bins = 24, width = (high - low) / bins || 1, heights = new Array(bins).fill(0);
  for (const residual of residuals) ++heights[Math.min(bins - 1, Math.floor((residual - low) / width))];
  const edges = Array.from({length: bins + 1}, (_, b) => low + b * width);
  return chartFigure('residuals', 'Residuals', 'Predicted minus true: a peak beside zero means a bias, a long tail means a few large errors.',
      () => lines([{label: 'test nodes', x: edges, y: [...heights, heights[bins - 1]], color: color('orange'), stepped: 'before', points: 0}],
                  {x: axis('residual', {type: 'linear', grid: false, format: (x) => +x.toPrecision(3)}), y: axis('test nodes', {beginAtZero: true})}, {showLegend: false, format: (y) => count(y)}));
}

// Nodes by the names the data gives them, so that they can be looked up there.
function mistakesTable({mistakes, confusion, roc_true_positive: roc}) {
  const classes = confusion.length + roc.length > 0;
  const rows = mistakes.map((m) => [m.node, m.truth, m.prediction, classes ? percent(m.size, 1) : significant(m.size)]);
  return element('figure', {class: 'tall full'},
      element('figcaption', {}, element('h3', {}, 'Largest mistakes'),
          element('p', {}, classes ? 'Test nodes of another class than the network is surest of: errors of the network, or of the labels.'
                                   : 'Test nodes whose prediction is furthest from the truth.')),
      table(['node', 'truth', 'prediction', classes ? 'probability' : 'distance'], rows, {numeric: [3], className: 'wide'}));
}

// R² is a number, the absolute error has the targets' unit, all others are shares.
function measuresTable({test_metrics: metrics}) {
  const text = ({name, value}) => name === 'r2' ? fixed(value, 4) : score(name, value);
  return element('figure', {class: 'tall'},
      element('figcaption', {}, element('h3', {}, 'By every measure'), element('p', {}, 'Of the network that was kept: of several seeds the one best on validation.')),
      table(['', 'test nodes'], metrics.map((m) => [metricName(m.name), text(m)]), {numeric: [1], className: 'wide'}));
}

function mistakesSection({summary, details}) {
  const classes = details.confusion.length > 0;
  const parts = [summary.test_metrics.length > 0 ? measuresTable(summary) : null, classes ? classTable(details) : null,
                 classes ? confusionTable(details) : null,
                 details.roc_false_positive.length > 1 ? rocFigure(details) : null,
                 details.recall.length > 1 ? precisionFigure(details) : null,
                 details.calibration_nodes.length > 0 ? calibrationFigure(details) : null,
                 details.true_values.length > 0 ? valuesFigure(details) : null,
                 details.true_values.length > 0 ? residualsFigure(details) : null,
                 details.mistakes.length > 0 ? mistakesTable(details) : null].filter((part) => part);
  if (parts.length === 0) return null;
  return section('Right and wrong', 'How the predictions on the test nodes compare with the truth.',
      element('div', {class: 'charts'}, parts));
}
