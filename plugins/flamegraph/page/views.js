// The views of a page, of which one is seen. Those that have something to show are added; a single one needs no button.

class Views {
  constructor() {
    this.buttons = new Map(); // by the name of a section's element
  }

  // show: called each time that the view is about to be seen, may be null.
  add(name, label, show) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label;
    button.setAttribute('role', 'tab');
    button.setAttribute('aria-controls', name);
    button.addEventListener('click', () => this.choose(name));
    this.buttons.set(name, { button, show });
    element('views').append(button);
    element('views').hidden = this.buttons.size < 2;
    if (this.buttons.size === 1)
      this.choose(name);
  }

  choose(name) {
    for (const [other, { button }] of this.buttons) {
      element(other).classList.toggle('seen', other === name);
      button.setAttribute('aria-selected', String(other === name));
    }
    const { show } = this.buttons.get(name);
    if (show)
      show();
  }
}
