// The engine in the worker that loads it. A search stops for messages after so many milliseconds.
import init, { Philidor, addTables, describe } from './engine.js';
import { afterMessages, compile, post } from './platform.js';

const SLICE_MS = 20;

/** `prepare` gets the module's function for the endgame tables before the engine begins. */
export async function load(prepare = () => {}) {
  await init({ module_or_path: await compile('./engine.wasm.gzip') });
  await prepare(addTables);
  const engine = new Philidor();
  let isSearching = false;

  function search() {
    const { lines, searching } = engine.advance(SLICE_MS);
    lines.forEach(post);
    isSearching = searching;
    if (searching) again();
  }
  const again = afterMessages(search);

  function line(text) {
    if (engine.ended) return;
    engine.line(text).forEach(post);
    if (engine.ended) post({ failed: engine.ended });
    // A search may have begun. Without one, this does nothing.
    if (!isSearching) search();
  }
  post({ ready: true, hasThreads: false });
  return { line, describe, addTables };
}
