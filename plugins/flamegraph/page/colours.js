// What a frame is, and its colour: hues that readers who are blind to some colours tell apart, by lightness as well.
// COLOURS is colours.json, from which pictures have theirs, too: of each group its identifier, its name, hue (degrees),
// saturation and lightness (percent), and the lightness below black text in a picture.
const Group = Object.freeze(Object.fromEntries(COLOURS.map(([identifier], group) => [identifier, group])));
const GROUPS = Object.freeze(COLOURS.map(([, name, ...colour]) => ({ name, colour: colour.slice(0, 3) })));
const GROUP_FOUND = Group.FOUND;
const GROUP_UNKNOWN = Group.UNKNOWN;

function groupOf(frames, frame) {
  const name = frames.names[frame];
  if (frames.flags[frame] & Flag.UNKNOWN)
    return GROUP_UNKNOWN;
  switch (frames.kind[frame]) {
    case Kind.PROCESS: case Kind.SEPARATOR: return Group.PROGRAM;
    case Kind.USER:
      if (frames.flags[frame] & Flag.INLINED)
        return Group.INLINED;
      return name.includes('::') || name.includes('(') ? Group.CPP : Group.C;
    case Kind.JIT: return Group.JIT;
    case Kind.LINUX_KERNEL: return Group.LINUX_KERNEL;
    case Kind.CALL: return Group.CALL;
    case Kind.DEVICE_SOURCE: return Group.DEVICE_SOURCE;
    case Kind.DEVICE_FUNCTION: return Group.DEVICE_FUNCTION;
    case Kind.DEVICE_INSTRUCTION: return Group.DEVICE_INSTRUCTION;
    case Kind.STALL_REASON: return Group.STALL_REASON;
    case Kind.DEVICE_OFFSET: return Group.OFFSET;
    default: return GROUP_UNKNOWN;
  }
}

// Frames of a group differ a little by their names, so that neighbours are told apart.
function shadeOf(name) {
  let hash = 0;
  for (let i = 0; i < name.length && i < 64; i++)
    hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
  return (hash >>> 8) % 9 - 4;
}

function colourText([hue, saturation, lightness], shade) {
  return `hsl(${hue} ${saturation}% ${lightness + shade}%)`;
}

// Black or white, whichever is read better on a colour (WCAG 2.1, relative luminance).
function textColourOn([hue, saturation, lightness]) {
  const chroma = (1 - Math.abs(2 * lightness / 100 - 1)) * saturation / 100;
  const channel = offset => {
    const at = (hue / 60 + offset) % 6;
    const value = lightness / 100 - chroma / 2 + chroma * Math.max(0, Math.min(1, Math.abs(at - 3) - 1));
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * channel(0) + 0.7152 * channel(4) + 0.0722 * channel(2);
  return luminance > 0.179 ? '#000' : '#fff';
}

function colourFrames(frames) {
  const colours = { fill: new Array(frames.count), text: new Array(frames.count), groups: new Set() };
  for (let frame = 0; frame < frames.count; frame++) {
    const group = groupOf(frames, frame);
    colours.groups.add(group);
    colours.fill[frame] = colourText(GROUPS[group].colour, shadeOf(frames.names[frame]));
    colours.text[frame] = textColourOn(GROUPS[group].colour);
  }
  return colours;
}
