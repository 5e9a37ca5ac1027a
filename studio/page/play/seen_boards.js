/**
 * The boards that this tab has shown, as they were then, and the one that the server sends to it.
 *
 * @import {GameView} from '../types.js'
 * @import {Looking} from './looking.js'
 */

/** @typedef {{game: GameView, received: number, looking: Looking}} Seen `received` by `performance.now()` */

/** Names of a board and its thoughts in the server's messages. @param {number} board */
export function namesOf(board) {
  return [`play/${board}`, `thoughts/${board}`];
}

export class SeenBoards {
  /** @type {Map<number, Seen>} */
  #seen = new Map();
  /** @type {number | null} */
  #sent = null;
  #view;

  /** @param {(name: string, isInView: boolean) => void} view tells the server what is in view */
  constructor(view) {
    this.#view = view;
  }

  /** The server is to send this board, and no longer the one before. @param {number} board */
  send(board) {
    for (const name of namesOf(board)) this.#view(name, true);
    if (this.#sent !== null && this.#sent !== board) for (const name of namesOf(this.#sent)) this.#view(name, false);
    this.#sent = board;
  }

  /** @param {number} board */
  at(board) {
    return this.#seen.get(board);
  }

  /** @param {Seen} seen */
  keep(seen) {
    this.#seen.set(seen.game.id, seen);
  }

  /** @param {number} board */
  forget(board) {
    this.#seen.delete(board);
  }

  /** Forgets all but these. @param {Set<number>} boards */
  forgetOthers(boards) {
    for (const board of this.#seen.keys()) if (!boards.has(board)) this.#seen.delete(board);
  }
}
