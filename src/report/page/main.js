// The page from top to bottom. A section without data gives null and is left out.

function pageHeader({summary, details}) {
  const {date, version, instruction_set: isa, command} = details.made;
  const made = version === '' ? null : element('p', {class: 'made'}, `${date}, spex ${version}, ${isa}`, command === '' ? null : element('code', {}, command));
  const badge = summary.synthetic ? element('span', {class: 'badge'}, 'synthetic data') : null;
  const name = summary.data.split('/').filter((part) => part !== '').pop() ?? summary.data;
  return element('header', {},
      element('div', {}, element('p', {class: 'eyebrow'}, `${summary.model} run`),
          element('h1', {class: name.length > 24 ? 'long' : 'short', title: summary.data}, name), badge, made),
      themeButton());
}

buildPage(JSON.parse(document.getElementById('run').textContent),
    [pageHeader, resultSection, trainingSection, mistakesSection, attentionSection, looksSection, keptSection, graphSection, costSection, settingsSection, pageFooter]);
