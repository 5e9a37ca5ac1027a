// Runs the engine in a worker of a browser or of Node.js. Messages in: a UCI line, or a question of Philidor.describe.
// Messages out: {ready} or {failed} once, then UCI lines and answers.
import init, { Philidor, describe } from './engine.js';

// A search stops for messages after so many milliseconds.
const SLICE_MS = 20;

/** Visits. */
const WARM_UP = 500;

const node = typeof WorkerGlobalScope === 'undefined' ? await import('node:worker_threads') : null;
const post = (message) => (node ? node.parentPort.postMessage(message) : postMessage(message));
const listen = (take) => {
  if (node) node.parentPort.on('message', take);
  else addEventListener('message', (event) => take(event.data));
};

// Messages that come while the engine loads wait.
let take = (message) => waiting.push(message);
const waiting = [];
listen((message) => take(message));

// Calls `search` again after the messages that wait: a timer of a browser would wait 4 ms, and Node.js would serve a
// channel before the messages.
let again = () => setImmediate(search);
let search = () => {};
if (!node) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => search();
  again = () => port2.postMessage(null);
}

try {
  const file = new URL('./engine_bg.wasm', import.meta.url);
  const module = node ? (await import('node:fs')).readFileSync(file) : fetch(file);
  await init({ module_or_path: module });
  const engine = new Philidor();
  // Loads the network and lets the runtime compile the search, so that neither takes time from the first move.
  for (const line of ['isready', 'position startpos', `go nodes ${WARM_UP}`]) engine.line(line);
  while (engine.advance(SLICE_MS).searching);
  engine.line('ucinewgame');
  let isSearching = false;

  search = () => {
    const { lines, searching } = engine.advance(SLICE_MS);
    lines.forEach(post);
    isSearching = searching;
    if (searching) again();
  };

  take = (message) => {
    if (typeof message !== 'string') {
      const { id, fen, moves } = message;
      try {
        post({ id, position: JSON.parse(describe(fen, moves)) });
      } catch (error) {
        post({ id, error: String(error) });
      }
      return;
    }
    engine.line(message).forEach(post);
    if (engine.ended) {
      post({ failed: engine.ended });
      take = () => {};
    }
    // A search may have begun. Without one, this does nothing.
    if (!isSearching) search();
  };
  post({ ready: true });
  waiting.splice(0).forEach((message) => take(message));
} catch (error) {
  post({ failed: String(error) });
}
