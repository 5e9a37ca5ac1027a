// Runs the engine in a worker. Messages in: {threads}, whether to have them if possible; then UCI lines, and questions
// of Philidor.describe. Messages out: {loaded, total}, bytes of the module; {shared}, what threads need, if there are
// any; {ready} or {failed} once; {complete} or {incomplete} once; then UCI lines and answers. The messages of thread.js are alike, and {start} asks for
// one more thread.
import { canShare, isLocal, listen, post, unpacked } from './platform.js';

// Messages that come while the engine loads wait.
let take = (message) => waiting.push(message);
const waiting = [];

/** Gives the engine its endgame tables. */
async function complete(addTables) {
  try {
    addTables(await unpacked('./tables.gzip'));
    post({ complete: true });
  } catch (error) {
    post({ incomplete: String(error) });
  }
}

async function begin(threads) {
  try {
    const { load } = await (threads && canShare() ? import('./threaded.js') : import('./driven.js'));
    const { line, describe, addTables } = await load(isLocal ? complete : undefined);
    take = (message) => {
      if (typeof message === 'string') return line(message);
      const { id, fen, moves } = message;
      try {
        post({ id, position: JSON.parse(describe(fen, moves)) });
      } catch (error) {
        post({ id, error: String(error) });
      }
    };
    waiting.splice(0).forEach((message) => take(message));
    // Over a line they would double the time until the engine can play.
    if (!isLocal) complete(addTables);
  } catch (error) {
    post({ failed: String(error) });
  }
}

// Not asynchronous: browsers report what a listener throws, but no rejection, to whoever started the worker.
listen((message) => {
  if (message.threads === undefined) take(message);
  else begin(message.threads);
});
