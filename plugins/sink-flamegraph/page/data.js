// Reads the profile embedded in this page; plugins/sink-flamegraph/page_data.h describes the format.

const element = name => document.getElementById(name);

const Kind = Object.freeze({ PROCESS: 1, USER: 2, LINUX_KERNEL: 3, JIT: 4, SEPARATOR: 5, DEVICE_SOURCE: 6,
  DEVICE_FUNCTION: 7, DEVICE_INSTRUCTION: 8, STALL_REASON: 9, DEVICE_OFFSET: 10, CALL: 11, LOST: 12, WAIT: 13,
  PYTHON: 14,
  DEVICE_LINE: 100, // created by views: not in a profile
  THREAD: 101, DEVICE: 102, SPAN: 103 }); // stack_origins.h
// lib/stacks/code_site.h: what a function is in the answer.
const Work = Object.freeze({ RANK: 7, RANK_LIBRARY: 1, RUNTIME: 8, WAIT: 16, IDLE: 32 });
const Flag = Object.freeze({ INLINED: 1, UNKNOWN: 2, PRODUCER: 4, LIBRARY: 8 });

async function inflate(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++)
    bytes[i] = characters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers in LEB128. Above 2^53 they are rounded, which is not visible.
function numbersOf(bytes, position) {
  return () => {
    let number = 0, factor = 1;
    for (;;) {
      const byte = bytes[position++];
      number += (byte & 127) * factor;
      if (byte < 128)
        return number;
      factor *= 128;
    }
  };
}

// -> { header, frames, tree, times, beforeTimes (null: not known) }; node 0 of the tree is above all programs and has no frame. Of a
// difference, the tree's selves has the earlier values behind those of all types.
function parseProfile(bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const next = numbersOf(bytes, 4 + length);
  const frameCount = next();
  const frames = { names: header.names, modules: header.modules, files: header.files, classes: header.classes, works: header.works,
    count: frameCount,
    kind: new Uint8Array(frameCount), flags: new Uint8Array(frameCount), line: new Uint32Array(frameCount),
    pid: new Uint32Array(frameCount), site: new Uint8Array(frameCount) };
  for (let i = 0; i < frameCount; i++) {
    frames.kind[i] = next();
    frames.flags[i] = next();
    frames.line[i] = next();
    frames.pid[i] = next();
    frames.site[i] = next();
  }
  // For code without a name, the file is usually known.
  for (let i = 0; i < frameCount; i++)
    if (frames.flags[i] & Flag.UNKNOWN && frames.names[i] === '[unknown]' && frames.modules[i])
      frames.names[i] = frames.modules[i].replace(/.*\//, '').replace(/^[^[].*$/, '[$&]');
  const count = next() + 1;
  const types = header.types.length, sides = header.difference ? 2 : 1;
  const tree = { count, parent: new Int32Array(count), frame: new Int32Array(count),
    selves: Array.from({ length: sides * types }, () => new Float64Array(count)) };
  tree.parent[0] = tree.frame[0] = -1;
  for (let node = 1; node < count; node++) {
    const up = next();
    let parent = node === 1 ? 0 : node - 1;
    for (let i = 0; i < up; i++)
      parent = tree.parent[parent];
    tree.parent[node] = parent;
    tree.frame[node] = next();
    const has = next();
    for (let type = 0; type < types; type++)
      if (has >>> type & 1)
        for (let side = 0; side < sides; side++)
          tree.selves[side * types + type][node] = next();
  }
  return { header, frames, tree, times: header.times ? new Times(header.times, next) : null,
    beforeTimes: header.beforeTimes ? new Times(header.beforeTimes, next) : null };
}
