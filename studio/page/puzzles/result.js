/**
 * What is told once a puzzle is over: the solution, its themes, and what the network thinks of it.
 *
 * @import {Opinion} from '../types.js'
 * @import {Solving} from './solving.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { priorText } from '../play/evaluation.js';
import { shownSan } from '../play/settings.js';

/** @param {number} place @param {number} legal */
function placeWords(place, legal) {
  return place === 1 ? `the first of ${legal} moves` : `number ${place} of ${legal} moves`;
}

/** The network's view in a sentence or two. @param {Opinion} opinion */
export function opinionWords({ engine, san, prior, place, legal, first_san, first_prior, wdl }) {
  const first = place === 1 ? '' : `; it would look at ${shownSan(first_san)} first (${priorText(first_prior)})`;
  const chances = wdl ? ` It values the position at ${(wdl[0] / 10).toFixed(0)} % win, ${(wdl[1] / 10).toFixed(0)} % draw, ${(wdl[2] / 10).toFixed(0)} % loss for the solver.` : '';
  return `Without a search, ${engine}'s network gives ${shownSan(san)} a prior of ${priorText(prior)}, ${placeWords(place, legal)}${first}.${chances}`;
}

/** @param {Solving} solving */
export function result(solving) {
  if (!solving.isOver) return nothing;
  return html`
    <section aria-label="Solution">
      ${solving.line ? html`<p><b>${solving.line}</b></p>` : nothing}
      ${solving.afterwards ? html`<p>${solving.afterwards}</p>` : nothing}
      <p class="small opinion">${solving.opinion ? opinionWords(solving.opinion) : solving.error ? nothing : 'Asking the network …'}</p>
    </section>`;
}
