/**
 * The form for a new game.
 *
 * @import {Engine, OpeningChoice} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** Seconds that an engine may think about a move, in a game without a clock. */
const MOVE_TIMES = ['0.1', '0.5', '1', '3', '10'];

/** @param {FormData} form @param {string} name */
function text(form, name) {
  return String(form.get(name) ?? '').trim();
}

/** @param {string} name @param {string} elo */
function engineSeat(name, elo) {
  return { kind: 'engine', name, ...(elo === '' ? {} : { elo: Math.round(Number(elo)) }) };
}

/**
 * The action that the form describes.
 *
 * @param {FormData} form
 */
export function newGameAction(form) {
  const person = { kind: 'person' };
  const engine = engineSeat(text(form, 'engine'), text(form, 'elo'));
  const other = engineSeat(text(form, 'other'), '');
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
    fen: { fen: text(form, 'fen') },
    opening: { moves: text(form, 'opening') },
  };
  const clock = form.get('timed')
    ? { base_s: Math.round(Number(text(form, 'minutes')) * 60), increment_s: Math.round(Number(text(form, 'increment'))) }
    : null;
  const move_time_ms = Math.round(Number(text(form, 'move_time')) * 1000);
  return { do: 'new', white, black, start: starts[text(form, 'start')], clock, move_time_ms };
}

/**
 * @typedef {object} NewGameForm what has been chosen so far
 * @property {string} side
 * @property {string} engine
 * @property {string} start
 * @property {string} fen
 * @property {boolean} timed
 * @property {OpeningChoice[]} openings those that were found
 * @property {string | null} error
 */

/** @returns {NewGameForm} */
export function emptyForm() {
  return { side: 'white', engine: '', start: 'standard', fen: '', timed: false, openings: [], error: null };
}

/**
 * @param {NewGameForm} chosen
 * @param {Engine[]} engines
 * @param {object} on
 * @param {() => void} on.changed a choice that shows or hides others
 * @param {(name: string) => void} on.search an opening's name was typed
 * @param {(form: FormData) => void} on.begin
 * @param {() => void} on.close
 */
export function newGameDialog(chosen, engines, { changed, search, begin, close }) {
  const playing = chosen.side !== 'both';
  const range = engines.find((engine) => engine.name === chosen.engine)?.elo;
  /** @param {string} name @param {string} selected */
  const choices = (name, selected) => html`
    <select name=${name} @change=${changed}>
      ${engines.map((engine) => html`
        <option value=${engine.name} ?selected=${engine.name === selected} ?disabled=${engine.error !== null}>
          ${engine.name}${engine.error ? ' (does not start)' : nothing}
        </option>`)}
    </select>`;
  /** @param {string} value @param {string} label */
  const side = (value, label) => html`<option value=${value} ?selected=${chosen.side === value}>${label}</option>`;
  /** @param {string} value @param {string} label */
  const start = (value, label) => html`<option value=${value} ?selected=${chosen.start === value}>${label}</option>`;
  const broken = engines.filter((engine) => engine.error);
  return html`
    <dialog id="new-game" aria-labelledby="new-game-title" @close=${close}>
      <form method="dialog" @submit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        begin(new FormData(/** @type {HTMLFormElement} */ (event.target)));
      }}>
        <h2 id="new-game-title">New game</h2>
        <label>You play
          <select name="side" @change=${changed}>
            ${side('white', 'White')}${side('black', 'Black')}${side('random', 'either side, drawn')}
            ${side('both', 'both sides')}${side('neither', 'neither: two engines')}
          </select>
        </label>
        ${playing ? html`
          <label>${chosen.side === 'neither' ? "White's engine" : 'Against'} ${choices('engine', chosen.engine)}</label>
          ${range ? html`
            <label>Rating, ${range[0]} to ${range[1]} (empty: full strength)
              <input name="elo" type="number" min=${range[0]} max=${range[1]} step="1">
            </label>` : nothing}` : nothing}
        ${chosen.side === 'neither' ? html`<label>Black's engine ${choices('other', '')}</label>` : nothing}
        <label>Start
          <select name="start" @change=${changed}>
            ${start('standard', 'initial position')}${start('opening', 'an opening')}
            ${start('chess960', 'Chess960')}${start('fen', 'a position (FEN)')}
          </select>
        </label>
        ${chosen.start === 'chess960' ? html`
          <label>Number, 0 to 959 (empty: drawn) <input name="number" type="number" min="0" max="959" step="1"></label>`
          : nothing}
        ${chosen.start === 'opening' ? html`
          <label>Name or code
            <input name="opening_name" autocomplete="off" spellcheck="false" placeholder="Najdorf, C60 …"
              @input=${(/** @type {Event} */ event) => search(/** @type {HTMLInputElement} */ (event.target).value)}>
          </label>
          <label>Opening
            <select name="opening" size="6" required>${chosen.openings.map((opening, index) => html`
              <option value=${opening.moves} ?selected=${index === 0}>${opening.name}: ${opening.moves}</option>`)}
            </select>
          </label>` : nothing}
        ${chosen.start === 'fen' ? html`
          <label>FEN <input name="fen" required maxlength="120" autocomplete="off" spellcheck="false" .value=${chosen.fen}>
          </label>` : nothing}
        <label class="check"><input name="timed" type="checkbox" ?checked=${chosen.timed} @change=${changed}> with a clock</label>
        ${chosen.timed ? html`
          <label>Minutes <input name="minutes" type="number" min="0.1" max="1440" step="any" value="10" required></label>
          <label>Seconds added per move
            <input name="increment" type="number" min="0" max="3600" step="1" value="5" required></label>
          <input name="move_time" type="hidden" value="1">` : html`
          <label>The engine thinks
            <select name="move_time">${MOVE_TIMES.map((seconds) => html`
              <option value=${seconds} ?selected=${seconds === '1'}>${seconds} s a move</option>`)}</select>
          </label>`}
        ${broken.map((engine) => html`<p class="small">${engine.error}.</p>`)}
        <p class="error" role="alert">${chosen.error ?? nothing}</p>
        <div class="buttons">
          <button class="first" type="submit">Begin</button>
          <button type="button" @click=${close}>Cancel</button>
        </div>
      </form>
    </dialog>`;
}
