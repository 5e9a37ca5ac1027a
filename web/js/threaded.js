// The engine in threads, which are workers with one memory. They write the lines.
import init, { Philidor, describe } from './engine_threads.js';
import { compile, post } from './platform.js';

export async function load() {
  const module = await compile('./engine_threads_bg.wasm');
  const { memory } = await init({ module_or_path: module });
  const engine = new Philidor();
  // A worker of a worker would do, but Firefox sometimes never returns when one starts another.
  post({ shared: { module, memory } });
  return { line: (text) => engine.line(text), describe };
}
