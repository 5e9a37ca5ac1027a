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

/** Whether the files beside this one are read at once. */
export const isLocal = Boolean(node);

/** The compiled module of a file beside this one, which gzip has compressed. Posts how many bytes have come. */
export async function compile(name) {
  if (isLocal) return WebAssembly.compile(await unpacked(name));
  const response = await fetched(name);
  // What a host compresses once more is longer when it arrives here.
  const isPlain = !response.headers.has('Content-Encoding');
  const total = (isPlain && Number(response.headers.get('Content-Length'))) || null;
  let loaded = 0;
  const counted = new TransformStream({
    transform(bytes, controller) {
      loaded += bytes.length;
      post({ loaded, total });
      controller.enqueue(bytes);
    },
  });
  const module = response.body.pipeThrough(counted).pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compileStreaming(new Response(module, { headers: { 'Content-Type': 'application/wasm' } }));
}

/** The content of a file beside this one, which gzip has compressed. */
export async function unpacked(name) {
  if (isLocal) {
    const [files, zlib] = ['node:fs', 'node:zlib'].map((module) => globalThis.process.getBuiltinModule(module));
    return zlib.gunzipSync(files.readFileSync(new URL(name, import.meta.url)));
  }
  const { body } = await fetched(name);
  return new Uint8Array(await new Response(body.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

async function fetched(name) {
  const url = new URL(name, import.meta.url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
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
