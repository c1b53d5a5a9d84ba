// The overview: what is shown is in the fragment of the address, so that Back from a flame graph finds the selection.

const element = name => document.getElementById(name);

const FIRST = Object.freeze({ span: '3600000', until: '', metric: '0', group: '1', from: '', to: '', diff_from: '', diff_to: '', row: '' });
// Time slots of a span, which are whole minutes or parts of them.
const SLOTS = Object.freeze({ 900000: 60, 3600000: 60, 21600000: 120, 86400000: 144, 604800000: 168 });
const REFRESH = 15000; // ms

const METRIC_NAMES = Object.freeze({ cpu: 'CPU time', 'off-cpu': 'Waiting time', 'gpu-stalls': 'GPU stalls' });

class Overview {
  constructor() {
    this.values = { ...FIRST };
    this.read();
    this.request = 0;
    this.metrics = [];
    applyTheme(storedTheme());
    this.heatmap = new Heatmap(element('heatmap'), this);
    this.listen();
    this.load();
  }

  read() {
    const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    for (const key of Object.keys(FIRST))
      this.values[key] = key in found && (key === 'row' || /^\d{0,13}$/.test(found[key])) ? found[key] : FIRST[key];
    if (!(this.values.span in SLOTS))
      this.values.span = FIRST.span;
  }

  set(changes) {
    Object.assign(this.values, changes);
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(this.values))
      if (value !== FIRST[key])
        parameters.set(key, value);
    const text = parameters.toString();
    history.replaceState(null, '', text ? `#${text}` : location.pathname);
  }

  get slots() { return SLOTS[this.values.span]; }
  get span() { return Number(this.values.span); }
  get slot() { return this.span / this.slots; }

  // The end of what is shown: a multiple of the slot, so that cells stay the same from one request to the next.
  get until() {
    return Math.ceil((Number(this.values.until) || Date.now()) / this.slot) * this.slot;
  }

  async load() {
    const number = ++this.request, to = this.until;
    clearTimeout(this.timer);
    const query = new URLSearchParams({ from: to - this.span, to, slots: this.slots, metric: this.values.metric,
      group: this.values.group });
    let data = null, wrong = '';
    try {
      const answer = await fetch(`overview.json?${query}`);
      if (answer.ok)
        data = await answer.json();
      else
        wrong = await answer.text();
    } catch {
      wrong = 'iaprof-web does not answer';
    }
    if (number !== this.request)
      return;
    if (!data) {
      this.empty('No data', wrong);
      this.timer = setTimeout(() => this.load(), REFRESH);
      return;
    }
    // A ring that is not written to ends in the past.
    if (!this.values.until && data.end && data.end < data.from) {
      this.set({ until: String(data.end) });
      this.load();
      return;
    }
    this.take(data);
    this.timer = setTimeout(() => this.load(), data.unread ? 0 : this.values.until ? REFRESH * 4 : REFRESH);
  }

  take(data) {
    this.data = data;
    this.listMetrics(data.metrics);
    element('facts').textContent = data.segments ? `${data.host} · ${dayText(data.begin)} ${clockText(data.begin)} to ${
      dayText(data.end)} ${clockText(data.end)}` : data.host;
    document.title = `${data.host}: last hours`;
    element('state').textContent = [
      data.unread ? `Reading ${manyText(data.unread, 'interval')}` : manyText(data.segments, 'interval'),
      data.damaged ? `${manyText(data.damaged, 'damaged interval')}` : '',
      data.omitted ? `${manyText(data.omitted, 'older interval')} not shown` : ''].filter(Boolean).join(' · ');
    element('state').dataset.unread = data.unread;
    if (!data.segments)
      this.empty('No data', `${data.folder} has no intervals (start iaprof --continuous)`);
    else
      element('empty').hidden = true;
    this.show();
  }

  listMetrics(metrics) {
    const texts = metrics.map(({ name }) => METRIC_NAMES[name] || name);
    if (texts.join() !== this.metrics.map(({ name }) => METRIC_NAMES[name] || name).join())
      element('metric').replaceChildren(...texts.map((text, value) => make('option', { textContent: text, value: String(value) })));
    this.metrics = metrics;
    element('metric').value = this.values.metric;
  }

  empty(title, text) {
    element('empty').replaceChildren(make('h3', { textContent: title }), make('p', { textContent: text }));
    element('empty').hidden = false;
  }

  rangeOf(from, to) {
    const range = { from: Number(this.values[from]), to: Number(this.values[to]) };
    return range.from < range.to ? range : null;
  }
  get range() { return this.rangeOf('from', 'to'); }
  get baseline() { return this.rangeOf('diff_from', 'diff_to'); }

  show() {
    const { range, baseline } = this;
    for (const name of ['span', 'group'])
      for (const button of document.querySelectorAll(`#${name} button`))
        button.setAttribute('aria-pressed', String(button.dataset.value === this.values[name]));
    element('latest').disabled = !this.values.until;
    element('selected').textContent = [range ? `Selected ${this.rangeText(range)}` : '',
      baseline ? `Baseline ${this.rangeText(baseline)}` : ''].filter(Boolean).join(' · ') || 'No range selected';
    element('clear').hidden = !range && !baseline;
    this.link('open', range, null);
    this.link('compare', range && baseline ? range : null, baseline);
    if (this.data)
      this.heatmap.show(this.data, range, baseline, this.values.row);
  }

  link(name, range, baseline) {
    element(name).hidden = !range;
    if (!range)
      return;
    const query = new URLSearchParams({ from: Math.floor(range.from), to: Math.ceil(range.to), ...(baseline ?
      { diff_from: Math.floor(baseline.from), diff_to: Math.ceil(baseline.to) } : {}) });
    element(name).href = `flamegraph?${query}${this.filter()}`;
  }

  // The fragment of a flame graph that shows the chosen program, device or service.
  filter() {
    const { row, group } = this.values;
    if (!row || row.startsWith('('))
      return '';
    return `#${new URLSearchParams(group === '2' ? { device: row } : group === '3' ? { service: row } : { focus: `/^${row.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$/` })}`;
  }

  rangeText({ from, to }) {
    const seconds = (to - from) / 1e3;
    const length = seconds < 120 ? `${three(seconds)} s` : seconds < 7200 ? `${three(seconds / 60)} min` : `${three(seconds / 3600)} h`;
    return `${clockText(from)} to ${clockText(to)} (${length})`;
  }

  // A value per second: CPU time as the number of CPUs.
  rateText(rate) {
    const { name, unit } = this.metrics[Number(this.values.metric)] || {};
    if (unit !== 'nanoseconds')
      return `${countText(rate)} per second`;
    return name === 'cpu' ? `${three(rate / 1e9)} CPUs` : `${three(rate / 1e9)} s per second`;
  }

  // For heatmap.js
  select(range, isBaseline) {
    this.set(isBaseline ? { diff_from: String(range.from), diff_to: String(range.to) } : { from: String(range.from), to: String(range.to) });
    this.show();
  }

  choose(row) {
    this.set({ row: row && row.name !== this.values.row ? row.name : '' });
    this.show();
  }

  point(place) {
    const { heatmap, data } = this, output = element('pointed');
    output.textContent = '';
    if (!place || !data)
      return;
    const range = heatmap.rangeOf(place.slot, place.slot), total = heatmap.rate(data.total, place.slot);
    const own = place.row && heatmap.rate(place.row.values, place.slot);
    output.textContent = total === null ? `${clockText(range.from)}: no data` : `${clockText(range.from)}: ${
      place.row ? `${place.row.name} ${this.rateText(own)}, ` : ''}total ${this.rateText(total)}`;
  }

  open() {
    if (!element('open').hidden)
      element(element('compare').hidden ? 'open' : 'compare').click();
  }

  clear() {
    this.set({ from: '', to: '', diff_from: '', diff_to: '', row: '' });
    this.show();
  }

  move(direction) {
    const until = this.until + direction * this.span / 2;
    this.set({ until: until >= Date.now() ? '' : String(until) });
    this.load();
  }

  listen() {
    const on = (name, handle) => element(name).addEventListener('click', handle);
    for (const name of ['span', 'group'])
      for (const button of document.querySelectorAll(`#${name} button`))
        button.addEventListener('click', () => {
          this.set({ [name]: button.dataset.value, ...(name === 'group' ? { row: '' } : {}) });
          this.load();
        });
    element('metric').addEventListener('change', () => {
      this.set({ metric: element('metric').value });
      this.load();
    });
    on('earlier', () => this.move(-1));
    on('later', () => this.move(1));
    on('latest', () => {
      this.set({ until: '' });
      this.load();
    });
    on('clear', () => this.clear());
    for (const name of ['open', 'compare'])
      on(name, () => { element('state').textContent = 'Making the flame graph'; });
    on('theme', () => {
      storeTheme(isDark() ? 'light' : 'dark');
      applyTheme(storedTheme() || (isDark() ? 'light' : 'dark'));
      this.heatmap.draw();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      applyTheme(storedTheme());
      this.heatmap.draw();
    });
    window.addEventListener('hashchange', () => {
      this.read();
      this.load();
    });
  }
}

window.overview = new Overview();
