// SPDX-License-Identifier: Apache-2.0
// trace_processor.mjs FOLDER TRACE < QUERIES: what the trace processor of Perfetto, built for browsers, answers to
// queries of SQL, a line each; a line of JSON for each: its rows. FOLDER has trace_processor.wasm, the
// engine_bundle.node.js that loads it into a web worker, and the engine.mjs that talks to it.
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import vm from 'node:vm';

const [folder, trace] = process.argv.slice(2);

// What the bundle takes from a web worker: its scope, and the way to get the program next to it.
class FileRequest {
  open(_method, url) {
    this.path = path.join(folder, path.basename(url));
  }
  send() {
    this.response = new Uint8Array(fs.readFileSync(this.path)).buffer;
    this.status = 200;
    this.onload?.();
  }
}
Object.assign(globalThis, {self: globalThis, WorkerGlobalScope: class {}, XMLHttpRequest: FileRequest,
                           location: {href: pathToFileURL(path.join(folder, 'worker.js')).href}});
delete globalThis.fetch;
console.warn = () => {}; // the program's log

// A request before the program is ready is lost.
const ready = new Promise(done => {
  const {Instance} = WebAssembly;
  WebAssembly.Instance = function (...words) {
    const exports = {...new Instance(...words).exports};
    const init = exports.trace_processor_rpc_init;
    exports.trace_processor_rpc_init = (...numbers) => {
      setTimeout(done);
      return init(...numbers);
    };
    return {exports};
  };
});
vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.node.js'), 'utf8'));
const {EngineBase} = await import(pathToFileURL(path.join(folder, 'engine.mjs')).href);

class Engine extends EngineBase {
  mode = 'WASM';
  id = 'test';
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = message => this.onRpcResponseBytes(message.data);
  }
  rpcSendRequestBytes(bytes) {
    this.port.postMessage(bytes);
  }
}

const cell = value => typeof value === 'bigint' ? value.toString() : value instanceof Uint8Array ? [...value] : value;

const {port1, port2} = new MessageChannel();
await ready;
self.onmessage({data: port1});
const engine = new Engine(port2);
await engine.parse(new Uint8Array(fs.readFileSync(trace)));
await engine.notifyEof();
const answers = [];
for (const query of fs.readFileSync(0, 'utf8').split('\n').filter(line => line)) {
  const result = await engine.query(query);
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(Object.fromEntries(result.columns().map(name => [name, cell(row.get(name))])));
  answers.push(JSON.stringify(result.error() ? {error: result.error()} : rows));
}
process.stdout.write(`${answers.join('\n')}\n`, () => process.exit(0));
