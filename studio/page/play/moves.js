/**
 * The list of moves.
 *
 * @import {GameView} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/**
 * @param {GameView} game
 * @param {number} shown plies of the position on the board
 * @param {(ply: number) => void} go
 */
export function moveList(game, shown, go) {
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
  const cell = (index, missing) => index === null
    ? html`<td>${missing ? '…' : nothing}</td>`
    : html`<td><button type="button" class="move" aria-current=${index + 1 === shown ? 'true' : nothing}
        @click=${() => go(index + 1)}>${game.moves[index].san}</button></td>`;
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
