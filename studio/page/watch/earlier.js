/**
 * The earlier matches: open, rename, export, delete.
 *
 * @import {EarlierMatch} from '../types.js'
 */
import { earlierMatches } from '../server.js';
import { html, nothing } from '../vendor/lit-html.js';

/** @param {EarlierMatch} match */
function nameOf({ name, first, second }) {
  return name ?? `${first} – ${second}`;
}

export class EarlierMatches {
  /** @type {EarlierMatch[]} */
  #matches = [];
  /** Number of the match that is being renamed. @type {number | null} */
  #renamed = null;
  /** The last deleted match. @type {EarlierMatch | null} */
  #deleted = null;
  #act;
  #changed;

  /**
   * @param {(command: object) => Promise<boolean>} act whether it succeeded
   * @param {() => void} changed
   */
  constructor(act, changed) {
    this.#act = act;
    this.#changed = changed;
  }

  async read() {
    this.#matches = await earlierMatches();
    this.#changed();
  }

  /** @param {number | null} number */
  #rename(number) {
    this.#renamed = number;
    this.#changed();
    if (number !== null) /** @type {HTMLInputElement | null} */ (document.querySelector('.earlier [name=to]'))?.select();
  }

  /** @param {EarlierMatch} match */
  async #delete(match) {
    if (await this.#act({ do: 'delete', number: match.number })) this.#deleted = match;
    this.#changed();
  }

  async #restore() {
    if (await this.#act({ do: 'restore', number: this.#deleted?.number })) this.#deleted = null;
    this.#changed();
  }

  /** @param {SubmitEvent} event @param {EarlierMatch} match */
  async #submit(event, match) {
    event.preventDefault();
    const to = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('to'));
    if (await this.#act({ do: 'rename', number: match.number, to })) this.#rename(null);
  }

  /** @param {boolean} isRunning a match is running, so no other can be shown */
  view(isRunning) {
    const deleted = this.#deleted;
    if (this.#matches.length === 0 && !deleted) return nothing;
    return html`
      <details class="earlier">
        <summary>Earlier matches (${this.#matches.length})</summary>
        ${deleted ? html`<p class="notice">${nameOf(deleted)} is deleted.
          <button type="button" @click=${() => this.#restore()}>Undo</button></p>` : nothing}
        <ul class="library">${this.#matches.map((match) => this.#row(match, isRunning))}</ul>
      </details>`;
  }

  /** @param {EarlierMatch} match @param {boolean} isRunning */
  #row(match, isRunning) {
    if (match.number === this.#renamed) {
      return html`<li><form class="typed" @submit=${(/** @type {SubmitEvent} */ event) => this.#submit(event, match)}>
        <input name="to" aria-label="New name" maxlength="80" .value=${nameOf(match)} autocomplete="off" spellcheck="false">
        <button type="submit">Rename</button>
        <button type="button" @click=${() => this.#rename(null)}>Cancel</button></form></li>`;
    }
    const label = `match ${match.number}, ${nameOf(match)}`;
    return html`<li>
      <button type="button" class="game" ?disabled=${isRunning} @click=${() => this.#act({ do: 'open', number: match.number })}>
        <span class="players">${nameOf(match)}</span>
        <span class="result">${match.points} : ${match.played - match.points}</span>
        <span class="more">${match.name ? `${match.first} – ${match.second}, ` : nothing}${
          new Date(1000 * match.modified_s).toLocaleDateString('en-CA')}, ${match.played} of
          ${match.games} games, ${match.suspended ? 'suspended' : 'ended'}</span></button>
      <span class="buttons">
        <button type="button" aria-label="Rename ${label}" @click=${() => this.#rename(match.number)}>Rename</button>
        <a class="file" href="/api/match/pgn?number=${match.number}" download aria-label="Export ${label}">Export</a>
        <button type="button" aria-label="Delete ${label}" @click=${() => this.#delete(match)}>Delete</button>
      </span></li>`;
  }
}
