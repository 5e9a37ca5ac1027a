/**
 * The open boards: which of them this tab shows, and the list of all.
 *
 * @import {BoardSummary} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** The number of the board in the page's address, as in `#play/3`; `null` without one. @param {string} hash */
export function boardIn(hash) {
  const number = Number(/^#play\/(\d+)$/.exec(hash)?.[1] ?? NaN);
  return Number.isSafeInteger(number) ? number : null;
}

/** @param {BoardSummary} board */
function playersOf({ white, black, state }) {
  if (state === 'loaded' && white === 'You' && black === 'You') return 'Position';
  return `${white || '?'} – ${black || '?'}`;
}

/** @param {BoardSummary} board */
function stateOf({ state, moves, result }) {
  const move = Math.floor(moves / 2) + 1;
  switch (state) {
    case 'your_move': return `your move ${move}`;
    case 'thinking': return `thinking, move ${move}`;
    case 'suspended': return `suspended, move ${move}`;
    case 'stalled': return 'engine stopped';
    case 'loaded': return 'loaded';
    default: return (result ?? 'over').replace('1/2-1/2', '½–½');
  }
}

/** More boards than these may not be in view at once. */
const MANY = 4;

/** @typedef {{board: number, label: string}} NamedBoard the label has its players, or is empty if they are not known */

/**
 * @typedef {object} BoardActions
 * @property {(board: number) => void} show this tab shows this board from now on
 * @property {() => number | null} last the board that this browser showed last
 * @property {() => void} changed
 */

export class OpenBoards {
  /** `null` before the server has said which there are. @type {BoardSummary[] | null} */
  #list = null;
  /** The board of this tab. @type {number | null} */
  #here = null;
  /** A board that was opened, before the list has it. @type {number | null} */
  #awaited = null;
  /** A board that was closed, and can be opened again. @type {NamedBoard | null} */
  #closed = null;
  #on;
  /** The board and the list that were drawn last. */
  #drawn = '';

  /** @param {BoardActions} on */
  constructor(on) {
    this.#on = on;
  }

  get here() {
    return this.#here;
  }

  /** The board with this game of the library. @param {string} name */
  withGame(name) {
    return this.#list?.find((board) => board.name === name)?.board ?? null;
  }

  /** @param {BoardSummary[]} list */
  receive(list) {
    const here = this.#here;
    const left = here === null ? null : this.named(here);
    this.#list = list;
    if (this.#awaited !== null && list.some(({ board }) => board === this.#awaited)) this.#awaited = null;
    if (left && !this.#isOpen(left.board)) this.#leave(left);
    this.#on.changed();
  }

  /** The address names this board, or none. @param {number | null} board */
  enter(board) {
    const wanted = board ?? this.#here ?? this.#on.last();
    if (this.#list === null) {
      if (board !== null) this.#show(board);
    } else if (wanted !== null && this.#isOpen(wanted)) {
      this.#show(wanted);
    } else if (board === null) {
      this.#showLast();
    } else {
      this.#leave({ board, label: '' });
    }
  }

  /** A board was opened for this tab. @param {number} board */
  open(board) {
    this.#closed = null;
    // The list may come before the answer to this tab.
    if (!this.#isOpen(board)) this.#awaited = board;
    this.#show(board);
  }

  /** A board with its players. @param {number} board @returns {NamedBoard} */
  named(board) {
    const summary = this.#list?.find((one) => one.board === board);
    return { board, label: summary ? playersOf(summary) : '' };
  }

  /** This board was closed here. @param {NamedBoard} closed */
  close(closed) {
    this.#closed = closed;
    this.#on.changed();
  }

  /** @param {number} board */
  #isOpen(board) {
    return board === this.#awaited || (this.#list?.some((one) => one.board === board) ?? false);
  }

  /** @param {number} board */
  #show(board) {
    if (board === this.#here) return;
    this.#here = board;
    this.#on.show(board);
  }

  /** This board is closed: another one is shown. @param {NamedBoard} closed */
  #leave(closed) {
    this.#closed = closed;
    this.#showLast();
  }

  #showLast() {
    const last = this.#on.last();
    const board = last !== null && this.#isOpen(last) ? last : this.#list?.at(-1)?.board;
    if (board !== undefined) this.#show(board);
    this.#on.changed();
  }

  /** Brings this tab's board into view in the list, when either has changed. @param {HTMLElement} root */
  scroll(root) {
    const drawn = `${this.#here} of ${this.#list?.map(({ board }) => board)}`;
    const link = root.querySelector('.open-boards [aria-current]');
    const [row, list] = [link?.closest('li'), link?.closest('ul')];
    if (drawn === this.#drawn || !row || !list) return;
    this.#drawn = drawn;
    list.scrollTop = row.offsetTop + row.offsetHeight - list.clientHeight;
    list.scrollLeft = row.offsetLeft + row.offsetWidth - list.clientWidth;
  }

  /**
   * @param {object} on
   * @param {(board: number) => void} on.close
   * @param {(board: number) => void} on.reopen
   */
  view({ close, reopen }) {
    const closed = this.#closed;
    const list = this.#list ?? [];
    return html`
      ${closed ? html`<p class="notice" role="status">${closed.label ? `${closed.label} is closed` : `Board ${closed.board} is closed`}.
        <button type="button" @click=${() => reopen(closed.board)}>${closed.label ? 'Undo' : 'Open it again'}</button></p>` : nothing}
      ${list.length > MANY ? html`<p class="small">${list.length} boards are open: the list scrolls.</p>` : nothing}
      ${list.length < 2 ? nothing : html`
        <nav class="open-boards" aria-label="Open boards"><ul>${list.map((one) => html`
          <li class=${one.state}><a href="#play/${one.board}" title="Board ${one.board}" aria-current=${one.board === this.#here ? 'page' : nothing}>
            <span class="players">${playersOf(one)}</span> <span class="state">${stateOf(one)}</span></a>
            <button type="button" aria-label="Close board ${one.board}, ${playersOf(one)}" title="Close: an unfinished game stays in Games"
              @click=${() => close(one.board)}>×</button></li>`)}</ul></nav>`}`;
  }
}
