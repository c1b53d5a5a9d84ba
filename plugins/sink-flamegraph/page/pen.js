// Draws cells with labels onto a canvas that is as sharp as the screen.

const PADDING = 7;
const NAME_LEAST = 14; // characters of a name from which on its end is shown, too

// Draws at most once per frame of the screen, however often it is called, and counts the draws in the document's
// data-NAME.
function oncePerFrame(name, draw) {
  let isWaiting = false;
  return () => {
    if (isWaiting)
      return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      draw();
      const { dataset } = document.documentElement;
      dataset[name] = Number(dataset[name] || 0) + 1;
    });
  };
}

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

class Pen {
  // view: the element that scrolls the canvas; the canvas then has its size
  constructor(canvas, view = canvas) {
    this.canvas = canvas;
    this.view = view;
    this.context = canvas.getContext('2d');
    this.letters = new Map(); // by font and character: its width
  }

  get width() { return this.view.clientWidth; }
  get height() { return this.view.clientHeight; }

  fit() {
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(this.width * scale), height = Math.round(this.height * scale);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      if (this.view !== this.canvas) {
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
      }
    }
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.textBaseline = 'middle';
    this.context.clearRect(0, 0, this.width, this.height);
    const root = getComputedStyle(document.documentElement);
    this.sans = root.getPropertyValue('--sans');
    this.mono = root.getPropertyValue('--mono');
    this.rem = rem();
    for (const name of ['text', 'text2', 'text3', 'app', 'surface', 'sunken', 'line', 'line2', 'accent', 'dim'])
      this[name] = root.getPropertyValue(`--${name}`).trim();
  }

  setFont(size, weight = 400, isMono = false) {
    this.font = `${weight} ${(size * this.rem / 13).toFixed(2)}px ${isMono ? this.mono : this.sans}`;
    this.context.font = this.font;
  }

  widthOf(text) {
    let width = 0;
    let letters = this.letters.get(this.font);
    if (!letters)
      this.letters.set(this.font, letters = new Map());
    for (const character of text) {
      let wide = letters.get(character);
      if (wide === undefined)
        letters.set(character, wide = this.context.measureText(character).width);
      width += wide;
    }
    return width;
  }

  // As much of a text as fits; nothing if fewer than three characters fit.
  shorten(text, room) {
    if (room < 8)
      return '';
    const dots = this.widthOf('…');
    let width = 0, length = 0, fits = 0, characters = 0, kept = 0;
    for (const character of text) {
      width += this.widthOf(character);
      if (width > room)
        return kept >= 3 ? `${text.slice(0, fits).trimEnd()}…` : '';
      length += character.length;
      characters++;
      if (width + dots <= room) {
        fits = length;
        kept = characters;
      }
    }
    return text;
  }

  // The longest form of a function's name that fits, or what fits of its beginning and end.
  shortenName(name, room) {
    const form = fittingName(name, text => this.widthOf(text) <= room), width = this.widthOf(form);
    if (width <= room)
      return this.shorten((form !== name && withArguments(name, form)) || form, room);
    for (let length = Math.ceil(form.length * room / width); length >= NAME_LEAST; length--) {
      const short = withoutMiddle(form, length, '…');
      if (this.widthOf(short) <= room)
        return short;
    }
    return this.shorten(form, room);
  }

  // A function's name, shortened; -> its width
  writeName(name, x, y, room) { return this.write(this.shortenName(name, room), x, y, room); }

  // A text, shortened; -> its width
  write(text, x, y, room) {
    const short = this.shorten(text, room);
    if (!short)
      return 0;
    this.context.fillText(short, x, y);
    return this.widthOf(short);
  }

  box(x, y, w, h, fill, radius = 0) {
    const { context } = this;
    context.fillStyle = fill;
    if (radius && w > 2 * radius) {
      context.beginPath();
      context.roundRect(x, y, w, h, radius);
      context.fill();
    } else {
      context.fillRect(x, y, w, h);
    }
  }

  // The number of functions that a row folds, drawn left of an edge -> left and width
  chip(text, right, middle, most, fill, ink) {
    const { context } = this;
    this.setFont(10.3, 700);
    const wide = this.widthOf(text) + 10, high = Math.min(most, 1.15 * this.rem);
    context.globalAlpha = paleChip(fill);
    this.box(right - wide, middle - high / 2, wide, high, ink, high / 2);
    context.globalAlpha = 1;
    context.fillStyle = ink;
    context.fillText(text, right - wide + 5, middle + 0.5);
    return [right - wide, wide];
  }

  hatch(x, y, w, h, colour, step = 6, wide = 1) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = wide;
    for (let at = x - h; at < x + w; at += step) {
      context.beginPath();
      context.moveTo(at, y + h);
      context.lineTo(at + h, y);
      context.stroke();
    }
    context.restore();
  }
}
