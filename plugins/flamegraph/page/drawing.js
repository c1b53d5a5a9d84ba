// Draws the rows of a layout that are in sight, onto the canvas. The space beside it is as high as all rows.

const ROW = 18;
const FONT = '12px system-ui, sans-serif';
const PADDING = 3;

// Draws once, however often it is asked to before the screen is made anew, and counts that in the document's data-NAME.
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

class Drawing {
  constructor(canvas, space, view) {
    this.canvas = canvas;
    this.space = space;
    this.view = view;
    this.context = canvas.getContext('2d');
    this.letters = new Map(); // by a character: its width
  }

  get width() { return this.view.clientWidth; }

  // Where levels are, from the top of the canvas. The ground is at the bottom, or at the top. To ask the browser for a
  // size takes it as long as to draw a frame: once for all levels.
  tops(scene) {
    const scrolled = this.view.scrollTop, ground = this.ground(scene);
    return scene.isIcicle ? level => level * ROW - scrolled : level => ground - (level + 1) * ROW;
  }

  top(scene, level) {
    return this.tops(scene)(level);
  }

  ground(scene) {
    return Math.max(scene.rows * ROW, this.view.clientHeight) - this.view.scrollTop;
  }

  levelAt(scene, y) {
    return Math.floor(scene.isIcicle ? (y + this.view.scrollTop) / ROW : (this.ground(scene) - y) / ROW);
  }

  // Room to scroll through all rows.
  reserve(scene) {
    this.space.style.height = `${scene.rows * ROW}px`;
  }

  // Whether the canvas is as large as the view.
  get isFitting() {
    const scale = window.devicePixelRatio || 1;
    return this.canvas.width === Math.round(this.width * scale)
      && this.canvas.height === Math.round(this.view.clientHeight * scale);
  }

  fit() {
    const scale = window.devicePixelRatio || 1;
    const height = this.view.clientHeight;
    if (!this.isFitting) {
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = 'middle';
  }

  widthOf(character) {
    let width = this.letters.get(character);
    if (width === undefined)
      this.letters.set(character, width = this.context.measureText(character).width);
    return width;
  }

  // As much of a text as has room, by the widths of its characters: to measure texts takes longer than to draw them.
  shorten(text, room) {
    const dots = this.widthOf('…');
    let width = 0, length = 0, fits = 0;
    for (const character of text) {
      width += this.widthOf(character);
      if (width > room)
        return fits > 1 ? `${text.slice(0, fits)}…` : '';
      length += character.length;
      if (width + dots <= room)
        fits = length;
    }
    return text;
  }

  draw(scene) {
    this.fit();
    const { context } = this;
    const styles = getComputedStyle(document.documentElement);
    const top = this.tops(scene), text = styles.getPropertyValue('--text');
    const height = this.view.clientHeight;
    context.clearRect(0, 0, this.width, height);
    const edges = [this.levelAt(scene, 0), this.levelAt(scene, height)].sort((a, b) => a - b);
    const quiet = styles.getPropertyValue('--edge');
    layOut(scene.tree, scene.total, scene.focus, this.width, edges[0], edges[1],
      (node, level, left, width, isAbove) => this.drawFrame(scene.look(node), node === scene.selected, top(level), left,
        width, isAbove, text),
      (level, left, width) => {
        context.fillStyle = quiet;
        context.fillRect(left, top(level), Math.max(width, 0.5), ROW - 1);
      });
  }

  drawFrame({ fill, ink, label }, isSelected, top, left, width, isAbove, plainInk) {
    const { context } = this;
    context.globalAlpha = isAbove ? 0.55 : 1;
    context.fillStyle = fill;
    context.fillRect(left, top, width > 2 ? width - 0.5 : width, ROW - 1);
    context.globalAlpha = 1;
    if (isSelected) {
      context.lineWidth = 2;
      context.strokeStyle = plainInk;
      context.strokeRect(left + 1, top + 1, Math.max(width - 2, 1), ROW - 3);
    }
    const room = width - 2 * PADDING;
    const text = room > 2 * ROW / 3 ? this.shorten(label, room) : '';
    if (text) {
      context.fillStyle = isAbove ? plainInk : ink;
      context.fillText(text, left + PADDING, top + ROW / 2, room);
    }
  }
}
