// What the reader can export: an image of the graph, folded stacks, a link.

function download(name, type, text) {
  const link = make('a', { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const escapeXml = text => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
  .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '\ufffd');

// The flame graph as it is shown.
function graphAsSvg(flame, title) {
  const { drawing } = flame, { pen } = drawing, { layout } = drawing.scene;
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${pen.width}" height="${pen.height + 24}" ` +
    `font-family="sans-serif" font-size="12"><title>${escapeXml(title)}</title>` +
    `<rect width="100%" height="100%" fill="${pen.app}"/><text x="6" y="16" fill="${pen.text}">${escapeXml(title)}</text>` +
    '<g transform="translate(0 24)">'];
  pen.setFont(12);
  for (const cell of layout.cells) {
    const [top, high] = drawing.span(cell);
    if (cell.isGap || top + high < 0 || top > pen.height)
      continue;
    const look = flame.look(cell), label = look.number ? `${look.number} ${look.label}` : look.label;
    const text = (look.isName ? pen.shortenName(label, cell.w - 10) : pen.shorten(label || '', cell.w - 10)), { title: name, lines } = flame.describe(cell);
    parts.push(`<g><title>${escapeXml([name, ...lines.map(line => line.join(' '))].join('\n'))}</title>` +
      `<rect x="${cell.x.toFixed(2)}" y="${top.toFixed(1)}" width="${Math.max(0.3, cell.w - 1).toFixed(2)}" ` +
      `height="${(high - 1).toFixed(1)}" fill="${look.fill}"/>` +
      (text ? `<text x="${(cell.x + 5).toFixed(2)}" y="${(top + high / 2 + 4).toFixed(1)}" fill="${look.ink}">` +
        `${escapeXml(text)}</text>` : '') + '</g>');
  }
  return `${parts.join('\n')}</g></svg>\n`;
}

// Folded stacks below a node: "a;b;c 12". Separators within names become colons.
function foldedStacks(model, { view, self }, focus) {
  const lines = [], end = focus ? view.end[focus] : view.count;
  for (let node = focus || 1; node < end; node++)
    if (self[node] > 0)
      lines.push(`${pathTo(view, node).map(at => model.frameName(view.frame[at]).replace(/[;\n]/g, ':')).join(';')} ${
        Math.round(self[node])}\n`);
  return lines.join('');
}
