/**
 * The server's stream of events, shared by all tabs of the browser, which allows few connections to one server.
 *
 * @import {Message} from './types.js'
 */

/** Delay before connecting again. */
const AGAIN_MS = 1000;

/** After a change of the shown boards was sent, further ones are collected for so long. */
const VIEW_MS = 100;

/** @typedef {{receive: (message: Message) => void, connection: (connected: boolean) => void}} Listener a tab */
/** @typedef {{onopen: unknown, onmessage: unknown, onerror: unknown, close: () => void}} Source */

export class Stream {
  /** Boards in view, by tab. @type {Map<Listener, Set<string>>} */
  #listeners = new Map();
  /** What the server said last, for tabs that come later. @type {Message} */
  #state = {};
  /** @type {Record<string, unknown>} */
  #boards = {};
  /** `null` before the first answer. @type {boolean | null} */
  #isConnected = null;
  /** The stream's name, new for every connection. */
  #name = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #telling;
  /** The shown boards have changed since they were sent. */
  #isStale = false;
  #connect;
  #post;

  /**
   * @param {(path: string) => Source} connect
   * @param {(path: string, body: object) => unknown} post
   */
  constructor(connect, post) {
    this.#connect = connect;
    this.#post = post;
  }

  /** @param {Listener} listener */
  add(listener) {
    const isFirst = this.#listeners.size === 0 && this.#name === '';
    this.#listeners.set(listener, new Set());
    if (isFirst) this.#listen();
    if (this.#isConnected !== null) listener.connection(this.#isConnected);
    if (Object.keys(this.#state).length > 0) listener.receive(this.#state);
  }

  /** @param {Listener} listener */
  remove(listener) {
    this.#listeners.delete(listener);
    this.#tellView();
  }

  /** The boards that a tab shows. @param {Listener} listener @param {string[]} boards */
  view(listener, boards) {
    const before = this.#listeners.get(listener);
    if (!before) return;
    this.#listeners.set(listener, new Set(boards));
    // The server sends a board again only when it has changed.
    const known = boards.filter((name) => !before.has(name) && name in this.#boards);
    if (known.length > 0) {
      listener.receive({ boards: Object.fromEntries(known.map((name) => [name, this.#boards[name]])) });
    }
    this.#tellView();
  }

  /** Connects again whenever the stream ends. */
  #listen() {
    // Without encryption, browsers offer `crypto.randomUUID` to pages of this machine only.
    const random = [...crypto.getRandomValues(new Uint8Array(12))];
    this.#name = random.map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const source = this.#connect(`/api/events?tab=${this.#name}`);
    source.onopen = () => {
      this.#connected(true);
      this.#boards = {};
      this.#tellView();
    };
    source.onmessage = (/** @type {{data: string}} */ event) => this.#receive(JSON.parse(event.data));
    source.onerror = () => {
      this.#connected(false);
      // The browser reconnects a lost stream, but not a refused one.
      source.close();
      setTimeout(() => this.#listen(), AGAIN_MS);
    };
  }

  /** @param {boolean} isConnected */
  #connected(isConnected) {
    this.#isConnected = isConnected;
    this.#listeners.forEach((_, listener) => listener.connection(isConnected));
  }

  /** @param {Message} message */
  #receive(message) {
    const { boards, ...topics } = message;
    Object.assign(this.#state, topics);
    Object.assign(this.#boards, boards);
    this.#listeners.forEach((_, listener) => listener.receive(message));
  }

  /** Sends the first change at once, so that a board comes soon. */
  #tellView() {
    this.#isStale = true;
    if (this.#telling !== undefined || !this.#isConnected) return;
    this.#isStale = false;
    const shown = new Set([...this.#listeners.values()].flatMap((boards) => [...boards]));
    // A board that nobody shows is not kept up to date. It is dropped when the server hears of it, not before:
    // otherwise a tab that shows it in between would never get it.
    for (const name of Object.keys(this.#boards)) if (!shown.has(name)) delete this.#boards[name];
    this.#post('/api/view', { tab: this.#name, boards: [...shown] });
    this.#telling = setTimeout(() => {
      this.#telling = undefined;
      if (this.#isStale) this.#tellView();
    }, VIEW_MS);
  }
}

/** A stream of this window or worker. */
export function openStream() {
  return new Stream((path) => new EventSource(path), (path, body) => fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => null));
}
