// The panel beside the flame graph: an answer in one sentence, what leads to it, and how good the data are. Each item
// opens the view that proves it. Sentences and labels are those of lib/stacks/profile_summary_text.c, which ends a run in
// the terminal: a test compares them.

const SEVERITIES = Object.freeze({ 1: 'note', 2: 'warning', 3: 'problem' });

const FINDINGS_SHOWN = 12;

const IDLE_DOMINATES = 0.5; // of the time from the first execution to the last
const UNKNOWN_IDLE = 0.9; // of idle time
const COPIES_SHOWN = 6, COPY_SHARE = 0.001;
// See lib/stacks/profile_summary_text.c.
const RANKS_SHOWN = 8, WAITS_FOR_RANK = 0.05;

// Fills a row: a name, a bar whose length is the value's part of the longest one's, and the value's share of the whole.
function barRow(row, name, bar, { value, longest, whole }) {
  bar.style.width = `${100 * value / longest}%`;
  row.append(name, make('span', {}, bar), make('span', { textContent: shareText(value, whole) }));
  return row;
}

class Summary {
  constructor(app) {
    this.app = app;
    this.panel = element('panel');
  }

  show() {
    const { model } = this.app;
    this.panel.replaceChildren();
    if (this.app.compare) {
      this.panel.append(...this.app.compare.sections());
      return;
    }
    if (model.isDevice) {
      this.analysis = model.analysis;
      this.panel.append(this.answer(), ...this.copies(), ...this.why(), ...this.narrow(), ...this.ranks(), ...this.classes(),
        ...(this.analysis.sorted.length ? [this.kernels()] : []));
    } else {
      this.panel.append(...this.programSections(), ...(model.isWait ? [] : [this.hottest()]));
    }
    this.panel.append(...this.findings(), this.quality());
  }

  section(title, note, ...children) {
    return make('section', {}, title && make('h2', { textContent: title }, make('span', { textContent: note || '' })),
      ...children.filter(Boolean));
  }

  // "attention_fwd, attention.cl:87"
  causePlace({ line }) { return line ? `, ${baseName(line.file)}:${line.line}` : ''; }

  // A device that is idle most of the time comes first: nothing in its kernels takes longer.
  answer() {
    const { analysis: { whole }, app: { model } } = this, { idle } = model;
    const section = make('section', {}), lead = make('p', { className: 'lead' }), say = make('p', { className: 'say' });
    section.append(lead, say);
    if (!(idle > 0)) {
      this.appendStall(lead, say);
      return section;
    }
    const { device } = model.types[model.type], share = shareText(idle, idle + whole);
    const length = `the ${timeText(idle + whole)} from its first execution to its last.${this.idleText(idle)}`;
    if (idle < IDLE_DOMINATES * (idle + whole)) {
      this.appendStall(lead, say);
      section.append(make('p', { id: 'idle', className: 'say', textContent: `The ${device} was idle ${share} of ${length}` }));
      return section;
    }
    lead.append(make('em', { textContent: share }), ` of the time, the ${device} was idle`);
    say.id = 'idle';
    say.append(`Of ${length}`);
    const stall = make('p', { className: 'say' }), where = make('span');
    this.appendStall(stall, where);
    stall.append(' ', where);
    section.append(stall);
    return section;
  }

  appendStall(lead, say) {
    const { analysis, app: { model } } = this, { top, whole, longest } = analysis;
    if (!(whole > 0)) {
      lead.append(`No ${model.typeLabel()}`);
      say.append(`${model.range ? 'The selected time has none' : 'No device was sampled'}${model.shareOf.startsWith('the ')
        ? ' that the filters keep' : ''}.`);
      return;
    }
    if (longest) {
      lead.append(make('em', { textContent: shareText(longest.total, whole) }), ` of ${model.shareOf} is in one kernel`);
      say.append(make('b', { textContent: shortName(longest.name), title: longest.name }), '. What kernels waited for was not sampled.');
      return;
    }
    if (!top) {
      lead.append('No single bottleneck');
      const three = analysis.causes.slice(0, 3);
      say.append(three.length ? 'The largest stalls: ' : 'Nothing stalls.');
      three.forEach((cause, i) => say.append(i ? '; ' : '', make('b', { textContent: shortName(cause.kernel.name), title: cause.kernel.name }),
        `${this.causePlace(cause)} (${REASONS[cause.slot].label}, ${shareText(cause.value, whole)})`));
      say.append(three.length ? '.' : '');
      return;
    }
    const producer = this.producer(top), reason = REASONS[top.slot];
    lead.append(make('em', { textContent: shareText(top.value, whole) }), ` of ${model.shareOf} ${model.verb(reason.phrase)}`);
    say.append('in ', make('b', { textContent: shortName(top.kernel.name), title: top.kernel.name }), this.causePlace(top), producer
      ? `, until the ${producer.noun}${producer.line && (!top.line || producer.line !== top.line.line)
        ? ` in line ${producer.line}` : ''} completes.` : reason.ends ? `, until ${reason.ends}.` : '.');
    const all = model.tree.selves[model.type].reduce((sum, value) => sum + value, 0);
    if (model.shareOf.startsWith('the '))
      say.append(` That is ${shareText(top.value, all)} of all ${model.typeLabel()}.`);
  }

  idleText(idle) {
    const { idleReasons } = this.app.model, [most] = idleReasons;
    const reasons = idleReasons.slice(0, 4).map(([name, value]) => `${name} ${shareText(value, idle)}`);
    if (most && most[0] === '[not sampled]' && most[1] >= UNKNOWN_IDLE * idle)
      return ' Sources cpu-stack and off-cpu record what the launching threads did meanwhile.';
    return reasons.length ? ` What the launching threads did meanwhile: ${reasons.join(', ')}.` : '';
  }

  // What was copied beside kernels and before them, as shares of the run.
  copies() {
    const { app: { model } } = this, { copies } = model, whole = model.header.nanoseconds;
    const long = copies.slice(0, COPIES_SHOWN).filter(({ total }) => total >= COPY_SHARE * whole);
    if (!long.length)
      return [];
    const parts = long.map(({ name, total, bytes }) =>
      `${name.replace(/^\[(copy )?|\]$/g, '')} ${sizeText(bytes)} in ${timeText(total)} (${shareText(total, whole)} of the run)`);
    const shown = [make('p', { id: 'copies', className: 'say', textContent: `Copies: ${parts.join(', ')}.` })];
    const slow = copies.find(({ name, total }) => /^\[copy (host to device|device to host) \(pageable\)\]$/.test(name) && total >= DOMINATES * whole);
    if (slow) {
      const { view } = this.analysis, place = slow.site ? model.placeOf(view.frame[slow.site]) : '';
      shown.push(make('p', { className: 'say', textContent: `Copies of pageable host memory take ${shareText(slow.total, whole)} of the run.${
        slow.site ? ` Launch site: ${model.nameOf(view, slow.site)}${place ? `, ${place}` : ''}.` : ''}` }),
      make('p', { className: 'say', textContent: 'What to try: pin the host memory (in PyTorch, pin_memory() and non_blocking=True).' }));
    }
    return [this.section('', '', ...shown)];
  }

  // Kernels that use little of the device.
  narrow() {
    const { analysis, app: { model } } = this, { narrow, whole } = analysis;
    if (!narrow.length)
      return [];
    const rows = narrow.map(kernel => {
      const button = make('button', { type: 'button', title: kernel.name }, nameWithEnd('b', kernel.name), make('i', { textContent: shareText(kernel.total, whole) }),
        make('small', { textContent: `uses ${useText(kernel.use)} as much` }));
      button.addEventListener('click', () => this.app.zoomTo(analysis.view, kernel.nodes.reduce((a, b) =>
        (analysis.values.total[b] > analysis.values.total[a] ? b : a))));
      const item = make('li', {}, button);
      item.style.setProperty('--c', 'var(--frame-gpu)');
      return item;
    });
    return [this.section(`Uses little of the ${model.types[model.type].device}`, '', make('ul', { className: 'chain', id: 'narrow' }, ...rows),
      make('p', { className: 'say' }, 'Compared with ', make('b', { textContent: shortName(analysis.fullest.name, 32), title: analysis.fullest.name }),
        ', by samples per time. Try a larger grid, batching, or other kernels beside it.'))];
  }

  // Those that spend more time in collectives than another rank wait for it there, if all do as much else.
  ranks() {
    const { ranks } = this.analysis, least = ranks[ranks.length - 1];
    if (!ranks.length)
      return [];
    const longest = Math.max(...ranks.map(({ total, collective }) => collective / total));
    const rows = ranks.slice(0, RANKS_SHOWN - 1).concat(ranks.slice(RANKS_SHOWN - 1).slice(-1)).map(({ name, total, collective }) => {
      const bar = make('span', { className: 'mix' }, make('i', {}));
      bar.firstChild.style.cssText = 'flex:1;background:var(--frame-gpu)';
      return barRow(make('div', { className: 'krow', title: name }), make('span', { textContent: name }), bar,
        { value: collective / total, longest, whole: 1 });
    });
    const waits = ranks[0].collective / ranks[0].total - least.collective / least.total >= WAITS_FOR_RANK;
    return [this.section('Time in collectives by rank', 'of its GPU time', ...rows,
      waits && make('p', { className: 'say', textContent: `The others probably wait for ${least.name}, which spends least there.` }))];
  }

  producer(cause) { return this.app.code ? this.app.code.producerOf(cause) : null; }

  why() {
    const { analysis, app } = this, { top, whole, values } = analysis, kernel = top ? top.kernel : analysis.longest;
    if (!kernel)
      return [];
    const rows = [];
    const add = (colour, name, sub, value, open, isCode) => {
      const button = make('button', { type: 'button', title: name }, isCode ? make('code', { textContent: name }) : nameWithEnd('b', name),
        make('i', { textContent: value ? shareText(value, whole) : '' }), make('small', { textContent: sub }));
      button.addEventListener('click', open);
      const item = make('li', {}, button);
      item.style.setProperty('--c', colour);
      rows.push(item);
    };
    const site = analysis.launchSite(kernel);
    if (site) {
      const frame = analysis.view.frame[site], place = app.model.placeOf(frame);
      add(`var(--frame-${groupOf(app.model.frames, frame)})`, app.model.nameOf(analysis.view, site),
        `Launch site${place ? `, ${place}` : ''}`, analysis.totalOfFrame(site),
        () => app.zoomTo(analysis.view, site));
    }
    const heaviest = kernel.nodes.reduce((a, b) => (values.total[b] > values.total[a] ? b : a));
    add('var(--frame-gpu)', kernel.name, 'GPU kernel', kernel.total, () => app.zoomTo(analysis.view, heaviest));
    const kernelClass = app.model.frames.classes[analysis.view.frame[heaviest]];
    if (!top)
      return this.chain(rows, remedyOfClass(kernelClass));
    if (top.line) {
      const text = app.model.sourceText(top.line.file, top.line.line);
      add('var(--frame-line)', text || `line ${top.line.line}`, `Hottest line, ${baseName(top.line.file)}:${top.line.line}`,
        top.line.total, () => app.openCode({ kernel: top.kernel.name, file: top.line.file, line: top.line.line }), Boolean(text));
    }
    add(`var(--reason-${top.slot})`, REASONS[top.slot].label, `Stall reason (${analysis.hardwareName(top)})`, top.value,
      () => app.state.set({ reason: String(top.slot), view: 'flame' }));
    const producer = this.producer(top);
    if (producer)
      add('var(--frame-instruction)', producer.text, `Producer${producer.place ? `, ${producer.place}` : ''}`, 0,
        () => app.openCode({ kernel: top.kernel.name, row: producer.offset }), true);
    return this.chain(rows, remedyOf(top.slot, kernelClass));
  }

  chain(rows, remedy) {
    return [this.section('Why', '', make('ul', { className: 'chain' }, ...rows)),
      ...(remedy ? [this.section('What to try', '', make('p', { className: 'say', textContent: remedy }))] : [])];
  }

  classes() {
    const { whole, classes } = this.analysis, longest = Math.max(...classes.map(({ total }) => total));
    const rows = classes.map(({ name, total, mix }) => barRow(make('div', { className: 'krow' }),
      make('span', { textContent: name }), mixBar(mix, total), { value: total, longest, whole }));
    return classes.length ? [this.section(`${this.byLabel()} by class`, 'stall reasons', ...rows)] : [];
  }

  byLabel() {
    const { model } = this.app;
    return `${model.shareOf.startsWith('the ') ? 'Filtered ' : ''}${model.typeLabel()}`;
  }

  kernels() {
    const { analysis, app } = this, { sorted, whole } = analysis;
    const longest = sorted.length ? sorted[0].total : 0;
    const rows = sorted.slice(0, 8).map(kernel => {
      const button = barRow(make('button', { type: 'button', className: 'krow', title: kernel.name }),
        nameWithEnd('span', kernel.name), mixBar(kernel.mix, kernel.total), { value: kernel.total, longest, whole });
      button.addEventListener('click', () => app.openCode({ kernel: kernel.name }));
      return button;
    });
    return this.section(`${this.byLabel()} by kernel`, sorted.length > 8 ? `${sorted.length} kernels` : 'stall reasons', ...rows);
  }

  // CPU time or waits: the function of the program to look at, and what is spent there.
  programSections() {
    const { model } = this.app, answer = model.programAnswer;
    const lead = make('p', { className: 'lead' }), say = make('p', { className: 'say' }), section = make('section', {}, lead, say);
    if (!(answer.value > 0) && !(answer.idle > 0)) {
      lead.append(`No ${model.typeLabel()}`);
      return [section];
    }
    if (answer.isWait)
      this.appendWaits(answer, lead, say);
    else
      this.appendTime(answer, lead, say);
    const label = model.typeTitle();
    return [section, ...(answer.isWait ? [] : [this.siteChain(answer), this.partRows('Where it goes', answer.below, answer.value)]),
      answer.isWait && this.partRows(`${label} by reason`, answer.reasons, answer.value),
      answer.hasPrograms && this.partRows(`${label} by program`, answer.programs, answer.value),
      this.siteRows(`${label} by function of the program`, answer), answer.idle > 0 && this.idleWaits(answer)].filter(Boolean);
  }

  appendTime(answer, lead, say) {
    const { model } = this.app, { top, isFunction } = answer;
    const value = isFunction ? top.value : answer.programs[0].value;
    lead.append(make('em', { textContent: shareText(value, answer.value) }), ` of ${model.shareOf} ${model.unit === 'count' ? 'are' : 'is'} in`);
    this.appendPlace(answer, isFunction ? top : { name: '', program: answer.programs[0].name }, say);
    say.append('.');
  }

  appendWaits(answer, lead, say) {
    const { model } = this.app, { reasons: [reason], value, idle, topWait } = answer;
    if (answer.isMostlyIdle) {
      lead.append(make('em', { textContent: shareText(idle, idle + value) }), ` of ${model.shareOf} is idle: event loops and pools without work.`);
      if (!reason)
        return;
      say.append(`Of the rest, ${shareText(reason.value, value)} is for ${reason.name || 'unknown events'}`);
    } else {
      lead.append(make('em', { textContent: shareText(reason.value, value) }), ` of ${model.shareOf} is for ${reason.name || 'unknown events'},`);
    }
    const isMost = topWait >= MOST * reason.value;
    say.append(`${answer.isMostlyIdle ? ', ' : ''}${isMost ? 'most in ' : `${shareText(topWait, reason.value)} of it in `}`);
    this.appendPlace(answer, answer.top, say);
    say.append('.');
  }

  // "parse, parser.py:41", or a program's name
  appendPlace(answer, site, say) {
    const place = site.name ? answer.placeOf(answer.hottestLine(site)) : '', name = site.name || site.program;
    say.append(make('b', { textContent: shortName(name), title: name }), place ? `, ${place}` : '');
  }

  // The program, the function and its hottest line.
  siteChain(answer) {
    const { app } = this, { top, tree, frames } = answer, rows = [];
    if (!answer.isFunction)
      return null;
    const add = (group, name, sub, value, open, isCode) => {
      const button = make('button', { type: 'button', title: name }, isCode ? make('code', { textContent: name }) : nameWithEnd('b', name),
        make('i', { textContent: shareText(value, answer.value) }), make('small', { textContent: sub }));
      button.addEventListener('click', open);
      const item = make('li', {}, button);
      item.style.setProperty('--c', `var(--frame-${group})`);
      rows.push(item);
    };
    const hottest = answer.hottestLine(top), frame = tree.frame[hottest.node], file = frames.files[frame];
    if (answer.hasPrograms) {
      const program = answer.programs.find(({ name }) => name === top.program);
      add('process', top.program, 'Program', program.value, () => app.zoomToProfile(pathTo(tree, hottest.node)[0]));
    }
    add(groupOf(frames, frame), top.name, `Function of the program, ${answer.placeOf(hottest)}`, top.value, () => app.zoomToProfile(hottest.node));
    if (file && hottest.line && hottest.value < top.value) {
      const text = app.model.sourceText(file, hottest.line);
      add('line', text || `line ${hottest.line}`, `Hottest line, ${baseName(file)}:${hottest.line}`, hottest.value,
        () => app.openCode({ kernel: top.name, file, line: hottest.line }), Boolean(text));
    }
    return this.section('Why', '', make('ul', { className: 'chain', id: 'why' }, ...rows));
  }

  partRows(title, parts, whole) {
    const shown = shownParts(parts, whole), longest = shown.length ? shown[0].value : 0;
    return this.section(title, '', ...shown.map(({ name, value }) => barRow(make('div', { className: 'krow', title: name }),
      nameWithEnd('span', name || 'its own code'), this.plainBar('gpu'), { value, longest, whole })));
  }

  plainBar(group) {
    const bar = make('span', { className: 'mix' }, make('i', {}));
    bar.firstChild.style.cssText = `width:100%;background:var(--frame-${group})`;
    return bar;
  }

  siteRows(title, answer) {
    const shown = answer.sites.filter(({ name, value }) => name && value >= PART_SHARE * answer.value).slice(0, SITES_SHOWN);
    const longest = shown.length ? shown[0].value : 0;
    return shown.length && this.section(title, '', ...shown.map(site => {
      const { node } = answer.hottestLine(site), button = barRow(make('button', { type: 'button', className: 'krow',
        title: `${site.name}, ${answer.placeOf({ node })}` }), nameWithEnd('span', site.name), this.plainBar('linux'), { value: site.value, longest, whole: answer.value });
      button.addEventListener('click', () => this.app.zoomToProfile(node));
      return button;
    }));
  }

  idleWaits({ idle, value }) {
    return this.section('', '', make('p', { id: 'idle', className: 'say', textContent:
      `Idle waits of event loops and pools${value > 0 ? ', not counted above' : ''}: ${timeText(idle)}` }));
  }

  // The innermost functions, as on the terminal.
  hottest() {
    const { app } = this, { model } = app, { functions, value: whole } = model.programAnswer, shown = functions.slice(0, 10);
    return this.section(`Self ${model.typeLabel()} by function`, '', ...shown.map(({ name, frame, value }) => {
      const button = barRow(make('button', { type: 'button', className: 'krow', title: name }), nameWithEnd('span', name),
        this.plainBar('linux'), { value, longest: shown[0].value, whole });
      button.addEventListener('click', () => app.state.set({ view: 'table', name: model.frameName(frame), group: 'function' }));
      return button;
    }));
  }

  findings() {
    const { findings } = this.app.model.header;
    if (!findings || !findings.items.length)
      return [];
    const counts = [3, 2, 1].map(severity => [findings.items.filter(item => item.severity === severity).length,
      SEVERITIES[severity]]).filter(([count]) => count).map(([count, name]) => manyText(count, name));
    const more = findings.items.length - FINDINGS_SHOWN;
    const notes = [more > 0 && `${grouped(more)} more`, findings.dropped > 0 &&
      `${grouped(findings.dropped)} were too many to keep`].filter(Boolean);
    // Findings about the metric shown come first.
    const isOwn = ({ name, source }) => /npu/i.test(`${name} ${source}`) === /^npu-/.test(this.app.model.typeName);
    const ordered = [...findings.items.filter(isOwn), ...findings.items.filter(item => !isOwn(item))];
    const items = ordered.slice(0, FINDINGS_SHOWN).map(item => {
      const icon = make('span', { className: `icon-${SEVERITIES[item.severity] || 'note'}`, 'aria-label':
        SEVERITIES[item.severity] || 'note', role: 'img' });
      const button = make('button', { type: 'button', className: 'finding', title: item.name }, icon, make('div', {},
        make('b', { textContent: item.title }), make('span', { className: 'text', textContent: item.text +
          (item.count > 1 ? ` (${grouped(item.count)} times)` : '') })));
      button.addEventListener('click', () => this.app.state.set(this.evidenceOf(item)));
      return button;
    });
    return [this.section('Findings', counts.join(', '), ...items, notes.length && make('p', { id: 'findings-more',
      className: 'note', textContent: `${notes.join(', and ')}.` }))];
  }

  // The view that supports a finding: the timeline of the devices, or else the samples of its process, or of the run.
  evidenceOf({ name, source, pid }) {
    const { app } = this, { model } = app;
    if (app.npu && (app.isNpu() ? /npu/i.test(`${name} ${source}`) : true))
      return { view: 'timeline' };
    const isProcess = pid && [...element('process').options].some(({ value }) => value === String(pid));
    return { view: 'table', group: 'process', ...(isProcess ? { process: String(pid) } : {}), ...(model.range ? { time: '' } : {}) };
  }

  // Data quality: the share of the profile that is known, and losses.
  quality() {
    const { model } = this.app, values = model.values(), { view } = values, { frames } = model;
    const list = make('dl', { className: 'quality' });
    const add = (name, value, isBad) => list.append(make('dt', { textContent: name }),
      make('dd', { textContent: value, className: isBad ? 'bad' : '' }));
    const whole = values.total[0];
    if (model.isDevice) {
      const known = this.analysis.values.matched;
      add('Matched to a kernel', shareText(known, whole), known < 0.95 * whole);
      const lines = this.analysis.sorted.reduce((sum, kernel) =>
        sum + [...kernel.lines.values()].reduce((own, line) => own + (line.line ? line.total : 0), 0), 0);
      add('With a source line', shareText(lines, whole));
    } else {
      let unknown = 0;
      for (let node = 1; node < view.count; node++)
        if (frames.flags[view.frame[node]] & Flag.UNKNOWN)
          unknown += values.self[node];
      add('Innermost function resolved', shareText(whole - unknown, whole), unknown > 0.05 * whole);
    }
    const { lost } = model.header;
    for (const { source, reason, count, unknown } of lost)
      add(`${source}: ${reason}`, `${grouped(count)}${unknown ? ' or more' : ''} lost`, true);
    if (!lost.length)
      add('Lost samples', '0');
    return this.section('Data quality', '', list);
  }
}
