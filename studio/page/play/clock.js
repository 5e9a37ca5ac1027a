/**
 * The clocks, which run on between messages of the server.
 *
 * @import {GameView, LiveBoard, MatchClock, Side, TreeNode} from '../types.js'
 */

/** @param {number} ms */
export function clockText(ms) {
  const tenths = Math.floor(ms / 100);
  const seconds = Math.floor(tenths / 10);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  if (seconds < 20) return `0:${two(seconds)}.${tenths % 10}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** A time of `[%clk]`, such as `0:09:58.3`, as clocks show it. @param {string} text */
export function recordedText(text) {
  const parts = text.split(':').map(Number);
  if (parts.some((part) => !Number.isFinite(part))) return text;
  return clockText(Math.round(parts.reduce((sum, part) => sum * 60 + part, 0) * 1000));
}

/**
 * A side's time after the moves of a path, from `[%clk]`.
 *
 * @param {TreeNode[]} path
 * @param {number} firstPly
 * @param {Side} side
 * @returns {string | null}
 */
export function recordedClock(path, firstPly, side) {
  const parity = side === 'white' ? 0 : 1;
  const found = path.findLast((node, index) => node.clock && (firstPly + index) % 2 === parity)?.clock;
  return found ? recordedText(found) : null;
}

/**
 * The text of a side's clock `since` milliseconds after the message.
 *
 * @param {GameView} game
 * @param {Side} side
 * @param {number} since
 */
export function clockShows(game, side, since) {
  const clock = game.clock;
  if (!clock) return '';
  const left = side === 'white' ? clock.white_ms : clock.black_ms;
  const gone = Math.max(0, since - clock.delay_ms);
  return clockText(Math.max(0, clock.running === side ? left - gone : left));
}

/** Between two looks at a running clock. */
const TICK_MS = 100;

/** The clocks of a game of a match, which run on between the server's messages. */
export class MatchClocks {
  /** @type {MatchClock | null} */
  #clock = null;
  #since = 0;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;
  #changed;

  /** @param {() => void} changed when a running clock shows another time */
  constructor(changed) {
    this.#changed = changed;
  }

  /** @param {MatchClock} clock @param {number} [since] when it came, by `performance.now()` */
  receive(clock, since = performance.now()) {
    this.#clock = clock;
    this.#since = since;
    clearInterval(this.#timer);
    this.#timer = clock.running === null ? undefined : setInterval(this.#changed, TICK_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.#clock = null;
  }

  /** The clock that runs stands still as it is: the match was suspended, or the server has gone. @param {number} [at] when, by `performance.now()` */
  stand(at = performance.now()) {
    const clock = this.#clock;
    if (!clock || clock.running === null) return;
    const left = /** @type {[number, number]} */ ([...clock.left_ms]);
    left[clock.running] -= clock.ms + Math.max(0, at - this.#since);
    this.receive({ left_ms: left, running: null, ms: 0 });
  }

  /** White's and Black's time; empty for a game without a clock. @param {LiveBoard} board @returns {[string, string]} */
  texts(board) {
    if (!board.left_ms) return ['', ''];
    const clock = this.#clock ?? { left_ms: board.left_ms, running: null, ms: 0 };
    const gone = clock.ms + performance.now() - this.#since;
    const text = (/** @type {0 | 1} */ side) =>
      clockText(Math.max(0, clock.left_ms[side] - (clock.running === side && !board.end ? gone : 0)));
    return [text(0), text(1)];
  }
}
