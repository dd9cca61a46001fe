// The page of a search for settings: the finalists, the best over time, and what mattered.

const HUES = ['#3b6fb6', '#d9822b', '#3f8f55', '#b4443c', '#7a5ba8', '#8a6d3b', '#2a8c8c', '#c05a8c', '#5c6670', '#a0932c'];
const hue = (i) => HUES[i % HUES.length];
const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;
const reached = (trial) => trial.steps.at(-1)?.val;
const keyOf = (setting) => setting.slice(0, setting.indexOf('='));
const valueOf = (setting) => setting.slice(setting.indexOf('=') + 1);

function deviation(values) {
  const middle = mean(values);
  return values.length > 1 ? Math.sqrt(values.reduce((sum, x) => sum + (x - middle) ** 2, 0) / (values.length - 1)) : 0;
}

// What a trial has other than the default of its model.
function differences(run, index) {
  const trial = run.trials[index];
  const start = run.trials.find((each) => each.model === trial.model);
  return trial.settings.filter((setting, i) => setting !== start.settings[i]);
}

function tunedTable(run) {
  const rows = run.finalists.map((trials, index) => {
    const own = run.finals.filter((final) => final.finalist === index), values = own.map((final) => final.val);
    const name = index === 0 ? 'the default' : `${trials.length > 1 ? 'trials' : 'trial'} ${trials.join(', ')}`;
    return [name + (index === run.winner ? ' (taken)' : ''), run.trials[trials[0]].model, `${scoreNumber(run.metric, mean(values))} ± ${scoreSpread(run.metric, deviation(values))}`,
            count(values.length), count(Math.max(...own.map((final) => final.networks))), trials.length > 1 ? 'their networks together' : differences(run, trials[0]).map(valueFirst).join(', ') || NONE];
  }).filter((row) => row[3] !== count(0));
  const outcome = run.winner === 0 ? 'Nothing beats the default by more than the noise, so it is kept.' :
      'The winner beats the default by more than the noise: the standard error over rounds or, if that is more, over bootstraps of the nodes that judge.';
  const test = isNumber(run.test_mean) ? ` Its test ${metricName(run.metric)}, looked at once, after the choice: ${scoreNumber(run.metric, run.test_mean)} ± ${scoreSpread(run.metric, run.test_std)}${scoreUnit(run.metric)}.` : '';
  return section('The finalists', outcome + test,
      table(['', 'model', `validation ${metricName(run.metric)}${isShare(run.metric) ? ', %' : ''}`, 'times judged', 'networks', 'other than the default'], rows, {numeric: [2, 3, 4], className: 'wide'}),
      note('Every finalist had the same splits and seeds, in the same order, as far as time allowed, and each half of the validation nodes judged the average of networks whose epochs the other half chose. The best are also judged together: networks take their settings in turn. The table of all trials is in trials.csv, the settings in best.toml.'));
}

const valueFirst = (setting) => `${keyOf(setting).split('.').at(-1)} ${valueOf(setting)}`;

// Every judgement as a dot, the best so far as a line of steps.
function timeFigure(run) {
  const steps = run.trials.flatMap((trial) => trial.steps).filter((step) => isNumber(step.val)).sort((a, b) => a.at - b.at);
  const line = {x: [], y: []};
  let best = -Infinity;
  for (const step of steps) {
    if (step.val <= best) continue;
    if (best > -Infinity) { line.x.push(step.at); line.y.push(best); }
    best = step.val;
    line.x.push(step.at);
    line.y.push(best);
  }
  const series = [{label: 'a trial', x: steps.map((s) => s.at), y: steps.map((s) => s.val), color: hue(8), points: 3, width: 0},
                  {label: 'best so far', ...line, color: hue(0), points: 0, width: 2}];
  return chartFigure('search', 'The best over time', 'Each dot is a trial that was judged.',
      () => lines(series, {x: axis('seconds', {type: 'linear', grid: false}), y: scoreAxis(run.metric, `validation ${metricName(run.metric)}`)}, {format: (y) => score(run.metric, y)}));
}

// For each setting: how many trials had each value, the best of them and their median.
function mattered(run) {
  const values = new Map();
  for (const trial of run.trials)
    if (isNumber(reached(trial)))
      for (const setting of trial.settings) values.set(setting, [...(values.get(setting) ?? []), reached(trial)]);
  const byKey = new Map();
  for (const [setting, scores] of values) byKey.set(keyOf(setting), [...(byKey.get(keyOf(setting)) ?? []), [valueOf(setting), scores.sort((a, b) => b - a)]]);
  const spread = (list) => Math.max(...list.map(([, scores]) => scores[0])) - Math.min(...list.map(([, scores]) => scores[0]));
  return [...byKey].filter(([, list]) => list.length > 1).sort(([, a], [, b]) => spread(b) - spread(a));
}

function matteredSection(run) {
  const all = mattered(run);
  const scores = all.flatMap(([, list]) => list.map(([, each]) => each[0]));
  const least = Math.min(...scores), most = Math.max(...scores);
  const rows = all.flatMap(([key, list]) => list.sort(([, a], [, b]) => b[0] - a[0]).map(([value, each], i) =>
      [i === 0 ? key : '', value, count(each.length), scoreNumber(run.metric, each[0]), barCell(each[0] - least, most - least), scoreNumber(run.metric, each[Math.floor(each.length / 2)])]));
  return section('What mattered', `The best validation ${metricName(run.metric)} among the trials with each value; the settings that matter most come first.`,
      table(['setting', 'value', 'trials', ...(isShare(run.metric) ? ['best, %', '', 'median, %'] : ['best', '', 'median'])], rows, {numeric: [2, 3, 5], className: 'wide'}),
      note('Values were not drawn evenly: later trials stay close to what did well before.'));
}

function tunedHeader({data}) {
  return element('header', {}, element('div', {}, element('p', {class: 'eyebrow'}, 'search for settings'), element('h1', {class: 'short'}, data)), themeButton());
}

function searchSection(run) {
  return section('The search', `${count(run.trials.length)} configurations in ${duration(run.seconds)}; the best third trains on, and again.`, element('div', {class: 'charts'}, timeFigure(run)));
}

buildPage(JSON.parse(document.getElementById('run').textContent), [tunedHeader, tunedTable, searchSection, matteredSection, pageFooter]);
