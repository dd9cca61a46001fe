// What it cost, step by step and phase by phase, and the settings that were in force.

function stepsTable(steps) {
  const slowest = Math.max(...steps.flatMap((s) => [s.seconds, s.forecast_seconds]));
  const largest = Math.max(...steps.flatMap((s) => [s.peak_bytes, s.forecast_bytes]));
  const forecast = (value, format) => value > 0 ? format(value) : NONE;
  const rows = steps.map((s) => [
    s.name,
    duration(s.seconds), forecast(s.forecast_seconds, duration), barCell(s.seconds, slowest, s.forecast_seconds),
    bytes(s.peak_bytes), forecast(s.forecast_bytes, bytes), barCell(s.peak_bytes, largest, s.forecast_bytes)]);
  return table(['step', 'time', 'forecast', '', 'peak memory', 'forecast', ''], rows, {numeric: [1, 2, 4, 5], className: 'wide steps'});
}

function barKey() {
  const sample = (...args) => element('span', {class: 'key'}, bar(...args));
  const measured = sample(1, 1), forecast = sample(0, 2, 1);
  measured.append('measured');
  forecast.append('forecast of the planner before the run');
  return note(measured, forecast);
}

function phasesTable({summary}) {
  const {estimator, final} = summary;
  const cell = (name, text) => figureOf(name, text);
  const row = (title, key, format) => [title, ...(estimator.epochs > 0 ? [cell(`estimator_${key}`, format(estimator[key]))] : []), cell(`final_${key}`, format(final[key]))];
  const rows = [row('parameters', 'parameters', count), row('epochs', 'epochs', count),
                row('time per epoch (median)', 'epoch_seconds', duration), row('peak memory (counted)', 'peak_bytes', bytes)];
  if (final.sample_seconds > 0)
    rows.splice(3, 0, ['of which drawing neighbours', ...(estimator.epochs > 0 ? [NONE] : []), cell('final_sample_seconds', duration(final.sample_seconds))]);
  if (estimator.epochs > 0)
    rows.push([`test ${metricName(summary.metric)}`, cell('estimator_test', score(summary.metric, estimator.test)), score(summary.metric, summary.test_mean)]);
  const heads = estimator.epochs > 0 ? ['', 'estimator', summary.model] : ['', summary.model];
  return table(heads, rows, {numeric: [1, 2]});
}

function costSection(run) {
  const {summary, details} = run;
  const steps = details.steps.length > 0 ? [stepsTable(details.steps), barKey()] : [];
  return section('Time and memory', 'Where the run spent them. Memory is counted by the program’s own allocator; the whole process (RSS) is larger by code and libraries.',
      steps, element('h3', {style: 'margin-top:1.6rem'}, 'The phases'), phasesTable(run),
      note('On ', figureOf('threads', count(summary.threads)), summary.threads === 1 ? ' thread.' : ' threads.'));
}

function settingsSection({config}) {
  if (config.length === 0) return null;
  const code = (text) => element('code', {}, text);
  const rows = config.map(([key, value, meaning]) => [code(key), code(value), meaning]);
  return section('Settings', 'Every value that was in force; config.toml in the run directory holds the same and reproduces the run.',
      element('details', {}, element('summary', {}, `Show all ${config.length} settings`),
          element('div', {class: 'settings'}, table(['key', 'value', 'meaning'], rows, {className: 'wide'}))));
}
