/**
 * A hint in words and on the board: the piece to move, then the move.
 *
 * @import {GameView} from '../types.js'
 * @import {Arrow} from './board.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { shownSan } from './settings.js';
import { spoken } from './words.js';

/** Whether a hint may be asked for. @param {GameView} game */
export function mayHint(game) {
  const hint = game.hint;
  return !game.end && game[game.turn].kind === 'person' && game.engines.length > 0 && !hint?.thinking && !hint?.uci;
}

/** For screen readers; empty until the engine has answered. @param {GameView} game */
export function hintWords({ hint }) {
  if (hint?.san) return `Hint: ${spoken(hint.san)}.`;
  return hint?.piece ? `Hint: move the ${hint.piece} on ${hint.square}.` : '';
}

/** @param {GameView} game @returns {Arrow[]} */
export function hintArrows({ hint }) {
  if (hint?.uci) return [{ uci: hint.uci, brush: 'green' }];
  return hint?.square ? [{ uci: hint.square, brush: 'green' }] : [];
}

/** @param {GameView} game @param {() => void} ask for the move */
export function hintLine({ hint }, ask) {
  if (!hint) return nothing;
  if (hint.thinking) return html`<p class="hint">Looking for a hint …</p>`;
  return html`<p class="hint">Hint: ${hint.san ? html`<b>${shownSan(hint.san)}</b>`
    : html`move the <b>${hint.piece}</b> on <b>${hint.square}</b>.
      <button type="button" class="link" @click=${ask}>Show the move</button>`}</p>`;
}
