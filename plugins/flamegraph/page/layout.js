// Where frames are: rectangles of a tree, zoomed into one of its nodes.

// The narrowest frame that is drawn alone; narrower neighbours are drawn as one block.
const NARROWEST = 1;

// Calls put(node, level, left, width, isAbove) of each that is in rows firstLevel to lastLevel, and
// putBlock(level, left, width) for frames that are too narrow to be told apart. width: of all, in pixels.
function layOut(tree, total, focus, width, firstLevel, lastLevel, put, putBlock) {
  const above = ancestorsOf(tree, focus);
  above.forEach((node, level) => {
    if (level >= firstLevel && level <= lastLevel)
      put(node, level, 0, width, true);
  });
  if (!(total[focus] > 0))
    return;
  const scale = width / total[focus];
  const waiting = [[focus, 0]];
  while (waiting.length) {
    const [node, left] = waiting.pop();
    const level = tree.depth[node];
    if (level > lastLevel)
      continue;
    if (level >= firstLevel)
      put(node, level, left, total[node] * scale, false);
    let at = left, blockLeft = 0, blockWidth = 0;
    for (let child = tree.first[node]; child; child = tree.next[child]) {
      const wide = total[child] * scale;
      if (wide >= NARROWEST) {
        if (blockWidth && level + 1 >= firstLevel)
          putBlock(level + 1, blockLeft, blockWidth);
        blockWidth = 0;
        waiting.push([child, at]);
      } else if (wide > 0) {
        if (!blockWidth)
          blockLeft = at;
        blockWidth += wide;
      }
      at += wide;
    }
    if (blockWidth && level + 1 >= firstLevel && level < lastLevel)
      putBlock(level + 1, blockLeft, blockWidth);
  }
}

// The deepest level below a node of which something is wide enough to be seen.
function deepestLevel(tree, total, focus, width) {
  let deepest = tree.depth[focus];
  if (!(total[focus] > 0))
    return deepest;
  const least = NARROWEST * total[focus] / width;
  const waiting = [focus];
  while (waiting.length) {
    const node = waiting.pop();
    if (tree.depth[node] > deepest)
      deepest = tree.depth[node];
    for (let child = tree.first[node]; child; child = tree.next[child])
      if (total[child] >= least)
        waiting.push(child);
  }
  return deepest;
}

// The node at a place of a level; 0 when there is none but the whole, or it is too narrow.
function nodeAt(tree, total, focus, width, level, x) {
  let found = 0;
  layOut(tree, total, focus, width, level, level, (node, _level, left, wide) => {
    if (x >= left && x < left + wide)
      found = node;
  }, () => {});
  return found;
}
