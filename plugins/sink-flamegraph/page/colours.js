// Colours of the page. PALETTE is palette.json, in which each colour has a light and a dark form; the style sheet has
// the colours of text and surfaces. Colour indicates the stall reason: CPU frames are pale, and GPU kernels are blue.

const INK_DARK = '#12161c', INK_LIGHT = '#ffffff';

const isDark = () => document.documentElement.dataset.theme === 'dark';

const colourOf = ([light, dark]) => isDark() ? dark : light;

// Relative luminance (WCAG 2.1).
function luminanceOf(colour) {
  const [red, green, blue] = [1, 3, 5].map(at => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const inks = new Map();

// Dark or light text, whichever has more contrast with a colour.
function inkOn(colour) {
  if (!inks.has(colour)) {
    const luminance = luminanceOf(colour), dark = luminanceOf(INK_DARK);
    inks.set(colour, (luminance + 0.05) / (dark + 0.05) >= 1.05 / (luminance + 0.05) ? INK_DARK : INK_LIGHT);
  }
  return inks.get(colour);
}

// Stripes that leave text of a colour as readable as it is: they are further from it than what they are drawn on.
const stripeFor = ink => (luminanceOf(ink) < 0.2 ? '#ffffff59' : '#00000038');

// A colour with partial opacity on a surface.
function fade(colour, surface, part) {
  const mixed = [1, 3, 5].map(at => Math.round(part * parseInt(colour.slice(at, at + 2), 16) +
    (1 - part) * parseInt(surface.slice(at, at + 2), 16)));
  return `#${mixed.map(value => value.toString(16).padStart(2, '0')).join('')}`;
}

function contrastOf(one, other) {
  const [low, high] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// Opacity of secondary text on a colour, and of the background of a chip: reduced only where the text stays readable.
const paleText = fill => (contrastOf(fade(inkOn(fill), fill, 0.8), fill) >= 4.5 ? 0.8 : 1);
const paleChip = fill => (contrastOf(fade(inkOn(fill), fill, 0.16), inkOn(fill)) >= 4.5 ? 0.16 : 0.02);

const API_MODULE = /(^|\/)lib(ze_|OpenCL|igdrcl|sycl|ur_|cuda|nv|amdhip|hsa|level.zero|openvino_intel_npu)/i;

// The colour group of a frame, a key of PALETTE.frames.
function groupOf(frames, frame) {
  frames.groups = frames.groups || new Array(frames.kind.length);
  return frames.groups[frame] || (frames.groups[frame] = findGroup(frames, frame));
}

function findGroup(frames, frame) {
  if (frames.flags[frame] & Flag.UNKNOWN)
    return 'unknown';
  switch (frames.kind[frame]) {
    case Kind.PROCESS: case Kind.THREAD: case Kind.SEPARATOR: return 'process';
    case Kind.USER:
      if (isPython(frames, frame))
        return 'python';
      if (frames.modules[frame] && API_MODULE.test(frames.modules[frame]))
        return 'api';
      return frames.flags[frame] & Flag.INLINED ? 'inlined' : 'native';
    case Kind.JIT: case Kind.PYTHON: return 'python';
    case Kind.LINUX_KERNEL: case Kind.WAIT: return 'linux';
    case Kind.CALL: return 'api';
    case Kind.DEVICE_FUNCTION: case Kind.DEVICE_SOURCE: return 'gpu';
    case Kind.DEVICE_LINE: return 'line';
    case Kind.DEVICE_INSTRUCTION: case Kind.DEVICE_OFFSET: return 'instruction';
    default: return 'unknown';
  }
}

const isPython = (frames, frame) => Boolean(frames.files[frame] && frames.files[frame].endsWith('.py'));

const GROUP_NAMES = Object.freeze({ process: 'Process', python: 'Python or generated code', native: 'Native function',
  inlined: 'Inlined function', linux: 'Linux kernel', api: 'API or driver call', gpu: 'GPU function', line: 'GPU source line',
  instruction: 'GPU instruction', unknown: 'Not resolved' });
