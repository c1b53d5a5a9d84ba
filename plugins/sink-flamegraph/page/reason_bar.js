// The stall reasons of the zoomed frame: legend, total and filter in one.

class ReasonBar {
  constructor(app) {
    this.app = app;
    this.bar = element('reason-bar');
  }

  show() {
    const { app } = this, { model, state, flame } = app;
    const values = flame.isCallers ? model.values() : flame.values, focus = flame.isCallers ? 0 : flame.focus;
    const isShown = model.isDevice && !app.compare && values && values.total[focus] > 0 &&
      !(model.showsIdle && model.isIdle(values.view, focus));
    element('reasons').hidden = !isShown;
    if (!isShown)
      return;
    const mix = values.mix(focus), whole = mix.reduce((sum, value) => sum + value, 0);
    const where = model.range ? 'selected time' : focus ? shortName(model.nameOf(values.view, focus), TIP_NAME) : model.shareOf.startsWith('the ') ? model.shareOf : 'all kernels';
    element('reason-title').textContent = `Stall reasons, ${where}`;
    const hidden = model.hidden, highlighted = state.get('reason');
    if (!(whole > 0) && !hidden.size)
      return this.showNothing();
    element('reason-note').textContent = `${shareText(whole - mix[ISSUING], whole)} stalled, ${shareText(mix[ISSUING], whole)}` +
      ` issuing${hidden.size ? `, ${[...hidden].map(slot => REASONS[slot].label).join(', ')} hidden` : ''}`;
    this.bar.classList.toggle('some', highlighted !== '');
    this.bar.replaceChildren(...[...mix].map((value, slot) => ({ value, slot })).filter(({ value }) => value > 0)
      .map(({ value, slot }) => this.part(slot, value, whole, highlighted === String(slot))));
    for (const slot of hidden) {
      const button = make('button', { type: 'button', className: 'hidden-reason', textContent: `Show ${REASONS[slot].label}` });
      button.addEventListener('click', () => this.hide(slot));
      element('reason-note').append(' ', button);
    }
    this.fit();
  }

  showNothing() {
    element('reason-note').textContent = 'not sampled';
    this.bar.replaceChildren();
  }

  part(slot, value, whole, isOn) {
    const reason = REASONS[slot], share = shareText(value, whole);
    const button = make('button', { type: 'button', className: isOn ? 'on' : '', 'aria-pressed': String(isOn),
      'aria-label': `${reason.label} ${share}` }, make('b', { textContent: reason.label }), make('span', { textContent: share }));
    button.style.width = `${100 * value / whole}%`;
    button.style.setProperty('--c', `var(--reason-${slot})`);
    button.style.color = inkOn(colourOf(PALETTE.reasons[slot]));
    button.dataset.slot = slot;
    button.addEventListener('click', event => {
      if (event.ctrlKey || event.metaKey)
        this.hide(slot);
      else
        this.app.state.set({ reason: this.app.state.get('reason') === String(slot) ? '' : String(slot) });
    });
    const describe = () => ({ title: reason.label, sub: `Stall reason (${reason.names.join(', ')})`, text: reason.text,
      lines: [['Share', share], ...(reason.remedy ? [['Try', reason.remedy]] : [])] });
    button.addEventListener('mousemove', event => this.app.tip.show(describe, event));
    button.addEventListener('mouseleave', () => this.app.tip.show(null));
    return button;
  }

  hide(slot) {
    const hidden = this.app.model.hidden;
    if (!hidden.delete(slot))
      hidden.add(slot);
    this.app.state.set({ without: [...hidden].join(','), reason: '' });
  }

  // Parts without room for their text have none.
  fit() {
    for (const button of this.bar.children) {
      const [name, share] = button.children;
      button.classList.remove('thin', 'short');
      if (share.scrollWidth > share.clientWidth)
        button.classList.add('thin');
      else if (name.scrollWidth > name.clientWidth + 1)
        button.classList.add('short');
    }
  }
}
