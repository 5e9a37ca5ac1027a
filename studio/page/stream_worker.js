/**
 * The worker that holds the stream for all tabs. It is sent the boards that a tab shows, or `null` when the tab goes.
 *
 * @import {Listener} from './stream.js'
 */
import { openStream } from './stream.js';

const stream = openStream();

/** @param {MessagePort} port */
function serve(port) {
  /** @type {Listener} */
  const listener = {
    receive: (message) => port.postMessage({ message }),
    connection: (connected) => port.postMessage({ connected }),
  };
  port.onmessage = ({ data }) => {
    if (data === null) stream.remove(listener);
    else stream.view(listener, data);
  };
  stream.add(listener);
}

addEventListener('connect', (event) => serve(/** @type {MessageEvent} */ (event).ports[0]));
