/** White's chances move by move, with a slider: of a review, of a match, and of the game that is played. */
import { html, svg } from '../vendor/lit-html.js';

/**
 * @param {[number, number][][]} lines plies and White's chances there, 0 to 100; a second line is broken
 * @param {object} shown
 * @param {number} shown.last ply
 * @param {number} shown.ply of the position on the board
 * @param {string} shown.label
 * @param {string} shown.words about that position
 * @param {(ply: number) => void} shown.go
 */
export function curveSlider(lines, { last, ply, label, words, go }) {
  const end = Math.max(1, last);
  const press = (/** @type {MouseEvent} */ { clientX, currentTarget }) => {
    const { left, width } = /** @type {Element} */ (currentTarget).getBoundingClientRect();
    go(Math.min(last, Math.max(0, Math.round(end * (clientX - left) / width))));
  };
  return html`
    <div class="curve">
      <svg viewBox="0 0 ${end} 100" preserveAspectRatio="none" aria-hidden="true" @click=${press}>
        <line class="half" x1="0" x2=${end} y1="50" y2="50"></line>
        ${lines.map((line) => svg`<polyline points=${line.map(([at, white]) => `${at},${100 - white}`).join(' ')}></polyline>`)}
        <line class="now" x1=${ply} x2=${ply} y1="0" y2="100"></line>
      </svg>
      <input type="range" min="0" max=${last} step="1" .value=${String(ply)} aria-label=${label} aria-valuetext=${words}
        @input=${(/** @type {Event} */ event) => go(Number(/** @type {HTMLInputElement} */ (event.target).value))}>
    </div>`;
}
