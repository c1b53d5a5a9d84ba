// Tables that a source sent in final form (plugins/sink-flamegraph/page_tables.h): phases of a run, and users of a
// device.

// -> a section for each table, the names of its rows first
function sourceTables(tables) {
  return tables.map(([titles, ...rows], i) => {
    const heading = `npu-table-${i}`, table = make('table', { className: 'of-source' });
    const name = titles[titles.length - 1];
    const section = make('section', {}, make('h2', { id: heading, textContent: `By ${name}` }), table);
    table.setAttribute('aria-labelledby', heading);
    const inOrder = cells => [cells[cells.length - 1], ...cells.slice(0, -1)];
    fillTable(table, inOrder(titles).map(capitalized), rows.map(cells => inOrder(cells).map(pageNumber)));
    return section;
  });
}

function capitalized(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

// As the page writes numbers: "12.3 µs", "1,234", "5.67 %".
function pageNumber(text) {
  if (/^\d+$/.test(text))
    return grouped(Number(text));
  return text.replace(/^([<\d.]+) ?(ns|us|ms|s|%|[KMGT]?i?B)$/, (_, number, unit) => `${number}\u202f${unit.replace('us', 'µs')}`);
}
