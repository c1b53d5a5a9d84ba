// The reader's choices: one object, which is stored in the fragment of the page's address, so that Back undoes them and
// a link shows the same view. Default values are not in the address; unknown ones are ignored.

const STATE_FIRST = Object.freeze({ view: 'flame', value: '', zoom: '', detail: 'line', layout: 'flame', order: 'calls',
  time: '', focus: '', ignore: '', hide: '', process: '', thread: '', device: '', service: '', trace: '', threads: '', merge: '', lines: '', libraries: '', idle: '', use: '', reason: '', without: '', search: '', kernel: '',
  row: '', name: '', group: 'function', sort: 'self', spans: 'span', width: '', strip: 'timeline', unfold: '', span: '' });
// FILTERS omit samples; VIEW_KEYS_OF_STATE determine how a view's frames are derived from the profile's. A change of a
// key in SPAN_ENDS changes the graph, which resets the visible part of its width.
const FILTERS = Object.freeze(['focus', 'ignore', 'hide', 'process', 'thread', 'device', 'service', 'trace']);
const VIEW_KEYS_OF_STATE = Object.freeze([...FILTERS, 'threads', 'merge', 'lines']);
const SPAN_ENDS = ['zoom', 'value', 'order', 'time', 'idle', 'libraries', ...VIEW_KEYS_OF_STATE, 'without', 'width'];

// Choices that narrow the profile; undone in this order if there is no history.
const CHOICES = ['search', 'reason', 'span', 'zoom', 'without', 'hide', 'ignore', 'focus', 'service', 'device', 'thread', 'process', 'trace', 'time']
  .filter(key => key in STATE_FIRST);

class State {
  constructor() {
    this.values = { ...STATE_FIRST, ...State.read() };
    this.listeners = [];
    window.addEventListener('popstate', () => this.take());
    window.addEventListener('hashchange', () => this.take());
  }

  static read() {
    const found = {};
    for (const [key, value] of new URLSearchParams(location.hash.slice(1)))
      if (key in STATE_FIRST)
        found[key] = value;
    return found;
  }

  get(key) { return this.values[key]; }

  // The fragment of the state with some changes.
  fragment(changes = {}) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({ ...this.values, ...changes }))
      if (value !== STATE_FIRST[key])
        parameters.set(key, value);
    const text = parameters.toString();
    return text ? `#${text}` : '';
  }

  // The number of history entries that the page has added: Back stays in the page for this many steps.
  get depth() { return (history.state && history.state.depth) || 0; }

  // A deliberate change adds an entry to the history; typing and the like replace the last one.
  set(changes, replaces = false) {
    const changed = Object.keys(changes).filter(key => String(changes[key]) !== this.values[key]);
    if (!changed.length)
      return;
    for (const key of changed)
      this.values[key] = String(changes[key]);
    if (this.values.span && !('span' in changes) && changed.some(key => SPAN_ENDS.includes(key))) {
      this.values.span = '';
      changed.push('span');
    }
    const address = `${location.pathname}${location.search}${this.fragment()}`;
    try {
      history[replaces ? 'replaceState' : 'pushState']({ depth: this.depth + (replaces ? 0 : 1) }, '', address);
    } catch {
      // Embedded pages may have no history.
    }
    this.tell(changed);
  }

  take() {
    const before = this.values;
    this.values = { ...STATE_FIRST, ...State.read() };
    const changed = Object.keys(this.values).filter(key => this.values[key] !== before[key]);
    if (changed.length)
      this.tell(changed);
  }

  // listener(changed): a Set of keys
  listen(listener) { this.listeners.push(listener); }

  tell(changed) {
    for (const listener of this.listeners)
      listener(new Set(changed));
  }
}
