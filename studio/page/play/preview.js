/**
 * Plays a line on the board while the pointer is over it.
 *
 * @import {ThoughtLine} from '../types.js'
 * @import {Preview} from './board.js'
 */

/** Milliseconds before the first move, and between two. */
const FIRST_MS = 450;
const STEP_MS = 700;

export class LinePreview {
  /** @type {Preview | null} */
  #now = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #next;
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  /** The position that is shown. */
  get now() {
    return this.#now;
  }

  /** @param {ThoughtLine} line */
  begin(line) {
    let index = 0;
    const step = () => {
      this.#now = { uci: line.uci[index], fen: line.fens[index] };
      index += 1;
      if (index < line.fens.length) this.#next = setTimeout(step, STEP_MS);
      this.#changed();
    };
    this.#next = setTimeout(step, FIRST_MS);
  }

  /** Shows the position after a move of the line at once. @param {ThoughtLine} line @param {number} index */
  show(line, index) {
    clearTimeout(this.#next);
    this.#now = { uci: line.uci[index], fen: line.fens[index] };
    this.#changed();
  }

  end() {
    clearTimeout(this.#next);
    this.#now = null;
  }
}
