// The engine in threads, which are workers with one memory. They write the lines.
import init, { Philidor, addTables, describe } from './engine_threads.js';
import { compile, post } from './platform.js';

/** `prepare` gets the module's function for the endgame tables before the engine begins. */
export async function load(prepare = () => {}) {
  const module = await compile('./engine_threads.wasm.gzip');
  const { memory } = await init({ module_or_path: module });
  await prepare(addTables);
  const engine = new Philidor();
  // A worker of a worker would do, but Firefox sometimes never returns when one starts another.
  post({ shared: { module, memory } });
  return { line: (text) => engine.line(text), describe, addTables };
}
