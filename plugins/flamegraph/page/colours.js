// What a frame is, and its colour: hues that readers who are blind to some colours tell apart, by lightness as well.
// hue (degrees), saturation and lightness (percent)
const GROUPS = Object.freeze([
  { name: 'program', colour: [0, 0, 62] },
  { name: 'C', colour: [41, 90, 58] },
  { name: 'C++', colour: [54, 85, 66] },
  { name: 'Python, JIT', colour: [326, 45, 72] },
  { name: 'inlined', colour: [46, 45, 78] },
  { name: 'Linux kernel', colour: [22, 80, 56] },
  { name: 'API or driver call', colour: [174, 45, 60] },
  { name: 'GPU source', colour: [202, 30, 80] },
  { name: 'GPU function', colour: [202, 75, 62] },
  { name: 'GPU instruction', colour: [205, 90, 42] },
  { name: 'stall reason', colour: [330, 45, 48] },
  { name: 'offset', colour: [260, 20, 75] },
  { name: 'lost or unknown', colour: [0, 0, 40] },
  { name: 'found', colour: [290, 95, 55] },
]);
const GROUP_FOUND = GROUPS.length - 1;
const GROUP_UNKNOWN = GROUPS.length - 2;

function groupOf(frames, frame) {
  const name = frames.names[frame];
  if (frames.flags[frame] & Flag.UNKNOWN)
    return GROUP_UNKNOWN;
  switch (frames.kind[frame]) {
    case Kind.PROCESS: case Kind.SEPARATOR: return 0;
    case Kind.USER:
      if (frames.flags[frame] & Flag.INLINED)
        return 4;
      return name.includes('::') || name.includes('(') ? 2 : 1;
    case Kind.JIT: return 3;
    case Kind.LINUX_KERNEL: return 5;
    case Kind.CALL: return 6;
    case Kind.DEVICE_SOURCE: return 7;
    case Kind.DEVICE_FUNCTION: return 8;
    case Kind.DEVICE_INSTRUCTION: return 9;
    case Kind.STALL_REASON: return 10;
    case Kind.DEVICE_OFFSET: return 11;
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
