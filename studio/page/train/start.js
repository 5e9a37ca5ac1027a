/**
 * The form that starts a run, made from the trainer's own table of keys.
 *
 * @import {KeyRow, KeyTable} from '../types.js'
 */
import { beginRun, runKeys } from '../server.js';
import { html, nothing } from '../vendor/lit-html.js';

/** @typedef {Record<string, string | boolean>} Changed what a person changed, by key */

/**
 * The keys under their first parts, which name groups; keys without one come first.
 *
 * @param {KeyRow[]} keys
 * @param {string} filter words that a key or its meaning must have
 * @returns {[string, KeyRow[]][]}
 */
export function grouped(keys, filter) {
  /** @type {Map<string, KeyRow[]>} */
  const groups = new Map([['', []]]);
  const words = filter.toLowerCase().split(' ').filter(Boolean);
  for (const row of keys) {
    const text = `${row.key} ${row.meaning}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const group = row.key.includes('.') ? row.key.slice(0, row.key.lastIndexOf('.')) : '';
    groups.set(group, [...groups.get(group) ?? [], row]);
  }
  return [...groups].filter(([, rows]) => rows.length > 0);
}

/** A value as a field shows it; single precision has seven digits. @param {unknown} value */
export function fieldText(value) {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(7)));
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * What a field's text means for a key: the kind of its value tells. @param {KeyRow} row @param {string | boolean} text
 * @returns {{value: unknown} | {error: string}}
 */
export function valueOf({ key, value }, text) {
  if (typeof text === 'boolean') return { value: text };
  if (typeof value === 'string') return { value: text };
  const wrong = { error: `${key}: “${text}” is no ${typeof value === 'number' ? 'number' : 'JSON'}.` };
  try {
    const read = JSON.parse(text);
    return typeof value === 'number' && typeof read !== 'number' ? wrong : { value: read };
  } catch {
    return wrong;
  }
}

/**
 * The keys that differ from the preset. @param {KeyRow[]} keys @param {Changed} changed
 * @returns {{set: Record<string, unknown>} | {error: string}}
 */
export function changesOf(keys, changed) {
  /** @type {Record<string, unknown>} */
  const set = {};
  for (const row of keys) {
    const text = changed[row.key];
    if (text === undefined || text === fieldText(row.value)) continue;
    const read = valueOf(row, text);
    if ('error' in read) return read;
    if (JSON.stringify(read.value) !== JSON.stringify(row.value)) set[row.key] = read.value;
  }
  return { set };
}

/** The trainer's words, with names between backticks. @param {string} text */
function told(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

export class StartForm {
  #isOpen = false;
  /** @type {'train' | 'rl'} */
  #command = 'train';
  #preset = '';
  #sparse = false;
  /** @type {KeyTable | null} */
  #table = null;
  /** @type {Changed} */
  #changes = {};
  #name = '';
  #iterations = '';
  #filter = '';
  /** @type {string | null} */
  #error = null;
  /** Of the trainer's keys; only the last one's answer is shown. */
  #requests = 0;
  /** The answer to the last request, or to the start of a run, has not come yet. */
  #isBusy = false;
  #changed;
  #begun;

  /** @param {() => void} changed @param {(run: number) => void} begun */
  constructor(changed, begun) {
    this.#changed = changed;
    this.#begun = begun;
  }

  async #read() {
    const request = ++this.#requests;
    this.#isBusy = true;
    this.#changed();
    const answer = await runKeys(this.#command, this.#preset, this.#sparse && this.#command === 'rl');
    if (request !== this.#requests) return;
    this.#isBusy = false;
    this.#error = 'error' in answer ? answer.error : null;
    this.#table = 'value' in answer ? answer.value : null;
    this.#changed();
  }

  #open() {
    this.#isOpen = !this.#isOpen;
    this.#changed();
    if (this.#isOpen && !this.#table) this.#read();
  }

  /** @param {Event} event */
  #choose(event) {
    const { name, value, checked } = /** @type {HTMLInputElement} */ (event.target);
    if (name === 'command') {
      this.#command = value === 'rl' ? 'rl' : 'train';
      this.#preset = '';
    } else if (name === 'preset') {
      this.#preset = value;
    } else {
      this.#sparse = checked;
    }
    this.#changes = {};
    this.#read();
  }

  /** @param {SubmitEvent} event */
  async #begin(event) {
    event.preventDefault();
    const table = this.#table;
    if (!table || this.#isBusy) return;
    const changes = changesOf(table.keys, this.#changes);
    if ('error' in changes) {
      this.#error = changes.error;
      return this.#changed();
    }
    const set = this.#sparse && this.#command === 'rl' ? { 'train.model.family': 'sparse', ...changes.set } : changes.set;
    const iterations = this.#command === 'rl' && this.#iterations !== '' ? { iterations: Number(this.#iterations) } : {};
    const request = ++this.#requests;
    this.#isBusy = true;
    this.#changed();
    const answer = await beginRun({ command: this.#command, preset: this.#presetName(table), name: this.#name, set, ...iterations });
    // Another choice has been made meanwhile, and its keys are being read.
    if (request === this.#requests) this.#isBusy = false;
    this.#error = 'error' in answer ? answer.error : null;
    if ('value' in answer) {
      this.#isOpen = false;
      this.#name = '';
      this.#begun(answer.value.id);
    }
    this.#changed();
  }

  /** The first one is the default of both commands. @param {KeyTable} table */
  #presetName(table) {
    return this.#preset || table.presets[0].name;
  }

  view() {
    return html`
      <details class="start" ?open=${this.#isOpen}>
        <summary @click=${(/** @type {Event} */ event) => {
          event.preventDefault();
          this.#open();
        }}>Start a run …</summary>
        <p class="error" role="alert">${this.#error ?? nothing}</p>
        ${this.#table ? this.#form(this.#table) : this.#isOpen && !this.#error ? html`<p class="small">Reading the trainer's keys …</p>` : nothing}
      </details>`;
  }

  /** @param {KeyTable} table */
  #form(table) {
    const preset = table.presets.find(({ name }) => name === this.#presetName(table));
    const text = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target).value;
    const groups = grouped(table.keys, this.#filter);
    return html`
      ${table.folder === null ? html`<p class="notice">Runs are started where the studio knows a folder for them:
        <code>philidor-studio --runs runs</code>.</p>` : nothing}
      <form class="start-form" @submit=${(/** @type {SubmitEvent} */ event) => this.#begin(event)}>
        <div class="buttons" @change=${(/** @type {Event} */ event) => this.#choose(event)}>
          <label class="inline">Train
            <select name="command">
              <option value="train" ?selected=${this.#command === 'train'}>on games</option>
              <option value="rl" ?selected=${this.#command === 'rl'}>by reinforcement learning</option>
            </select></label>
          <label class="inline">Preset
            <select name="preset">${table.presets.map(({ name }) => html`
              <option value=${name} ?selected=${name === preset?.name}>${name}</option>`)}</select></label>
          ${this.#command === 'rl' ? html`
            <label class="inline"><input type="checkbox" name="sparse" .checked=${this.#sparse}> a network of the family sparse</label>` : nothing}
        </div>
        <p class="small">${preset?.meaning ? told(preset.meaning) : nothing}</p>
        <div class="buttons">
          <label class="inline">Name <input name="name" required maxlength="60" pattern="[A-Za-z0-9_][A-Za-z0-9_.\\-]*" .value=${this.#name}
            autocomplete="off" spellcheck="false" @input=${(/** @type {Event} */ event) => { this.#name = text(event); }}></label>
          ${this.#command === 'rl' ? html`
            <label class="inline">Iterations <input name="iterations" type="number" min="1" placeholder="until paused" .value=${this.#iterations}
              @input=${(/** @type {Event} */ event) => { this.#iterations = text(event); }}></label>` : nothing}
          <button class="first" type="submit" ?disabled=${table.folder === null || this.#isBusy}>Start</button>
          <label class="inline">Find keys <input name="filter" type="search" .value=${this.#filter} @input=${(/** @type {Event} */ event) => {
            this.#filter = text(event);
            this.#changed();
          }}></label>
        </div>
        <datalist id="networks">${table.networks.map((network) => html`<option value=${network}></option>`)}</datalist>
        ${groups.map(([group, rows]) => html`
          <details class="keys" ?open=${group === '' || this.#filter !== ''}>
            <summary>${group === '' ? 'Run' : group}</summary>
            <dl>${rows.map((row) => this.#row(row))}</dl>
          </details>`)}
      </form>`;
  }

  /** @param {KeyRow} row */
  #row(row) {
    const { key, value, meaning, choices } = row;
    const now = this.#changes[key] ?? (typeof value === 'boolean' ? value : fieldText(value));
    const set = (/** @type {string | boolean} */ to) => {
      this.#changes[key] = to;
      this.#changed();
    };
    const input = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target);
    const isChanged = now !== (typeof value === 'boolean' ? value : fieldText(value));
    const field = typeof value === 'boolean'
      ? html`<input type="checkbox" id="key-${key}" name=${key} .checked=${Boolean(now)} @change=${(/** @type {Event} */ event) => set(input(event).checked)}>`
      : choices.length > 0 && typeof value === 'string'
        ? html`<select id="key-${key}" name=${key} @change=${(/** @type {Event} */ event) => set(input(event).value)}>${choices.map((choice) => html`
            <option value=${choice} ?selected=${choice === now}>${choice}</option>`)}</select>`
        : html`<input id="key-${key}" name=${key} .value=${String(now)} list=${typeof value === 'string' ? 'networks' : nothing}
            inputmode=${typeof value === 'number' ? 'decimal' : 'text'} autocomplete="off" spellcheck="false"
            @change=${(/** @type {Event} */ event) => set(input(event).value)}>`;
    return html`
      <dt class=${isChanged ? 'changed' : ''}><label for="key-${key}">${key}</label></dt>
      <dd>${field} <span class="small">${told(meaning)}</span></dd>`;
  }
}
