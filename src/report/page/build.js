// What every page has: its sections one below the other, each left out if it gives null.

function pageFooter() {
  return element('footer', {}, `This file needs nothing else: data, style and charts (Chart.js ${Chart.version}, MIT licence) are inside.`);
}

function buildPage(run, parts) {
  document.documentElement.dataset.theme = theme();
  document.getElementById('page').append(...parts.map((part) => part(run)).filter((part) => part));
  applyTheme();
  redrawCharts();
  // A timer and not an animation frame: a headless browser under load may never paint one.
  if (location.hash === '#selfcheck') window.addEventListener('load', () => setTimeout(selfCheck, 200));
}
