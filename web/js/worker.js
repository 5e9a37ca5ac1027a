// Runs the engine in a worker. Messages in: {threads}, whether to have them if possible; then UCI lines, and questions
// of Philidor.describe. Messages out: {shared}, what threads need, if there are any; {ready} or {failed} once; then UCI
// lines and answers. The messages of thread.js are alike, and {start} asks for one more thread.
import { canShare, listen, post } from './platform.js';

// Messages that come while the engine loads wait.
let take = (message) => waiting.push(message);
const waiting = [];

listen(async (message) => {
  if (message.threads === undefined) return take(message);
  try {
    const { load } = await (message.threads && canShare() ? import('./threaded.js') : import('./driven.js'));
    const { line, describe } = await load();
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
  } catch (error) {
    post({ failed: String(error) });
  }
});
