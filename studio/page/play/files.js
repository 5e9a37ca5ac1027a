/**
 * Games as files: saved, loaded, dropped on the page.
 *
 * @import {GameView} from '../types.js'
 */
import { fileTitles } from '../server.js';
import { html, nothing } from '../vendor/lit-html.js';

/** Saves the game on the board. */
export function savePgn() {
  const now = new Date();
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const date = `${now.getFullYear()}.${two(now.getMonth() + 1)}.${two(now.getDate())}`;
  location.assign(`/api/play/pgn?date=${date}`);
}

/**
 * Lets files be dropped anywhere on the page.
 *
 * @param {(file: File) => void} dropped
 */
export function acceptFiles(dropped) {
  const hasFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files') ?? false;
  document.addEventListener('dragover', (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) document.body.classList.remove('dropping');
  });
  document.addEventListener('drop', (event) => {
    document.body.classList.remove('dropping');
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    dropped(file);
  });
}

/** The games of the file that was loaded last. */
export class FileGames {
  /** @type {string[]} */
  #titles = [];
  #games = 0;
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Reads the titles again; another file may have as many games. */
  async read() {
    this.#titles = await fileTitles();
    this.#changed();
  }

  /** @param {GameView} game */
  follow(game) {
    const games = game.file?.games ?? 0;
    if (games === this.#games) return;
    this.#games = games;
    if (games > 1) this.read();
  }

  /**
   * @param {GameView} game
   * @param {(game: number) => void} choose
   */
  view(game, choose) {
    const { file } = game;
    if (!file || file.games < 2) return nothing;
    return html`
      <label class="games">Game
        <select @change=${(/** @type {Event} */ event) => choose(Number(/** @type {HTMLSelectElement} */ (event.target).value))}>
          ${Array.from({ length: file.games }, (_, index) => html`
            <option value=${index} ?selected=${index === file.chosen}>${index + 1}. ${this.#titles[index] ?? ''}</option>`)}
        </select>
      </label>`;
  }
}
