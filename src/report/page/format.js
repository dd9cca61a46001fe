'use strict';
// Numbers as people read them, each with its unit.

const METRIC_NAMES = {roc_auc: 'ROC AUC', accuracy: 'accuracy', r2: 'R²', mae: 'mean absolute error', macro_f1: 'macro F1', average_precision: 'average precision', calibration_error: 'calibration error'};
const NONE = '–';

const isNumber = (x) => typeof x === 'number' && Number.isFinite(x);
const metricName = (metric) => METRIC_NAMES[metric] ?? metric;
const count = (n) => n.toLocaleString('en-US');
const fixed = (x, digits) => isNumber(x) ? x.toFixed(digits) : NONE;
const hundredfold = (fraction) => isNumber(fraction) ? fixed(100 * fraction, 2) : NONE;
const percent = (fraction, digits = 2) => isNumber(fraction) ? `${fixed(100 * fraction, digits)} %` : NONE;

// Values of a metric. All are shares but the mean absolute error, which is kept as its negative and has the unit of the targets.
const isShare = (metric) => metric !== 'mae';
const scoreUnit = (metric) => isShare(metric) ? ' %' : '';
const scoreNumber = (metric, x) => isShare(metric) ? hundredfold(x) : isNumber(x) ? `${+(-x).toPrecision(4)}` : NONE;
const scoreSpread = (metric, x) => isShare(metric) ? hundredfold(x) : isNumber(x) ? `${+x.toPrecision(3)}` : NONE;
const score = (metric, x) => isNumber(x) ? scoreNumber(metric, x) + scoreUnit(metric) : NONE;

// One digit, two where one would show little more than zero.
const share = (fraction) => percent(fraction, fraction < 0.01 ? 2 : 1);

// Three significant digits, never in scientific notation.
function significant(x) {
  if (x >= 100) return x.toFixed(0);
  return x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds >= 7200) return `${significant(seconds / 3600)} h`;
  if (seconds >= 120) return `${significant(seconds / 60)} min`;
  return seconds >= 1 || seconds === 0 ? `${significant(seconds)} s` : `${significant(1000 * seconds)} ms`;
}

function bytes(n) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; n >= 1000 && unit + 1 < units.length; ++unit) n /= 1000;
  return `${unit === 0 ? n : significant(n)} ${units[unit]}`;
}

// Ticks such as 1.2k and 3M, for axes that must stay narrow.
function compact(n) {
  if (n >= 1e6) return `${+(n / 1e6).toPrecision(3)}M`;
  return n >= 1e3 ? `${+(n / 1e3).toPrecision(3)}k` : `${n}`;
}
