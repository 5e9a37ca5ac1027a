/**
 * The form for a match.
 *
 * @import {Engine} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** @typedef {{time: 'move' | 'clock', sprt: boolean}} OrderForm what has been chosen so far */

/**
 * The command that the form describes.
 *
 * @param {FormData} form
 */
export function beginCommand(form) {
  const number = (/** @type {string} */ name) => Number(form.get(name));
  const ms = (/** @type {string} */ name) => Math.round(number(name) * 1000);
  const time = form.get('time') === 'clock'
    ? { clock: { base_ms: ms('base'), increment_ms: ms('increment') } }
    : { move_ms: ms('seconds') };
  return {
    do: 'begin',
    first: form.get('first'),
    second: form.get('second'),
    games: number('games'),
    time,
    at_once: number('at_once'),
    openings: form.get('openings') ?? '',
    ...(form.has('sprt') ? { sprt: { elo0: number('elo0'), elo1: number('elo1') } } : {}),
  };
}

/**
 * @param {OrderForm} chosen
 * @param {Engine[]} engines
 * @param {string[]} books
 * @param {(form: OrderForm) => void} changed
 * @param {(form: FormData) => void} begin
 */
export function orderForm(chosen, engines, books, changed, begin) {
  /** @param {string} name @param {number} selected */
  const choices = (name, selected) => html`
    <select name=${name}>${engines.map((engine, index) => html`
      <option value=${engine.name} ?selected=${index === selected} ?disabled=${engine.error !== null}>${engine.name}</option>`)}
    </select>`;
  /** @param {string} name @param {string} value @param {string} min @param {string} max @param {string} step */
  const field = (name, value, min, max, step) =>
    html`<input name=${name} type="number" min=${min} max=${max} step=${step} value=${value} required>`;
  return html`
    <form class="order" @submit=${(/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      begin(new FormData(/** @type {HTMLFormElement} */ (event.target)));
    }}>
      <label>Engine ${choices('first', 0)}</label>
      <label>against ${choices('second', 1)}</label>
      <label>Games, at most ${field('games', '10', '2', '20000', '2')}</label>
      <label>Games at once ${field('at_once', '1', '1', '16', '1')}</label>
      <label>Time
        <select name="time" @change=${(/** @type {Event} */ event) => changed({
          ...chosen, time: /** @type {HTMLSelectElement} */ (event.target).value === 'clock' ? 'clock' : 'move',
        })}>
          <option value="move" ?selected=${chosen.time === 'move'}>for each move</option>
          <option value="clock" ?selected=${chosen.time === 'clock'}>a clock</option>
        </select>
      </label>
      ${chosen.time === 'clock' ? html`
        <label>Seconds for the game ${field('base', '10', '0.1', '7200', 'any')}</label>
        <label>Seconds added a move ${field('increment', '0.1', '0', '60', 'any')}</label>`
        : html`<label>Seconds a move ${field('seconds', '0.2', '0.01', '60', 'any')}</label>`}
      <label>Openings
        <select name="openings">${books.map((book) => html`<option value=${book}>${book}</option>`)}</select>
      </label>
      <label class="check"><input name="sprt" type="checkbox" ?checked=${chosen.sprt}
        @change=${(/** @type {Event} */ event) => changed({ ...chosen, sprt: /** @type {HTMLInputElement} */ (event.target).checked })}>
        stop when a test (SPRT) decides</label>
      ${chosen.sprt ? html`
        <label>not stronger by, Elo ${field('elo0', '0', '-2000', '2000', 'any')}</label>
        <label>stronger by, Elo ${field('elo1', '10', '-2000', '2000', 'any')}</label>` : nothing}
      <button class="first" type="submit">Begin</button>
    </form>`;
}
