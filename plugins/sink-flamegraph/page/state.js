// What the reader chose: one object, which the fragment of the page's address holds, so that Back undoes and a link
// shows the same. Values that are as they were at first are not in the address; unknown ones are ignored.

const STATE_FIRST = Object.freeze({ view: 'flame', value: '', zoom: '', detail: 'line', layout: 'flame', order: 'calls',
  time: '', focus: '', ignore: '', hide: '', process: '', thread: '', device: '', service: '', trace: '', threads: '', merge: '', reason: '', without: '', search: '', kernel: '',
  row: '', name: '', group: 'function', sort: 'self', spans: 'span', width: '', strip: 'timeline', unfold: '', span: '' });
// With another graph, what is seen of its width is all.
// What leaves samples out, and what decides how the frames of a view are made from the profile's.
const FILTERS = Object.freeze(['focus', 'ignore', 'hide', 'process', 'thread', 'device', 'service', 'trace']);
const VIEW_KEYS_OF_STATE = Object.freeze([...FILTERS, 'threads', 'merge']);
const SPAN_ENDS = ['zoom', 'value', 'order', 'time', ...VIEW_KEYS_OF_STATE, 'without', 'width'];

// What a reader narrows the profile with; undone in this order where there is no history.
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

  // How many entries of the history the page has made: so far it can go back.
  get depth() { return (history.state && history.state.depth) || 0; }

  // A deliberate change is an entry of the history; typing and such replaces the last one.
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
      // Pages inside others may have no history.
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
