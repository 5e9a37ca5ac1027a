/**
 * The form for a match.
 *
 * @import {Values} from '../memory.js'
 * @import {Engine} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** @type {Values} */
const DEFAULTS = {
  games: '10', at_once: '1', time: 'move', base: '10', increment: '0.1', seconds: '0.2', elo0: '0', elo1: '10',
};

/** @param {Values} values @param {string} name */
function valueOf(values, name) {
  return values[name] ?? DEFAULTS[name] ?? '';
}

/**
 * The form as a command.
 *
 * @param {Values} form
 */
export function beginCommand(form) {
  const number = (/** @type {string} */ name) => Number(valueOf(form, name));
  const ms = (/** @type {string} */ name) => Math.round(number(name) * 1000);
  const time = valueOf(form, 'time') === 'clock'
    ? { clock: { base_ms: ms('base'), increment_ms: ms('increment') } }
    : { move_ms: ms('seconds') };
  return {
    do: 'begin',
    first: form.first,
    second: form.second,
    games: number('games'),
    time,
    at_once: number('at_once'),
    openings: form.openings ?? '',
    ...(form.sprt ? { sprt: { elo0: number('elo0'), elo1: number('elo1') } } : {}),
  };
}

/**
 * @param {Values} values chosen so far
 * @param {Engine[]} engines
 * @param {string[]} books
 * @param {(form: HTMLFormElement) => void} changed
 * @param {(form: HTMLFormElement) => void} begin
 */
export function orderForm(values, engines, books, changed, begin) {
  const value = (/** @type {string} */ name) => valueOf(values, name);
  /** @param {string} name @param {number} otherwise */
  const choices = (name, otherwise) => {
    const known = engines.some((engine) => engine.name === value(name));
    return html`
      <select name=${name}>${engines.map((engine, index) => html`
        <option value=${engine.name} ?selected=${known ? engine.name === value(name) : index === otherwise}
          ?disabled=${engine.error !== null}>${engine.name}</option>`)}
      </select>`;
  };
  /** @param {string} name @param {string} min @param {string} max @param {string} step */
  const field = (name, min, max, step) =>
    html`<input name=${name} type="number" min=${min} max=${max} step=${step} .value=${value(name)} required>`;
  const form = (/** @type {Event} */ event) => /** @type {HTMLFormElement} */ (event.currentTarget);
  return html`
    <form class="order" @change=${(/** @type {Event} */ event) => changed(form(event))}
      @submit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        begin(form(event));
      }}>
      <label>Engine ${choices('first', 0)}</label>
      <label>against ${choices('second', 1)}</label>
      <label>Games, at most ${field('games', '2', '20000', '2')}</label>
      <label>Games at once ${field('at_once', '1', '16', '1')}</label>
      <label>Time
        <select name="time">
          <option value="move" ?selected=${value('time') === 'move'}>for each move</option>
          <option value="clock" ?selected=${value('time') === 'clock'}>a clock</option>
        </select>
      </label>
      ${value('time') === 'clock' ? html`
        <label>Seconds for the game ${field('base', '0.1', '7200', 'any')}</label>
        <label>Seconds added a move ${field('increment', '0', '60', 'any')}</label>`
        : html`<label>Seconds a move ${field('seconds', '0.01', '60', 'any')}</label>`}
      <label>Openings
        <select name="openings">${books.map((book) => html`
          <option value=${book} ?selected=${book === value('openings')}>${book}</option>`)}</select>
      </label>
      <label class="check"><input name="sprt" type="checkbox" .checked=${value('sprt') !== ''}>
        stop when a test (SPRT) decides</label>
      ${value('sprt') !== '' ? html`
        <label>H0: stronger by, Elo ${field('elo0', '-2000', '2000', 'any')}</label>
        <label>H1: stronger by, Elo ${field('elo1', '-2000', '2000', 'any')}</label>` : nothing}
      <button class="first" type="submit">Begin</button>
    </form>`;
}
