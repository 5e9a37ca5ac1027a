/**
 * The boards that this tab has shown, as they were then, and the one that the server sends to it.
 *
 * @import {GameView} from '../types.js'
 * @import {Looking} from './looking.js'
 */

/** @typedef {{game: GameView, received: number, looking: Looking}} Seen `received` by `performance.now()` */

/** What tells the server that somebody may be looking: a suspended game goes on then. @param {number} board */
function eyesOn(board) {
  return `eyes/${board}`;
}

/** Names of a board and its thoughts in the server's messages. @param {number} board */
export function namesOf(board) {
  return [`play/${board}`, `thoughts/${board}`];
}

export class SeenBoards {
  /** @type {Map<number, Seen>} */
  #seen = new Map();
  /** @type {number | null} */
  #sent = null;
  #isSeen = false;
  #view;

  /** @param {(name: string, isInView: boolean) => void} view tells the server what is in view */
  constructor(view) {
    this.#view = view;
  }

  /** The server is to send this board, and no longer the one before. @param {number} board */
  send(board) {
    const before = this.#sent;
    this.#sent = board;
    for (const name of namesOf(board)) this.#view(name, true);
    this.#view(eyesOn(board), this.#isSeen);
    if (before !== null && before !== board) for (const name of [...namesOf(before), eyesOn(before)]) this.#view(name, false);
  }

  /** Whether a person may see the board. @param {boolean} isSeen */
  see(isSeen) {
    this.#isSeen = isSeen;
    if (this.#sent !== null) this.#view(eyesOn(this.#sent), isSeen);
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
