// Light or dark: as the system wishes, until the reader says otherwise.

const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)');
let chosenTheme = null;

const theme = () => chosenTheme ?? (systemIsDark.matches ? 'dark' : 'light');
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Layers run from blue through violet to orange: an order the eye can follow.
function layerColor(layer, layers) {
  const hue = 212 + (layers > 1 ? layer / (layers - 1) : 0) * 175;
  return `hsl(${hue % 360}, 48%, ${color('layer-light')})`;
}

function applyTheme() {
  document.documentElement.dataset.theme = theme();
  const button = document.querySelector('.theme');
  if (button) button.textContent = theme() === 'dark' ? 'Light' : 'Dark';
}

function themeButton() {
  const button = element('button', {class: 'theme', type: 'button', 'aria-label': 'Switch between light and dark'});
  button.addEventListener('click', () => {
    chosenTheme = theme() === 'dark' ? 'light' : 'dark';
    applyTheme();
    redrawCharts();
  });
  return button;
}

systemIsDark.addEventListener('change', () => {
  applyTheme();
  redrawCharts();
});
