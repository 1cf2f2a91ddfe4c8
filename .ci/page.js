// What is wrong with the status page as the browser shows it: a list of sentences. Evaluated by .ci/page.
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
  const told = (element) => `<${element.tagName.toLowerCase()}> "${element.textContent.trim().slice(0, 40)}"`;

  // Nothing of the provider became markup.
  if (document.scripts.length) wrong.push('there is a script');
  if (all('img:not(.chart > [src^="data:image/png;base64,"]), iframe, object, embed').length) wrong.push('there is another image than the chart, a frame or an object');
  for (const image of all('img')) if (!image.naturalWidth || !image.alt) wrong.push('the chart is not shown, or has no words');
  if (all('*').some((e) => [...e.attributes].some((a) => a.name.startsWith('on') || a.name === 'style')))
    wrong.push('an element has a handler or a style of its own');
  if (window.hacked) wrong.push('a name was carried out');

  // Nothing is wider than the window; wide tables scroll within their own frame.
  const wide = document.scrollingElement.scrollWidth;
  if (wide > window.innerWidth) {
    const guilty = all('body *').filter((e) => seen(e) && !e.closest('.scroll') && e.getBoundingClientRect().right > window.innerWidth + 0.5);
    wrong.push(`the page is ${wide} wide in a window of ${window.innerWidth}: ${guilty.slice(-3).map(told)}`);
  }
  // Text that is cut off at the edge of its box cannot be read.
  for (const e of all('h1, h2, h3, p, dt, dd, li, a, td, th'))
    if (seen(e) && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline' && !e.querySelector('.scroll'))
      wrong.push(`${told(e)} is wider than its box`);

  // Contrast, whatever the size.
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    Object.assign(canvas, { fillStyle: colour, globalCompositeOperation: 'copy' }).fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !seen(element)) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const paper = behind(element);
    const found = ratio(over(rgba(style.color), paper), paper);
    if (found < 4.5) wrong.push(`${told(element)} has a contrast of ${found.toFixed(2)}`);
  }
  if (texts < 20) wrong.push(`only ${texts} texts were found`);

  // What a screen reader goes by, beside what axe-core finds (the language, labels, headings, landmarks, what scrolls by keyboard).
  if (all('meta[http-equiv=refresh]').length && !all('a[href*="refresh=0"]').length) wrong.push('the refresh cannot be stopped');
  for (const table of all('table')) {
    if (!table.closest('[aria-labelledby], [aria-label]')) wrong.push(`${told(table)} has no name`);
    const columns = table.querySelectorAll('thead th[scope=col]').length;
    if (!columns || columns !== table.tHead.rows[0].cells.length) wrong.push(`${told(table)} has no real column headers`);
    for (const row of table.tBodies[0].rows)
      if (row.cells.length !== columns || !row.querySelector('th[scope=row]')) wrong.push(`${told(row)} has no row header, or not ${columns} cells`);
  }
  for (const e of all('a[href^="#"]')) if (!document.getElementById(e.getAttribute('href').slice(1))) wrong.push(`${told(e)} refers to nothing`);
  const ids = all('[id]').map((e) => e.id);
  if (new Set(ids).size < ids.length) wrong.push('an id is there twice');
  // Colour never stands alone: where it means something there is a sign or a word of it.
  for (const tag of all('.tag, .states a, header .sign')) if (!/[✕?!✓…○●]/.test(tag.textContent)) wrong.push(`${told(tag)} has a colour and no sign`);
  return wrong;
})()
