/**
 * The ratings of the puzzles to solve, which the browser keeps.
 *
 * @import {Solving} from './solving.js'
 */
import { recall, remember } from '../memory.js';
import { html } from '../vendor/lit-html.js';

/** Beyond all ratings. */
const HIGHEST = 9999;

/** The fields' ratings; `null` if both are empty. @param {string} low @param {string} high @returns {[number, number] | null} */
export function ratingsOf(low, high) {
  if (low.trim() === '' && high.trim() === '') return null;
  const number = (/** @type {string} */ text, /** @type {number} */ otherwise) =>
    (text.trim() === '' ? otherwise : Math.max(0, Math.min(HIGHEST, Math.round(Number(text)))));
  return [number(low, 0), number(high, HIGHEST)];
}

export function recallRatings() {
  const { low, high } = recall('puzzle ratings');
  return ratingsOf(low ?? '', high ?? '');
}

/** @param {Solving} solving */
export function ratingFields(solving) {
  const { low, high } = recall('puzzle ratings');
  const changed = (/** @type {Event} */ event) => {
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const [from, to] = ['low', 'high'].map((name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name)).value);
    remember('puzzle ratings', { low: from, high: to });
    solving.want(ratingsOf(from, to));
  };
  /** @param {string} name @param {string} label @param {string | undefined} value */
  const field = (name, label, value) => html`<label class="inline">${label}
    <input name=${name} type="number" min="0" max=${HIGHEST} step="50" .value=${value ?? ''}></label>`;
  return html`<form class="buttons between" @change=${changed} @submit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${field('low', 'Rated from', low)} ${field('high', 'to', high)}</form>`;
}
