/**
 * The games of the studio's folder, in a dialog: open, rename, export, delete.
 *
 * @import {LibraryGame} from '../types.js'
 */
import { act, libraryGames } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { knownDate, matching, movesText, playersOf } from './game_list.js';

/** More are found by their words. */
const SHOWN = 200;

/** @param {LibraryGame} game */
function textOf(game) {
  return [game.name, game.white, game.black, game.event, game.date, game.result, game.opening].join(' ').toLowerCase();
}

export class LibraryDialog {
  #root = document.createElement('div');
  /** @type {LibraryGame[]} */
  #games = [];
  #words = '';
  /** Name of the game on this tab's board. @type {string | null} */
  #onBoard = null;
  /** @type {(name: string) => number | null} */
  #boardWith = () => null;
  /** Name of the game that is being renamed. @type {string | null} */
  #renamed = null;
  /** Name of the last deleted game. @type {string | null} */
  #deleted = null;
  /** @type {string | null} */
  #error = null;
  /** @type {(name: string) => void} */
  #choose = () => {};

  /**
   * @param {string | null} onBoard name of the game on this tab's board
   * @param {(name: string) => number | null} boardWith the open board with this game
   * @param {(name: string) => void} choose
   */
  async open(onBoard, boardWith, choose) {
    [this.#boardWith, this.#choose] = [boardWith, choose];
    [this.#onBoard, this.#words, this.#renamed, this.#deleted, this.#error] = [onBoard, '', null, null, null];
    this.#games = await libraryGames();
    document.body.append(this.#root);
    this.#draw();
    this.#root.querySelector('dialog')?.showModal();
  }

  #close() {
    render(nothing, this.#root);
    this.#root.remove();
  }

  /** @param {object} action */
  async #act(action) {
    this.#error = await act(action, 'play');
    this.#games = await libraryGames();
    if (this.#root.isConnected) this.#draw();
    return this.#error === null;
  }

  /** @param {string} name */
  async #delete(name) {
    if (!(await this.#act({ do: 'delete', name }))) return;
    this.#deleted = name;
    this.#draw();
  }

  /** @param {string} name */
  async #restore(name) {
    if (await this.#act({ do: 'restore', name })) this.#deleted = null;
    this.#draw();
  }

  /** @param {SubmitEvent} event @param {string} name */
  async #rename(event, name) {
    event.preventDefault();
    const to = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('to')).trim();
    if (to === name || (await this.#act({ do: 'rename', name, to }))) {
      if (this.#onBoard === name) this.#onBoard = to;
      this.#renamed = null;
    }
    this.#draw();
  }

  #draw() {
    const found = matching(this.#games.map(textOf), this.#words);
    render(html`
      <dialog id="library" aria-labelledby="library-title" @close=${() => this.#close()}>
        <h2 id="library-title">Games</h2>
        <label>Find
          <input type="text" autocomplete="off" spellcheck="false" autofocus placeholder="player, date, opening …"
            .value=${this.#words} @input=${(/** @type {Event} */ event) => {
              this.#words = /** @type {HTMLInputElement} */ (event.target).value;
              this.#draw();
            }}>
        </label>
        <p class="small" role="status">${found.length === this.#games.length ? found.length : `${found.length} of ${this.#games.length}`}
          ${this.#games.length === 1 ? 'game' : 'games'}${found.length > SHOWN ? `, the first ${SHOWN} are shown` : nothing}.
          ${this.#games.length === 0 ? 'A game is kept here from its first move on.' : nothing}</p>
        <p class="error" role="alert">${this.#error ?? nothing}</p>
        ${this.#deleted ? html`<p class="notice">${this.#deleted} is deleted.
          <button type="button" @click=${() => this.#restore(/** @type {string} */ (this.#deleted))}>Undo</button></p>` : nothing}
        <ul class="library">${found.slice(0, SHOWN).map((index) => this.#row(this.#games[index]))}</ul>
        <div class="buttons"><button type="button" @click=${() => this.#close()}>Close</button></div>
      </dialog>`, this.#root);
  }

  /** @param {LibraryGame} game */
  #row(game) {
    const { name } = game;
    const isOnBoard = name === this.#onBoard;
    const isOpen = isOnBoard || this.#boardWith(name) !== null;
    const more = [knownDate(game.date), movesText(game.plies), game.opening].filter(Boolean).join(', ');
    const result = game.unfinished ? 'not over' : game.result.replace('1/2-1/2', '½–½');
    if (this.#renamed === name) {
      return html`<li><form class="typed" @submit=${(/** @type {SubmitEvent} */ event) => this.#rename(event, name)}>
        <input name="to" aria-label="New name" maxlength="80" required .value=${name} autocomplete="off" spellcheck="false">
        <button type="submit">Rename</button>
        <button type="button" @click=${() => {
          this.#renamed = null;
          this.#draw();
        }}>Cancel</button></form></li>`;
    }
    return html`<li>
      <button type="button" class="game" ?disabled=${isOnBoard} @click=${() => {
        this.#close();
        this.#choose(name);
      }}><span class="players">${playersOf(game)}</span> <span class="result">${isOnBoard ? 'on the board' : isOpen ? 'on another board' : result}</span>
        <span class="more">${more}</span> <span class="more">${name}</span></button>
      <span class="buttons">
        <button type="button" aria-label="Rename ${name}" @click=${() => {
          this.#renamed = name;
          this.#draw();
          /** @type {HTMLInputElement | null} */ (this.#root.querySelector('[name=to]'))?.select();
        }}>Rename</button>
        <a class="file" href="/api/play/games/pgn?name=${encodeURIComponent(name)}" download="${name}.pgn"
          aria-label="Export ${name}">Export</a>
        <button type="button" aria-label="Delete ${name}" ?disabled=${isOpen} @click=${() => this.#delete(name)}>Delete</button>
      </span></li>`;
  }
}
