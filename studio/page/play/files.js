/**
 * Saving, loading and dropping game files.
 *
 * @import {GameView, Headline} from '../types.js'
 */
import { headlines } from '../server.js';
import { html, nothing } from '../vendor/lit-html.js';
import { GameList, playersOf } from './game_list.js';
import { pastedPgn } from './pasted.js';

/** Address of the game on a board, with today's date. @param {number} board */
function pgnAddress(board) {
  const now = new Date();
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const date = `${now.getFullYear()}.${two(now.getMonth() + 1)}.${two(now.getDate())}`;
  return `/api/play/${board}/pgn?date=${date}`;
}

/** @param {number} board */
export function savePgn(board) {
  location.assign(pgnAddress(board));
}

/** The game on a board; `null` without an answer. @param {number} board @returns {Promise<string | null>} */
export async function gamePgn(board) {
  const answer = await fetch(pgnAddress(board)).catch(() => null);
  return answer?.ok ? answer.text() : null;
}

/**
 * Lets files be dropped anywhere on the page, and PGN and FEN be pasted.
 *
 * @param {(file: File) => void} dropped
 * @param {(file: File) => void} pasted
 */
export function acceptFiles(dropped, pasted) {
  document.addEventListener('paste', (event) => {
    const text = pastedPgn(event.clipboardData?.getData('text/plain') ?? '');
    const target = /** @type {HTMLElement} */ (event.target);
    if (text === '' || /^(INPUT|TEXTAREA)$/.test(target.tagName) || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    pasted(new File([text], 'pasted.pgn'));
  });
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

/** The games of the file on the board. */
export class FileGames {
  /** @type {Headline[]} */
  #games = [];
  /** Their board. @type {number | null} */
  #board = null;
  /** The file whose games were read, or are being read. */
  #loaded = '';
  #list = new GameList();
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Number of games read from the file. */
  get count() {
    return this.#games.length;
  }

  /** Reads the games of a newly loaded file. @param {number} board */
  async read(board) {
    [this.#board, this.#games] = [board, []];
    const games = await headlines(board);
    if (this.#board === board) this.#games = games;
    this.#changed();
  }

  /** @param {GameView} game */
  follow(game) {
    const file = `${game.id} ${game.file?.number}`;
    if (!game.file || file === this.#loaded) return;
    this.#loaded = file;
    if (game.file.games > 1) this.read(game.id);
  }

  /**
   * Opens the list, once the games are known.
   *
   * @param {number} board
   * @param {number} chosen
   * @param {(game: number) => void} choose
   */
  async open(board, chosen, choose) {
    if (this.#games.length === 0 || this.#board !== board) await this.read(board);
    this.#list.open(this.#games, chosen, choose);
  }

  /**
   * @param {GameView} game
   * @param {(game: number) => void} choose
   */
  view(game, choose) {
    const { file } = game;
    if (!file || file.games < 2) return nothing;
    const headline = this.#board === game.id ? this.#games[file.chosen] : undefined;
    /** @param {string} sign @param {string} label @param {number} to */
    const step = (sign, label, to) => html`
      <button type="button" aria-label=${label} ?disabled=${to < 0 || to >= file.games} @click=${() => choose(to)}>${sign}</button>`;
    return html`
      <div class="games" role="group" aria-label="Games of the file">
        <span>Game ${(file.chosen + 1).toLocaleString('en')} of ${file.games.toLocaleString('en')}${headline
          ? html`: ${playersOf(headline)}` : nothing}</span>
        <span class="buttons">${step('‹', 'Previous game', file.chosen - 1)}${step('›', 'Next game', file.chosen + 1)}
          <button type="button" @click=${() => this.open(game.id, file.chosen, choose)}>All games</button></span>
      </div>`;
  }
}
