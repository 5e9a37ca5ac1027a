/**
 * The list of moves.
 *
 * @import {GameView} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/**
 * @param {GameView} game
 * @param {number} shown ply of the position on the board
 * @param {Map<number, {mark: string, name: string, className: string}>} marks of a review, by the move's index
 * @param {(ply: number) => void} go
 */
export function moveList(game, shown, marks, go) {
  /** @type {{number: number, white: number | null, black: number | null}[]} */
  const rows = [];
  game.moves.forEach((_, index) => {
    const ply = game.first_ply + index;
    const number = Math.floor(ply / 2) + 1;
    const isBlack = ply % 2 === 1;
    if (isBlack && rows.length > 0) rows[rows.length - 1].black = index;
    else rows.push({ number, white: isBlack ? null : index, black: isBlack ? index : null });
  });
  /** @param {number | null} index @param {boolean} missing */
  const cell = (index, missing) => {
    if (index === null) return html`<td>${missing ? '…' : nothing}</td>`;
    const mark = marks.get(index);
    return html`<td><button type="button" class="move ${mark?.className ?? ''}" title=${mark?.name ?? nothing}
      aria-current=${index + 1 === shown ? 'true' : nothing} @click=${() => go(index + 1)}>${game.moves[index].san}${mark
        ? html`<span class="mark">${mark.mark}<span class="unseen"> ${mark.name}</span></span>` : nothing}</button></td>`;
  };
  return html`
    <div class="moves" tabindex="0" role="region" aria-label="Moves">
      <table aria-label="Moves by number, White, Black">
        <colgroup><col class="number"><col><col></colgroup>
        <tbody>
          ${rows.map((row) => html`
            <tr><th scope="row">${row.number}.</th>${cell(row.white, true)}${cell(row.black, false)}</tr>`)}
        </tbody>
      </table>
      ${rows.length === 0 ? html`<p class="small">No moves yet.</p>` : nothing}
    </div>`;
}

/** The phase of the position after `ply` moves. @param {GameView} game @param {number} ply */
export function phaseAt(game, ply) {
  const [middlegame, endgame] = game.phases;
  if (endgame !== null && ply >= endgame) return 'Endgame';
  return middlegame !== null && ply >= middlegame ? 'Middlegame' : 'Opening';
}
