// The tooltip of the element below the pointer.

// The parts of a sum by stall reason, as a bar.
function mixBar(mix, whole = mix.reduce((sum, value) => sum + value, 0), className = 'mix') {
  const bar = make('span', { className });
  mix.forEach((value, slot) => {
    if (!(value > 0))
      return;
    const part = make('i', {});
    part.style.width = `${100 * value / whole}%`;
    part.style.background = `var(--reason-${slot})`;
    part.dataset.reason = REASONS[slot].label;
    part.title = `${REASONS[slot].label} ${shareText(value, whole)}`;
    bar.append(part);
  });
  return bar;
}

class Tip {
  constructor() {
    this.box = element('tip');
    this.timer = 0;
    this.delay = 80; // ms
  }

  // describe: -> { title, sub, text, lines, mix }, or null: nothing
  show(describe, event) {
    clearTimeout(this.timer);
    if (!describe) {
      this.box.classList.remove('on');
      return;
    }
    const { clientX, clientY } = event;
    if (this.delay)
      this.timer = setTimeout(() => this.fill(describe(), clientX, clientY), this.delay);
    else
      this.fill(describe(), clientX, clientY);
  }

  fill({ title, sub, text, isCode, lines, mix, folded }, x, y) {
    const { box } = this;
    box.replaceChildren(make('h3', { textContent: title }));
    if (sub)
      box.append(make('p', { className: 'sub', textContent: sub }));
    if (text)
      box.append(make(isCode ? 'code' : 'p', { textContent: text }));
    const whole = mix ? mix.reduce((sum, value) => sum + value, 0) : 0;
    if (whole > 0)
      box.append(mixBar(mix, whole));
    for (const [name, value] of lines)
      box.append(make('div', { className: 'row' }, make('span', { textContent: name }), make('span', { textContent: value })));
    if (whole > 0)
      for (const [slot, value] of [...mix].map((value, slot) => [slot, value]).filter(([, value]) => value > 0)
        .sort((a, b) => b[1] - a[1]).slice(0, 4)) {
        const swatch = make('i', { className: 'swatch' });
        swatch.style.background = `var(--reason-${slot})`;
        box.append(make('div', { className: 'row' }, make('span', {}, swatch, REASONS[slot].label),
          make('span', { textContent: shareText(value, whole) })));
      }
    if (folded && folded.length >= FOLD_LEAST)
      box.append(make('p', { className: 'sub', textContent: `${folded.length} functions, one calling the next: +${folded.length - 1} shows them` }));
    box.classList.add('on');
    const left = Math.min(x + 14, window.innerWidth - box.offsetWidth - 8), below = y + 18;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below + box.offsetHeight > window.innerHeight - 8 ? Math.max(8, y - box.offsetHeight - 12) : below}px`;
  }
}
