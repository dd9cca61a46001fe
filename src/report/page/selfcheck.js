// With #selfcheck in the address, the page examines itself and leaves the findings on <html>, where
// the browser test reads them: how many pixels the data of each chart has changed, and what failed.

function pixels(entry, withData) {
  showDatasets = withData;
  entry.chart.draw();
  const {width, height} = entry.canvas;
  return new Uint32Array(entry.canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
}

function pixelsOfData(entry) {
  const empty = pixels(entry, false), full = pixels(entry, true);
  return full.reduce((changed, pixel, i) => changed + (pixel !== empty[i] ? 1 : 0), 0);
}

function selfCheck() {
  const charts = drawn.map((entry) => `${entry.id}:${pixelsOfData(entry)}`);
  const root = document.documentElement;
  root.dataset.charts = charts.join(' ');
  root.dataset.overflow = Math.max(0, root.scrollWidth - root.clientWidth);
  root.dataset.problems = problems.join(' | ');
  root.dataset.selfcheck = 'done';
}
