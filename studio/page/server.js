/**
 * The server: one stream of events, and actions.
 *
 * @import {Curves, Message} from './types.js'
 */

/** How long the page waits before it connects again, in milliseconds. */
const AGAIN_MS = 1000;

/**
 * Listens to the server; connects again whenever the stream ends.
 *
 * @param {(message: Message) => void} receive
 * @param {(connected: boolean) => void} connection
 */
export function listen(receive, connection) {
  const source = new EventSource('/api/events');
  source.onopen = () => connection(true);
  source.onmessage = (event) => receive(JSON.parse(event.data));
  source.onerror = () => {
    connection(false);
    // A refused stream stays closed: the browser tries again only after a lost one.
    source.close();
    setTimeout(() => listen(receive, connection), AGAIN_MS);
  };
}

/**
 * Asks the server for an action.
 *
 * @param {object} action see `Action` in `studio/src/play/table.rs`, `MatchCommand` in `studio/src/matches/runner.rs`
 * @param {'play' | 'match'} [room]
 * @returns {Promise<string | null>} what went wrong
 */
export async function act(action, room = 'play') {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`/api/${room}`, { method: 'POST', headers, body: JSON.stringify(action) });
    return response.ok ? null : String((await response.json()).error);
  } catch {
    return 'The server does not answer: is philidor-studio still running?';
  }
}

/**
 * @param {number} run
 * @param {number} points at most, per curve
 * @returns {Promise<Curves | null>} null if they cannot be had now
 */
export async function curves(run, points) {
  try {
    const response = await fetch(`/api/runs/${run}/curves?points=${points}`);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}
