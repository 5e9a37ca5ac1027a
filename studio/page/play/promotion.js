/**
 * The choice of a promotion piece.
 *
 * @import {Side} from '../types.js'
 */
import { html } from '../vendor/lit-html.js';

const CHOICES = /** @type {const} */ ([['q', 'Queen'], ['r', 'Rook'], ['b', 'Bishop'], ['n', 'Knight']]);

/**
 * @param {Side} side
 * @param {(piece: string) => void} choose
 * @param {() => void} cancel
 */
export function promotionDialog(side, choose, cancel) {
  return html`
    <dialog id="promotion" aria-labelledby="promotion-title" @cancel=${cancel}>
      <h2 id="promotion-title">Promote to</h2>
      <div class="pieces cg-wrap">
        ${CHOICES.map(([letter, name]) => html`
          <button type="button" @click=${() => choose(letter)}>
            <piece class=${`${side} ${name.toLowerCase()}`}></piece><span>${name}</span>
          </button>`)}
      </div>
      <button type="button" @click=${cancel}>Cancel</button>
    </dialog>`;
}
