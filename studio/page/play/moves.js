/**
 * The list of moves, with variations and comments.
 *
 * @import {GameView, TreeNode} from '../types.js'
 * @import {MoveTree, Part} from './move_tree.js'
 */
import { html, noChange, nothing } from '../vendor/lit-html.js';
import { recordedText } from './clock.js';
import { recordedScore } from './evaluation.js';
import { nagText, rowsOf } from './move_tree.js';
import { notation, shownSan } from './settings.js';

/** @typedef {Map<number, {mark: string, name: string, className: string}>} Marks of a review, by the move's index */

export class MoveList {
  /** What was drawn last. @type {unknown[]} */
  #drawn = [];
  /** State at the last scrolling. */
  #scrolled = '';

  /**
   * @param {GameView} game
   * @param {MoveTree} tree
   * @param {number} shown node of the position on the board
   * @param {Marks} marks
   * @param {Map<number, string>} evals of a review, by the move's index
   * @param {boolean} isNew the list is not on the page yet
   * @param {object} on
   * @param {(node: number) => void} on.go
   * @param {(node: number) => void} on.menu
   */
  view(game, tree, shown, marks, evals, isNew, on) {
    // The list may have thousands of moves, and the page is drawn ten times a second.
    const drawn = [tree, shown, notation(), JSON.stringify([[...marks], [...evals]])];
    if (!isNew && drawn.every((value, index) => value === this.#drawn[index])) return noChange;
    this.#drawn = drawn;
    return moveList(game, tree, shown, marks, evals, on);
  }

  /** Scrolls to the shown move, within the list only. @param {Element | null} list @param {string} state of the list */
  scroll(list, state) {
    const move = list?.querySelector('[aria-current]');
    // A list that has become smaller may hide the move.
    const scrolled = `${state} ${list?.clientHeight}`;
    if (!list || scrolled === this.#scrolled) return;
    this.#scrolled = scrolled;
    if (!move) {
      list.scrollTop = 0;
      return;
    }
    const from = list.getBoundingClientRect();
    const at = move.getBoundingClientRect();
    if (at.top < from.top) list.scrollTop -= from.top - at.top;
    else if (at.bottom > from.bottom) list.scrollTop += at.bottom - from.bottom;
  }
}

/**
 * @param {GameView} game
 * @param {MoveTree} tree
 * @param {number} shown
 * @param {Marks} marks
 * @param {Map<number, string>} evals
 * @param {{go: (node: number) => void, menu: (node: number) => void}} on
 */
function moveList(game, tree, shown, marks, evals, { go, menu }) {
  /** Evaluation and clock. @param {string | undefined} score @param {string | undefined} clock */
  const numbers = (score, clock) => (score || clock ? html`<span class="numbers">${score
    ? html`<span title="Evaluation for White">${recordedScore(score)}</span>` : nothing} ${clock
    ? html`<span title="Time left">${recordedText(clock)}</span>` : nothing}</span>` : nothing);
  /** @param {TreeNode} node @param {string} label @param {number} [ply] index in the main line */
  const move = (node, label, ply) => {
    const mark = ply === undefined ? undefined : marks.get(ply);
    const score = node.eval ?? (ply === undefined ? undefined : evals.get(ply));
    const [signs, words] = nagText(node.nags ?? []);
    const sign = mark?.mark ?? signs;
    return html`<button type="button" class="move ${mark?.className ?? ''}" title=${mark?.name ?? (words || nothing)}
      data-node=${node.id} aria-current=${node.id === shown ? 'true' : nothing} @click=${() => go(node.id)}
      @contextmenu=${(/** @type {Event} */ event) => {
        event.preventDefault();
        menu(node.id);
      }}>${label ? `${label} ` : nothing}${shownSan(node.san)}${sign
        ? html`<span class="mark">${sign}<span class="unseen"> ${mark?.name ?? words}</span></span>` : nothing}${ply === undefined ? nothing
        : numbers(score, node.clock)}</button>`;
  };
  let index = 0;
  /** @param {TreeNode | null} node @param {boolean} missing */
  const cell = (node, missing) => {
    if (!node) return html`<td>${missing ? '…' : nothing}</td>`;
    index += 1;
    return html`<td>${move(node, '', index - 1)}</td>`;
  };
  /** @param {Part[]} parts @returns {unknown[]} */
  const text = (parts) => parts.map((part, place) => {
    const space = place > 0 ? ' ' : '';
    if ('comment' in part) return html`${space}<span class="comment">${part.comment}</span>`;
    if ('line' in part) return html`${space}<span class="line">(${text(part.line)})</span>`;
    return html`${space}${move(part.node, part.label)}`;
  });
  /** @param {Part} part */
  const note = (part) => ('comment' in part ? html`<p class="comment">${part.comment}</p>`
    : 'line' in part ? html`<p class="line">${text(part.line)}</p>` : nothing);
  const rows = rowsOf(tree, game.first_ply);
  return html`
      <table aria-label="Moves by number, White, Black">
        <colgroup><col class="number"><col><col></colgroup>
        <tbody>
          ${rows.map((row) => ('notes' in row
            ? html`<tr class="notes"><td colspan="3">${row.notes.map(note)}</td></tr>`
            : html`<tr><th scope="row">${row.number}.</th>${cell(row.white, true)}${cell(row.black, false)}</tr>`))}
        </tbody>
      </table>
      ${rows.length === 0 ? html`<p class="small">No moves yet.</p>` : nothing}`;
}

/** The phase of the position after `ply` moves. @param {GameView} game @param {number} ply */
export function phaseAt(game, ply) {
  const [middlegame, endgame] = game.phases;
  if (endgame !== null && ply >= endgame) return 'Endgame';
  return middlegame !== null && ply >= middlegame ? 'Middlegame' : 'Opening';
}
