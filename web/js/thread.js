// A thread of the engine: runs its module in its memory, for ever.
import init, { serve } from './engine_threads.js';
import { listen, post } from './platform.js';

listen(async ({ module, memory }) => {
  try {
    await init({ module_or_path: module, memory });
    serve();
  } catch (error) {
    post({ failed: `a thread of the engine failed: ${error}` });
  }
});
