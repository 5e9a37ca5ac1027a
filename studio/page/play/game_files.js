/**
 * Games that come and go: files that are loaded, dropped, pasted or saved, and the library.
 *
 * @import {GameView} from '../types.js'
 */
import { loadPgn } from '../server.js';
import { html } from '../vendor/lit-html.js';
import { FileGames, acceptFiles, savePgn } from './files.js';
import { LibraryDialog } from './library.js';
import { mayReplace } from './new_game_form.js';
import { pastedPgn } from './pasted.js';
import { DEFAULT_NODES } from './review.js';

/**
 * @typedef {object} Board
 * @property {() => GameView | null} game
 * @property {(action: object, room?: string) => Promise<boolean>} act whether it succeeded
 * @property {(error: string | null) => void} failed
 * @property {() => void} changed
 */

export class GameFiles {
  #board;
  #files;
  #library = new LibraryDialog();

  /** @param {Board} board */
  constructor(board) {
    this.#board = board;
    this.#files = new FileGames(board.changed);
    acceptFiles((file) => this.#dropped(file), (file) => this.#pasted(file));
  }

  /** @param {GameView} game */
  follow(game) {
    this.#files.follow(game);
  }

  /** Asks before it replaces an unfinished game. @param {File} file */
  async #load(file) {
    if (!(await mayReplace(this.#board.game()))) return false;
    const error = await loadPgn(file, true);
    this.#board.failed(error);
    if (error === null) await this.#files.read();
    return error === null;
  }

  /** @param {Event} event */
  async #picked(event) {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const file = input.files?.[0];
    if (file) await this.#opened(file);
    input.value = '';
  }

  /** Loads a file; of several games, one is chosen. @param {File} file */
  async #opened(file) {
    if ((await this.#load(file)) && this.#files.count > 1) this.#files.open(0, (game) => this.#choose(game));
  }

  /** @param {File} file */
  #pasted(file) {
    location.hash = 'play';
    return this.#opened(file);
  }

  /** Loads a dropped file and reviews its only game, or the one chosen from its list. @param {File} file */
  async #dropped(file) {
    location.hash = 'play';
    if (!(await this.#load(file))) return;
    const review = () => this.#board.act({ do: 'begin', nodes: DEFAULT_NODES }, 'review');
    if (this.#files.count < 2) await review();
    else await this.#files.open(0, async (game) => (await this.#choose(game)) && review());
  }

  /** @param {number} game */
  async #choose(game) {
    return (await mayReplace(this.#board.game())) && this.#board.act({ do: 'choose', game, replace: true });
  }

  #openLibrary() {
    this.#library.open(this.#board.game()?.name ?? null, async (name) => {
      if (await mayReplace(this.#board.game())) await this.#board.act({ do: 'open', name, replace: true });
    });
  }

  /** @param {GameView} game */
  list(game) {
    return this.#files.view(game, (chosen) => this.#choose(chosen));
  }

  /** Loads a position without moves. @param {string} fen */
  setUp(fen) {
    return this.#pasted(new File([pastedPgn(fen)], 'position.pgn'));
  }

  buttons() {
    return html`
      <div class="buttons" role="group" aria-label="Files">
        <button type="button" @click=${() => this.#openLibrary()}>Games …</button>
        <button type="button" @click=${savePgn}>Save PGN</button>
        <label class="file">Load PGN<input type="file" accept=".pgn,application/x-chess-pgn,text/plain"
          @change=${(/** @type {Event} */ event) => this.#picked(event)}></label>
      </div>`;
  }
}
