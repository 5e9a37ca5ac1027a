/**
 * The form for a new game.
 *
 * @import {Values} from '../memory.js'
 * @import {Engine, Level, OpeningChoice} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { strengthFields } from './levels.js';

/** Choices of seconds per engine move in a game without a clock. */
const MOVE_TIMES = ['0.1', '0.5', '1', '3', '10'];

/** Default values of the form. @type {Values} */
const DEFAULTS = { side: 'white', start: 'standard', minutes: '10', increment: '5', delay: '0', move_time: '1', level: 'full' };

/** @param {Values} values @param {string} name */
function text(values, name) {
  return (values[name] ?? DEFAULTS[name] ?? '').trim();
}

/**
 * @param {Values} form
 * @param {Engine[]} engines
 */
function engineSeat(form, engines) {
  const [name, level, elo] = [text(form, 'engine'), text(form, 'level'), text(form, 'elo')];
  const engine = engines.find((one) => one.name === name);
  const seat = { kind: 'engine', name };
  if (engine?.levels && level !== 'rating') return level === 'full' ? seat : { ...seat, level };
  return engine?.elo && elo !== '' ? { ...seat, elo: Math.round(Number(elo)) } : seat;
}

/**
 * The engine that is to play at less than full strength, but has not said yet how it can.
 *
 * @param {Values} form
 * @param {Engine[]} engines
 */
export function awaited(form, engines) {
  const engine = engines.find(({ name }) => name === text(form, 'engine'));
  const isLimited = text(form, 'level') !== 'full' || text(form, 'elo') !== '';
  return engine && !engine.known && isLimited && text(form, 'side') !== 'both' ? engine : undefined;
}

/**
 * The action that the form describes.
 *
 * @param {Values} form
 * @param {Engine[]} engines
 */
export function newGameAction(form, engines) {
  const person = { kind: 'person' };
  const engine = engineSeat(form, engines);
  const other = { kind: 'engine', name: text(form, 'other') };
  const chosen = text(form, 'side');
  const side = chosen === 'random' ? (Math.random() < 0.5 ? 'white' : 'black') : chosen;
  /** @type {Record<string, [object, object]>} */
  const seats = {
    white: [person, engine],
    black: [engine, person],
    both: [person, person],
    neither: [engine, other],
  };
  const [white, black] = seats[side];
  const number = text(form, 'number');
  /** @type {Record<string, unknown>} */
  const starts = {
    standard: 'standard',
    chess960: { chess960: number === '' ? null : Number(number) },
    double: { double_chess960: [number, text(form, 'second')].map((digits) => (digits === '' ? null : Number(digits))) },
    fen: { fen: text(form, 'fen') },
    opening: { moves: text(form, 'opening') },
  };
  const clock = text(form, 'timed')
    ? { base_s: Math.round(Number(text(form, 'minutes')) * 60), increment_s: Math.round(Number(text(form, 'increment'))),
      delay_s: Math.round(Number(text(form, 'delay'))) }
    : null;
  const move_time_ms = Math.round(Number(text(form, 'move_time')) * 1000);
  return { do: 'new', white, black, start: starts[text(form, 'start')], clock, move_time_ms };
}

/**
 * @typedef {object} NewGameChoice the choices so far
 * @property {Values} values
 * @property {OpeningChoice[]} openings found by name
 * @property {string | null} error
 */

/**
 * @param {NewGameChoice} chosen
 * @param {Engine[]} engines
 * @param {Level[]} levels
 * @param {object} on
 * @param {(form: HTMLFormElement) => void} on.changed a field has another value
 * @param {(name: string) => void} on.search an opening's name was typed
 * @param {(form: HTMLFormElement) => void} on.begin
 * @param {() => void} on.close
 */
export function newGameDialog(chosen, engines, levels, { changed, search, begin, close }) {
  const value = (/** @type {string} */ name) => text(chosen.values, name);
  const [chosenSide, chosenStart, timed] = [value('side'), value('start'), value('timed') !== ''];
  const playing = chosenSide !== 'both';
  const opening = chosen.openings.find((found) => found.moves === chosen.values.opening) ?? chosen.openings[0];
  /** @param {string} name */
  const choices = (name) => html`
    <select name=${name}>
      ${engines.map((engine) => html`
        <option value=${engine.name} ?selected=${engine.name === value(name)} ?disabled=${engine.error !== null}>
          ${engine.name}${engine.error ? ' (does not start)' : nothing}
        </option>`)}
    </select>`;
  /** @param {string} key @param {string} label */
  const side = (key, label) => html`<option value=${key} ?selected=${chosenSide === key}>${label}</option>`;
  /** @param {string} key @param {string} label */
  const start = (key, label) => html`<option value=${key} ?selected=${chosenStart === key}>${label}</option>`;
  const broken = engines.filter((engine) => engine.error);
  const late = awaited(chosen.values, engines);
  return html`
    <dialog id="new-game" aria-labelledby="new-game-title" @close=${close}>
      <form method="dialog" @submit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        begin(/** @type {HTMLFormElement} */ (event.currentTarget));
      }} @change=${(/** @type {Event} */ event) => changed(/** @type {HTMLFormElement} */ (event.currentTarget))}>
        <h2 id="new-game-title">New game</h2>
        <label>You play
          <select name="side">
            ${side('white', 'White')}${side('black', 'Black')}${side('random', 'either side, at random')}
            ${side('both', 'both sides')}${side('neither', 'neither: two engines')}
          </select>
        </label>
        ${playing ? html`
          <label>${chosenSide === 'neither' ? "White's engine" : 'Against'} ${choices('engine')}</label>
          ${strengthFields(engines.find((engine) => engine.name === value('engine')), levels, value)}` : nothing}
        ${chosenSide === 'neither' ? html`<label>Black's engine ${choices('other')}</label>` : nothing}
        <label>Start
          <select name="start">
            ${start('standard', 'initial position')}${start('opening', 'an opening')}
            ${start('chess960', 'Chess960')}${start('double', 'double Chess960')}${start('fen', 'a position (FEN)')}
          </select>
        </label>
        ${chosenStart === 'chess960' ? html`
          <label>Number, 0 to 959 (empty: at random) <input name="number" type="number" min="0" max="959" step="1"
            .value=${value('number')}></label>`
          : nothing}
        ${chosenStart === 'double' ? html`
          <label>White's number, 0 to 959 (empty: at random) <input name="number" type="number" min="0" max="959" step="1"
            .value=${value('number')}></label>
          <label>Black's number <input name="second" type="number" min="0" max="959" step="1" .value=${value('second')}></label>`
          : nothing}
        ${chosenStart === 'opening' ? html`
          <label>Name or code
            <input name="opening_name" autocomplete="off" spellcheck="false" placeholder="Najdorf, C60 …" .value=${value('opening_name')}
              @input=${(/** @type {Event} */ event) => search(/** @type {HTMLInputElement} */ (event.target).value)}>
          </label>
          <label>Opening
            <select name="opening" size="6" required>${chosen.openings.map((found) => html`
              <option value=${found.moves} ?selected=${found === opening} title="${found.name}: ${found.moves}">${found.name}: ${found.moves}</option>`)}
            </select>
          </label>
          ${opening ? nothing : html`<p class="small">No opening is called like that.</p>`}` : nothing}
        ${chosenStart === 'fen' ? html`
          <label>FEN <input name="fen" required maxlength="120" autocomplete="off" spellcheck="false" .value=${value('fen')}>
          </label>` : nothing}
        <label class="check"><input name="timed" type="checkbox" .checked=${timed}> with a clock</label>
        ${timed ? html`
          <label>Minutes <input name="minutes" type="number" min="0.1" max="1440" step="any" .value=${value('minutes')} required></label>
          <label>Seconds added per move
            <input name="increment" type="number" min="0" max="3600" step="1" .value=${value('increment')} required></label>
          <label>Seconds of delay before the time runs
            <input name="delay" type="number" min="0" max="3600" step="1" .value=${value('delay')} required></label>
          ` : html`
          <label>The engine thinks
            <select name="move_time">${MOVE_TIMES.map((seconds) => html`
              <option value=${seconds} ?selected=${seconds === value('move_time')}>${seconds} s a move</option>`)}</select>
          </label>`}
        ${broken.map((engine) => html`<p class="small">${engine.error}.</p>`)}
        ${late ? html`<p class="small" id="begin-waits">${late.name} is asked how strongly it can play: wait a moment.</p>` : nothing}
        <p class="error" role="alert">${chosen.error ?? nothing}</p>
        <div class="buttons">
          <button class="first" type="submit" ?disabled=${late !== undefined} aria-describedby=${late ? 'begin-waits' : nothing}>Begin</button>
          <button type="button" @click=${close}>Cancel</button>
        </div>
      </form>
    </dialog>`;
}
