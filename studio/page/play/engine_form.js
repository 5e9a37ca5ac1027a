/**
 * The settings of an analysing engine, in a dialog: which engine, how long it searches, lines, threads and hash.
 *
 * @import {AnalystSettings, Engine, GameView} from '../types.js'
 * @import {Values} from '../memory.js'
 */
import { valuesOf } from '../memory.js';
import { html, nothing } from '../vendor/lit-html.js';

/** What the number of a limit counts, and its first value. @type {Record<string, [string, string]>} */
const UNITS = { infinite: ['', ''], ms: ['Seconds a position', '30'], depth: ['Depth in plies', '30'], nodes: ['Nodes a position', '100000'] };

/** @param {AnalystSettings} settings @returns {Values} */
export function formOf({ engine, limit, lines, threads, hash }) {
  const [kind, amount] = typeof limit === 'string' ? ['infinite', ''] : Object.entries(limit)[0];
  return {
    engine: engine ?? '', kind, amount: kind === 'ms' ? String(Number(amount) / 1000) : String(amount),
    lines: String(lines), threads: String(threads ?? ''), hash: String(hash ?? ''),
  };
}

/** @param {Values} values @returns {AnalystSettings} */
export function settingsOf({ engine, kind, amount, lines, threads, hash }) {
  const number = (/** @type {string} */ text) => (text === '' ? null : Math.round(Number(text)));
  const count = Math.round(Number(amount) * (kind === 'ms' ? 1000 : 1));
  const limit = kind === 'infinite' ? 'infinite' : /** @type {AnalystSettings['limit']} */ ({ [kind]: count });
  return { on: true, paused: false, engine: engine || null, limit, lines: Number(lines), threads: number(threads), hash: number(hash) };
}

export class EngineForm {
  /** Which of the two engines. @type {number | null} */
  #number = null;
  /** @type {Values} */
  #values = {};
  /** @type {string | null} */
  #error = null;
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  get isOpen() {
    return this.#number !== null;
  }

  /** @param {number} number @param {GameView} game */
  open(number, game) {
    const settings = game.analysts[number];
    // A second opinion is another engine's.
    const first = game.analysts[0].engine ?? game.engines[0]?.name;
    const other = number === 0 ? undefined : game.engines.find(({ name, error }) => name !== first && error === null)?.name;
    const engine = settings.engine ?? other ?? game.engines[0]?.name ?? null;
    [this.#number, this.#values, this.#error] = [number, formOf({ ...settings, engine }), null];
    this.#changed();
  }

  close() {
    this.#number = null;
    this.#changed();
  }

  /** @param {HTMLFormElement} form */
  #read(form) {
    const before = this.#values.kind;
    this.#values = valuesOf(form, this.#values);
    if (this.#values.kind !== before) this.#values.amount = UNITS[this.#values.kind][1];
    this.#error = null;
    this.#changed();
  }

  /** @param {HTMLFormElement} form @param {(action: object) => Promise<string | null>} act returns the error */
  async #begin(form, act) {
    this.#values = valuesOf(form, this.#values);
    this.#error = await act({ do: 'analyst', number: this.#number, settings: settingsOf(this.#values) });
    if (this.#error === null) this.close();
    else this.#changed();
  }

  /** @param {GameView | null} game @param {(action: object) => Promise<string | null>} act */
  view(game, act) {
    if (!game || this.#number === null) return nothing;
    const values = this.#values;
    const chosen = game.engines.find((engine) => engine.name === values.engine);
    const [unit] = UNITS[values.kind];
    /** @param {string} value @param {string} label */
    const kind = (value, label) => html`<option value=${value} ?selected=${value === values.kind}>${label}</option>`;
    return html`
      <dialog id="engine-form" aria-labelledby="engine-form-title" @close=${() => this.close()}>
        <form method="dialog" @submit=${(/** @type {SubmitEvent} */ event) => {
          event.preventDefault();
          this.#begin(/** @type {HTMLFormElement} */ (event.currentTarget), act);
        }} @change=${(/** @type {Event} */ event) => this.#read(/** @type {HTMLFormElement} */ (event.currentTarget))}>
          <h2 id="engine-form-title">${this.#number === 0 ? 'The engine' : 'The second engine'}</h2>
          <label>Engine <select name="engine">${game.engines.map((engine) => html`
            <option value=${engine.name} ?selected=${engine.name === values.engine} ?disabled=${engine.error !== null}>
              ${engine.name}${engine.error ? ' (does not start)' : nothing}</option>`)}</select></label>
          <label>It searches <select name="kind">${kind('ms', 'for a time')}${kind('depth', 'to a depth')}
            ${kind('nodes', 'a number of nodes')}${kind('infinite', 'until it is stopped')}</select></label>
          ${unit ? html`<label>${unit} <input name="amount" type="number" required
            min=${values.kind === 'ms' ? '0.01' : '1'} step=${values.kind === 'ms' ? 'any' : '1'} .value=${values.amount}></label>` : nothing}
          <label>Lines <input name="lines" type="number" min="1" max="10" required .value=${values.lines}></label>
          ${this.#numberField('threads', 'Threads', chosen?.threads)}
          ${this.#numberField('hash', 'Hash in MB', chosen?.hash)}
          <p class="error" role="alert">${this.#error ?? nothing}</p>
          <div class="buttons"><button class="first" type="submit">Start</button>
            <button type="button" @click=${() => this.close()}>Cancel</button></div>
        </form>
      </dialog>`;
  }

  /** @param {string} name @param {string} label @param {Engine['threads'] | undefined} range of the option, if the engine has it */
  #numberField(name, label, range) {
    if (!range) return html`<input type="hidden" name=${name} value="">`;
    return html`<label>${label} (empty: as it is) <input name=${name} type="number" min=${range[0]} max=${range[1]} step="1"
      .value=${this.#values[name]}></label>`;
  }
}
