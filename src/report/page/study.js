// The page of one or several studies: what the paper claims, whether the numbers agree and by which
// rule, the figures, the numbers, and what was chosen.

const studyTitle = (study) => `${study.title}, ${study.data}`;

function findingsTable({findings}) {
  const verdict = (finding) => element('td', {}, element('strong', {class: finding.agrees ? 'agrees' : 'disagrees'}, finding.agrees ? 'agrees' : 'does not agree'));
  return table(['the paper claims', '', 'decided by', 'here'], findings.map((f) => [element('td', {}, f.claim), verdict(f), f.rule, f.numbers]), {className: 'wide findings'});
}

function numbersOf({table: {names, values, rows}}) {
  const cells = (row) => [...row.names, ...row.values.map((value) => isNumber(value) ? `${+value.toPrecision(5)}` : NONE)];
  return element('details', {}, element('summary', {}, `The numbers (${count(rows.length)} rows)`),
      table([...names, ...values], rows.map(cells), {numeric: values.map((_, i) => names.length + i), className: 'wide'}));
}

function settingsOf({settings, seconds, command}) {
  return element('details', {}, element('summary', {}, 'Every setting'),
      note(`Made by: ${command}; ${duration(seconds)} with the networks that were already trained.`),
      table(['setting', 'value'], settings.map((s) => [s.key, s.value]), {className: 'settings'}));
}

function studySection(study, alone) {
  const charts = study.figures.filter((f) => f.kind !== 'heat').flatMap((f) => figuresOf(f, study.table));
  const heats = study.figures.filter((f) => f.kind === 'heat').flatMap((f) => figuresOf(f, study.table));
  const badge = study.synthetic ? element('span', {class: 'badge'}, 'synthetic data') : null;
  return element('section', {id: `${study.study}-${study.data}`}, alone ? null : element('h2', {}, studyTitle(study)), badge,
      element('p', {class: 'eyebrow'}, `The paper: ${study.place}`), findingsTable(study),
      charts.length ? element('div', {class: 'charts'}, charts) : null, heats.length ? element('div', {class: 'charts'}, heats) : null,
      element('h3', {class: 'chosen'}, 'What was chosen'), element('ul', {class: 'note'}, study.choices.map((choice) => element('li', {}, choice))),
      numbersOf(study), settingsOf(study));
}

function studiesHeader(studies) {
  const title = studies.length === 1 ? studyTitle(studies[0]) : 'The paper’s figures and theorems';
  return element('header', {}, element('div', {}, element('p', {class: 'eyebrow'}, 'study'), element('h1', {class: 'long'}, title)), themeButton());
}

function overview(studies) {
  if (studies.length < 2) return null;
  const row = (s) => [element('th', {}, element('a', {href: `#${s.study}-${s.data}`}, s.title)), s.data, s.place,
                      `${s.findings.filter((f) => f.agrees).length} of ${s.findings.length}`];
  return section('All studies', 'How many of the paper’s claims agree with the numbers here, by a rule stated with each.',
      table(['study', 'data', 'in the paper', 'claims that agree'], studies.map(row), {className: 'wide'}));
}

buildPage(JSON.parse(document.getElementById('run').textContent),
    [studiesHeader, overview, (studies) => element('div', {}, studies.map((study) => studySection(study, studies.length === 1))), pageFooter]);
