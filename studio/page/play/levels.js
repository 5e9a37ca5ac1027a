/**
 * The strength of an engine in the form for a new game: a named level, a rating, or full strength.
 *
 * @import {Engine, Level} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/**
 * @param {Engine | undefined} engine
 * @param {Level[]} levels the weakest first
 * @param {(name: string) => string} value of a field
 */
export function strengthFields(engine, levels, value) {
  if (engine && !engine.known) return html`<p class="small">Asking ${engine.name} how strong it can play …</p>`;
  if (!engine?.levels) return ratingField(engine, value);
  const chosen = value('level');
  const level = levels.find((one) => one.key === chosen);
  /** @param {string} key @param {string} label */
  const choice = (key, label) => html`<option value=${key} ?selected=${chosen === key}>${label}</option>`;
  return html`
    <label>Strength
      <select name="level" aria-describedby="level-words">
        ${levels.map(({ key, name, rating }) => choice(key, `${name}, ${rating}`))}
        ${choice('full', 'Full strength')}${choice('rating', 'another rating')}
      </select>
    </label>
    <p class="small" id="level-words">${levelWords(level, chosen)}</p>
    ${chosen === 'rating' ? ratingField(engine, value) : nothing}`;
}

/** What a level is worth. @param {Level | undefined} level @param {string} chosen */
export function levelWords(level, chosen) {
  if (level) return `${level.words[0].toUpperCase()}${level.words.slice(1)}. Rated in games of engines; among people it may be worth more or less.`;
  return chosen === 'rating' ? 'The strength is interpolated between the levels.'
    : 'Stronger than 2450, and the stronger the longer it thinks.';
}

/** @param {Engine | undefined} engine @param {(name: string) => string} value */
function ratingField(engine, value) {
  if (!engine?.elo) return nothing;
  const [low, high] = engine.elo;
  return html`
    <label>Rating, ${low} to ${high} (empty: full strength)
      <input name="elo" type="number" min=${low} max=${high} step="1" .value=${value('elo')}>
    </label>`;
}
