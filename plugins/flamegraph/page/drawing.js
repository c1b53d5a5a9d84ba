// Draws the rows of a layout that are in sight, onto the canvas. The space beside it is as high as all rows.

const ROW = 18;
const FONT = '12px system-ui, sans-serif';
const PADDING = 3;

class Drawing {
  constructor(canvas, space, view) {
    this.canvas = canvas;
    this.space = space;
    this.view = view;
    this.context = canvas.getContext('2d');
    this.letter = 0; // width of one
  }

  get width() { return this.view.clientWidth; }

  // Where a level is, from the top of the canvas. The ground is at the bottom, or at the top.
  top(scene, level) {
    return scene.isIcicle ? level * ROW - this.view.scrollTop : this.ground(scene) - (level + 1) * ROW;
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

  fit() {
    const scale = window.devicePixelRatio || 1;
    const height = this.view.clientHeight;
    if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = 'middle';
    if (!this.letter)
      this.letter = this.context.measureText('abcdefghijklmnopqrstuvwxyz').width / 26;
  }

  // As much of a text as has room; texts of known bad cases are measured, not guessed.
  shorten(text, room) {
    const guess = Math.floor(room / this.letter);
    if (guess < 2)
      return '';
    let short = text.length > 2 * guess ? text.slice(0, 2 * guess) : text;
    if (short === text && this.context.measureText(text).width <= room)
      return text;
    let low = 0, high = short.length;
    while (low < high) {
      const middle = low + high + 1 >> 1;
      if (this.context.measureText(`${short.slice(0, middle)}…`).width <= room)
        low = middle;
      else
        high = middle - 1;
    }
    return low > 1 ? `${short.slice(0, low)}…` : '';
  }

  draw(scene) {
    this.fit();
    const { context } = this;
    const styles = getComputedStyle(document.documentElement);
    const height = this.view.clientHeight;
    context.clearRect(0, 0, this.width, height);
    const edges = [this.levelAt(scene, 0), this.levelAt(scene, height)].sort((a, b) => a - b);
    const quiet = styles.getPropertyValue('--edge');
    layOut(scene.tree, scene.total, scene.focus, this.width, edges[0], edges[1],
      (node, level, left, width, isAbove) => this.drawFrame(scene, node, level, left, width, isAbove),
      (level, left, width) => {
        context.fillStyle = quiet;
        context.fillRect(left, this.top(scene, level), Math.max(width, 0.5), ROW - 1);
      });
  }

  drawFrame(scene, node, level, left, width, isAbove) {
    const { context } = this;
    const top = this.top(scene, level);
    const { fill, ink, label } = scene.look(node);
    context.globalAlpha = isAbove ? 0.55 : 1;
    context.fillStyle = fill;
    context.fillRect(left, top, width > 2 ? width - 0.5 : width, ROW - 1);
    context.globalAlpha = 1;
    if (node === scene.selected) {
      context.lineWidth = 2;
      context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--text');
      context.strokeRect(left + 1, top + 1, Math.max(width - 2, 1), ROW - 3);
    }
    if (width < 2 * this.letter + 2 * PADDING)
      return;
    const text = this.shorten(label, width - 2 * PADDING);
    if (text) {
      context.fillStyle = isAbove ? getComputedStyle(document.documentElement).getPropertyValue('--text') : ink;
      context.fillText(text, left + PADDING, top + ROW / 2);
    }
  }
}
