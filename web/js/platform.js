// What differs in the workers of browsers and of Node.js.

// Not imported: a module that awaits another may begin to listen after the first message.
const node = globalThis.process?.getBuiltinModule('node:worker_threads');

export function post(message) {
  if (node) node.parentPort.postMessage(message);
  else postMessage(message);
}

export function listen(take) {
  if (node) node.parentPort.on('message', take);
  else addEventListener('message', (event) => take(event.data));
}

/** A function that lets `turn` run after the messages that wait. */
export function afterMessages(turn) {
  // Node.js would serve a channel before the messages; a timer of a browser would wait 4 ms.
  if (node) return () => setImmediate(turn);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = turn;
  return () => port2.postMessage(null);
}

/** The compiled module of a file beside this one. */
export async function compile(name) {
  const url = new URL(name, import.meta.url);
  if (node) return WebAssembly.compile(globalThis.process.getBuiltinModule('node:fs').readFileSync(url));
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  if (response.headers.get('Content-Type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Whether workers can share memory, and enough of it: 4 GiB of addresses. */
export function canShare() {
  if (!node && !globalThis.crossOriginIsolated) return false;
  try {
    return new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true }).buffer instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}
