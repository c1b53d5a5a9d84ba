// Continuous zooming and panning of the flame graph: pinching, the wheel, dragging. The state's span is the visible
// part of the zoomed frame's width, as two fractions of it.

const SPAN_LEAST = 1e-6, DRAG_LEAST = 4; // of the zoomed frame; pixels
const NOTCH = 50; // pixels: the smallest step of a mouse wheel; a touchpad has smaller ones

const wholeSpan = Object.freeze([0, 1]);

function spanOf(text) {
  const found = text.match(/^(0(?:\.\d+)?)-(0\.\d+|1)$/);
  const [begin, end] = found ? [Number(found[1]), Number(found[2])] : wholeSpan;
  return end - begin >= SPAN_LEAST ? [begin, end] : wholeSpan;
}

class FlameGestures {
  constructor(flame) {
    Object.assign(this, { flame, canvas: flame.canvas, pointers: new Map(), isDrag: false });
    const on = (kind, handle) => this.canvas.addEventListener(kind, handle);
    on('pointerdown', event => this.press(event));
    on('pointermove', event => this.move(event));
    for (const kind of ['pointerup', 'pointercancel'])
      on(kind, event => this.release(event));
    // The browser reports a click at the end of a drag, which must be ignored.
    this.canvas.addEventListener('click', event => {
      if (this.isDrag)
        event.stopImmediatePropagation();
      this.isDrag = false;
    }, true);
  }

  get span() { return spanOf(this.flame.state.get('span')); }

  show(begin, end) {
    const wide = Math.min(1, Math.max(SPAN_LEAST, end - begin)), from = Math.max(0, Math.min(1 - wide, begin));
    const text = at => String(Number(at.toFixed(7)));
    const { state } = this.flame;
    state.set({ span: wide > 0.9999 ? '' : `${text(from)}-${text(from + wide)}` }, state.get('span') !== '');
  }

  // x: the pixel that stays in place
  zoom(factor, x = this.canvas.clientWidth / 2) {
    const [begin, end] = this.span, at = begin + x / this.canvas.clientWidth * (end - begin);
    this.show(at - (at - begin) * factor, at + (end - at) * factor);
  }

  pan(pixels) {
    const [begin, end] = this.span, by = pixels / this.canvas.clientWidth * (end - begin);
    if (end - begin < 1)
      this.show(begin + by, end + by);
  }

  // Browsers report a pinch on a touchpad as small wheel movements with Control. -> whether the event changed the span
  wheel(event) {
    if (event.ctrlKey)
      this.zoom(1.01 ** Math.max(-NOTCH, Math.min(NOTCH, event.deltaMode ? NOTCH * Math.sign(event.deltaY) : event.deltaY)),
        event.clientX - this.canvas.getBoundingClientRect().left);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.pan(event.deltaX || event.deltaY);
    else
      return false;
    event.preventDefault();
    return true;
  }

  press(event) {
    if (event.button !== 0)
      return;
    if (!this.pointers.size)
      this.isDrag = false;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, from: event.clientX, fromY: event.clientY });
  }

  move(event) {
    const own = this.pointers.get(event.pointerId);
    if (!own)
      return;
    const before = { ...own };
    Object.assign(own, { x: event.clientX, y: event.clientY });
    if (!this.isDrag && this.pointers.size < 2 && Math.hypot(own.x - own.from, own.y - own.fromY) < DRAG_LEAST)
      return;
    if (!this.isDrag)
      this.canvas.setPointerCapture(event.pointerId);
    this.isDrag = true;
    this.flame.app.tip.show(null);
    if (this.pointers.size > 1)
      this.pinch(own, before);
    else {
      this.pan(before.x - own.x);
      this.flame.scrollBy(own.y - before.y);
    }
  }

  pinch(own, before) {
    const other = [...this.pointers.values()].find(pointer => pointer !== own), { left } = this.canvas.getBoundingClientRect();
    const was = Math.abs(before.x - other.x), is = Math.abs(own.x - other.x);
    if (was > 10 && is > 10)
      this.zoom(was / is, (own.x + other.x) / 2 - left);
    this.pan((before.x - own.x) / 2);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
    if (event.type === 'pointercancel')
      this.isDrag = false;
  }
}
