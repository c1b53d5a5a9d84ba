// Search patterns: text, or a regular expression between slashes. The browser's own engine backtracks: some
// expressions, which may come from a link, would keep it busy forever. Here all possible states are followed at once,
// so that each character of a name costs at most one step for each part of the expression.

const EXPRESSION_STATES = 256, EXPRESSION_STEPS = 20000; // parts of an expression; cached steps
const Edge = Object.freeze({ NONE: 0, WORD: 1, OTHER: 2 }); // the neighbouring character at a position

const edgeOf = character => !character ? Edge.NONE : /\w/.test(character) ? Edge.WORD : Edge.OTHER;

const ASSERTIONS = Object.freeze({ '^': before => before === Edge.NONE, $: (_, after) => after === Edge.NONE,
  '\\b': (before, after) => (before === Edge.WORD) !== (after === Edge.WORD),
  '\\B': (before, after) => (before === Edge.WORD) === (after === Edge.WORD) });

// null: invalid, too large, or with lookaround or back-references
function expressionOf(text) {
  if (!text)
    return null;
  const written = text.match(/^\/(.*)\/(i?)$/);
  try {
    if (!written)
      return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu');
    const native = new RegExp(written[1], `${written[2]}u`);
    return /[*+?{|(]/.test(written[1].replace(/\\./gu, '')) ? new Expression(written[1], `${written[2]}u`) : native;
  } catch {
    return null;
  }
}

class Expression {
  constructor(text, flags) {
    Object.assign(this, { text, flags, at: 0, states: [], steps: 0, places: new Map() });
    const parsed = this.alternatives();
    this.end = this.add({});
    this.begin = this.compile(parsed, this.end);
  }

  // The browser's parser has accepted the text, so it is well-formed.
  alternatives() {
    const choices = [[]];
    for (; this.at < this.text.length && this.text[this.at] !== ')';) {
      if (this.text[this.at] === '|') {
        this.at++;
        choices.push([]);
      } else {
        choices[choices.length - 1].push(this.repeated(this.atom()));
      }
    }
    return { choices };
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    this.at += found ? found[0].length : 0;
    return found;
  }

  atom() {
    if (this.take(/\((?:\?:|\?<\w+>|(?!\?))/uy)) {
      const group = this.alternatives();
      this.at++;
      return group;
    }
    const assertion = this.take(/\^|\$|\\[bB]/uy);
    if (assertion)
      return { assertion: ASSERTIONS[assertion[0]] };
    const character = this.take(/\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|[^\dku]|0)|[^\\(]/iuy);
    if (!character)
      throw new SyntaxError('not supported');
    return { test: new RegExp(`^${character[0]}$`, this.flags), known: new Map() };
  }

  repeated(part) {
    const found = this.take(/([*+?]|\{(\d+)(,?)(\d*)\})\??/uy);
    if (!found)
      return part;
    const [, sign, least, comma, most] = found;
    const [from, to] = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[sign] ||
      [Number(least), most ? Number(most) : comma ? Infinity : Number(least)];
    return { part, from, to };
  }

  add(state) {
    if (this.states.length === EXPRESSION_STATES)
      throw new RangeError('too large');
    this.states.push(state);
    return this.states.length - 1;
  }

  // -> the first state of a part, which continues with the state next
  compile(node, next) {
    if (node.choices)
      return this.add({ to: node.choices.map(list => list.reduceRight((after, part) => this.compile(part, after), next)) });
    if (!node.part)
      return this.add({ ...node, next });
    let begin = next;
    if (node.to === Infinity) {
      begin = this.add({ to: [next] });
      this.states[begin].to.push(this.compile(node.part, begin));
    }
    for (let i = node.from; i < node.to && node.to < Infinity; i++)
      begin = this.add({ to: [next, this.compile(node.part, begin)] });
    for (let i = 0; i < node.from; i++)
      begin = this.compile(node.part, begin);
    return begin;
  }

  // A position in a text: the possible states, and the character before it.
  place(states, before) {
    const key = `${before} ${states}`;
    if (!this.places.has(key))
      this.places.set(key, { states, before, next: new Map() });
    return this.places.get(key);
  }

  // -> true: the text matches; false: it ends; otherwise the next position
  step({ states, before }, character) {
    const seen = new Set([...states, this.begin]), after = edgeOf(character), found = new Set();
    for (const at of seen) {
      const { to, assertion, test, known, next } = this.states[at];
      if (at === this.end)
        return true;
      if (to)
        to.forEach(other => seen.add(other));
      else if (assertion && assertion(before, after))
        seen.add(next);
      else if (test && character) {
        if (!known.has(character))
          known.set(character, test.test(character));
        if (known.get(character))
          found.add(next);
      }
    }
    return character !== '' && this.place([...found].sort((a, b) => a - b), after);
  }

  test(text) {
    if (this.steps > EXPRESSION_STEPS) {
      this.places.clear();
      this.steps = 0;
    }
    let place = this.place([], Edge.NONE);
    for (const character of text)
      if ((place = this.after(place, character)) === true)
        return true;
    return this.after(place, '');
  }

  after(place, character) {
    let next = place.next.get(character);
    if (next === undefined) {
      place.next.set(character, next = this.step(place, character));
      this.steps++;
    }
    return next;
  }
}
