/**
 * Games that come and go: files that are loaded, dropped, pasted or saved, and the library.
 *
 * @import {GameView} from '../types.js'
 */
import { loadPgn, openBoard } from '../server.js';
import { html } from '../vendor/lit-html.js';
import { FileGames, acceptFiles, savePgn } from './files.js';
import { LibraryDialog } from './library.js';
import { pastedPgn } from './pasted.js';
import { DEFAULT_NODES } from './review.js';

/**
 * @typedef {object} Board
 * @property {() => GameView | null} game
 * @property {(name: string) => number | null} withGame the board with this game of the library
 * @property {(board: number) => void} go shows another board
 * @property {(action: object, room: string) => Promise<boolean>} act whether it succeeded
 * @property {(error: string | null) => void} failed
 * @property {() => void} changed
 */

/** Shows the room with the boards. */
function enter() {
  if (!/^#play(\/|$)/.test(location.hash)) location.hash = 'play';
}

export class GameFiles {
  #board;
  #files;
  #library = new LibraryDialog();
  /** The name of the file that is being read. @type {string | null} */
  reading = null;

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

  /** Goes to the board of an opened game. @param {{value: {board: number}} | {error: string}} answer @returns {number | null} that board */
  #went(answer) {
    this.#board.failed('error' in answer ? answer.error : null);
    if ('error' in answer) return null;
    this.#board.go(answer.value.board);
    return answer.value.board;
  }

  /** Loads a file, and reads its games. @param {File} file */
  async #load(file) {
    this.reading = file.name;
    this.#board.changed();
    const board = this.#went(await loadPgn(file, this.#board.game()?.id ?? null));
    if (board !== null) await this.#files.read(board);
    this.reading = null;
    this.#board.changed();
    return board;
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
    const board = await this.#load(file);
    if (board !== null && this.#files.count > 1) this.#files.open(board, 0, (game) => this.#choose(board, game));
  }

  /** @param {File} file */
  #pasted(file) {
    enter();
    return this.#opened(file);
  }

  /** Phones have no key for it. */
  async #paste() {
    const text = await navigator.clipboard?.readText?.().catch(() => null) ?? null;
    if (text?.trim()) await this.#pasted(new File([pastedPgn(text)], 'pasted.pgn'));
    else {
      const unread = isSecureContext ? 'The browser does not let this page read what was copied: press Ctrl+V.'
        : 'A browser lets only pages over HTTPS read what was copied: open the studio over HTTPS, or press Ctrl+V.';
      this.#board.failed(text === null ? unread : 'Nothing was copied: copy a PGN or FEN.');
    }
  }

  /** Loads a dropped file and reviews its only game, or the one chosen from its list. @param {File} file */
  async #dropped(file) {
    enter();
    const board = await this.#load(file);
    if (board === null) return;
    const review = (/** @type {number} */ of) => this.#board.act({ do: 'begin', board: of, nodes: DEFAULT_NODES }, 'review');
    if (this.#files.count < 2) {
      await review(board);
      return;
    }
    await this.#files.open(board, 0, async (game) => {
      const chosen = await this.#choose(board, game);
      if (chosen !== null) await review(chosen);
    });
  }

  /** @param {number} board @param {number} game of the file that is on the board */
  async #choose(board, game) {
    return this.#went(await openBoard({ do: 'choose', board, game }));
  }

  #openLibrary() {
    const game = this.#board.game();
    this.#library.open(game?.name ?? null, this.#board.withGame, async (name) => {
      this.#went(await openBoard({ do: 'open', name, here: game?.id ?? null }));
    });
  }

  /** @param {GameView} game */
  list(game) {
    return this.#files.view(game, (chosen) => this.#choose(game.id, chosen));
  }

  /** Loads a position without moves. @param {string} fen */
  setUp(fen) {
    return this.#pasted(new File([pastedPgn(fen)], 'position.pgn'));
  }

  /** Loads a position and has it analysed. @param {string} fen */
  async analyse(fen) {
    enter();
    const board = await this.#load(new File([pastedPgn(fen)], 'position.pgn'));
    if (board !== null) await this.#board.act({ do: 'analysis', on: true }, `play/${board}`);
  }

  /** @param {GameView} game */
  buttons(game) {
    return html`
      <div class="buttons" role="group" aria-label="Files">
        <button type="button" @click=${() => this.#openLibrary()}>Games …</button>
        <button type="button" @click=${() => savePgn(game.id)}>Save PGN</button>
        <button type="button" title="A PGN or FEN that was copied" @click=${() => this.#paste()}>Paste</button>
        <label class="file">Load PGN<input type="file" accept=".pgn,application/x-chess-pgn,text/plain"
          @change=${(/** @type {Event} */ event) => this.#picked(event)}></label>
      </div>`;
  }
}
