// The page from top to bottom. A section without data gives null and is left out.

function pageHeader({summary}) {
  const badge = summary.synthetic ? element('span', {class: 'badge'}, 'synthetic data') : null;
  const name = summary.data.split('/').filter((part) => part !== '').pop() ?? summary.data;
  return element('header', {},
      element('div', {}, element('p', {class: 'eyebrow'}, `${summary.model} run`),
          element('h1', {class: name.length > 24 ? 'long' : 'short', title: summary.data}, name), badge),
      themeButton());
}

function pageFooter() {
  return element('footer', {}, `This file needs nothing else: data, style and charts (Chart.js ${Chart.version}, MIT licence) are inside.`);
}

function build(run) {
  const parts = [pageHeader, resultSection, trainingSection, attentionSection, keptSection, mistakesSection, graphSection, costSection, settingsSection, pageFooter];
  document.documentElement.dataset.theme = theme();
  document.getElementById('page').append(...parts.map((part) => part(run)).filter((part) => part));
  applyTheme();
  redrawCharts();
}

build(JSON.parse(document.getElementById('run').textContent));
// A timer and not an animation frame: a headless browser under load may never paint one.
if (location.hash === '#selfcheck') window.addEventListener('load', () => setTimeout(selfCheck, 200));
