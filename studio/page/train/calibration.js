/**
 * Reliability diagrams: predicted and observed shares.
 *
 * @import {Reliability} from '../types.js'
 */
import { html, svg } from '../vendor/lit-html.js';

/** @type {Record<string, string>} */
const NAMES = { win: 'Win', draw: 'Draw', loss: 'Loss', score: 'Expected score' };

/** @param {Record<string, Reliability>} reliability */
export function calibration(reliability) {
  const kinds = ['win', 'draw', 'loss', 'score'].filter((kind) => reliability[kind]?.bins?.length > 0);
  return html`
    <section class="calibration" aria-label="Calibration">
      <h3>Calibration of the last validation</h3>
      <p class="small">Horizontal: predicted share; vertical: observed share. On the diagonal both are equal. Larger dots have
        more samples.</p>
      <div class="plots">${kinds.map((kind) => plot(kind, reliability[kind]))}</div>
    </section>`;
}

/** @param {string} kind @param {Reliability} reliability */
function plot(kind, { bins, error }) {
  const most = Math.max(...bins.map(([, , samples]) => samples));
  const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;
  const words = bins.map(([predicted, seen]) => `predicted ${percent(predicted)}, came true ${percent(seen)}`).join('; ');
  return html`
    <figure>
      <svg viewBox="0 0 104 104" role="img" aria-label="${NAMES[kind]}: ${words}">
        <rect x="2" y="2" width="100" height="100"></rect>
        <line x1="2" y1="102" x2="102" y2="2" class="half"></line>
        <polyline points=${bins.map(([predicted, seen]) => `${2 + 100 * predicted},${102 - 100 * seen}`).join(' ')}></polyline>
        ${bins.map(([predicted, seen, samples]) => svg`<circle cx=${2 + 100 * predicted} cy=${102 - 100 * seen}
          r=${1 + 3 * Math.sqrt(samples / most)}></circle>`)}
      </svg>
      <figcaption class="small">${NAMES[kind]}, mean error ${(100 * error).toFixed(1)} %</figcaption>
    </figure>`;
}
