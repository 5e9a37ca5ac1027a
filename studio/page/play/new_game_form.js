/**
 * The state of the form for a new game: choices, and openings found.
 *
 * @import {GameView} from '../types.js'
 * @import {NewGameChoice} from './new_game.js'
 */
import { recall, remember, valuesOf } from '../memory.js';
import { openBoard, openings } from '../server.js';
import { nothing } from '../vendor/lit-html.js';
import { newGameAction, newGameDialog } from './new_game.js';

export class NewGameForm {
  /** @type {NewGameChoice | null} */
  #chosen = null;
  /** Last query of the search for openings. */
  #sought = '';
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  get isOpen() {
    return this.#chosen !== null;
  }

  /** @param {GameView | null} game @param {string | null} fen the position to begin with */
  open(game, fen) {
    const able = game?.engines.filter((engine) => !engine.error).map((engine) => engine.name) ?? [];
    const values = recall('new game');
    if (!able.includes(values.engine)) values.engine = able[0] ?? '';
    if (able.length === 0) values.side = 'both';
    this.#sought = '';
    this.#chosen = { values: { ...values, ...(fen ? { start: 'fen', fen } : {}) }, openings: [], error: null };
    if (this.#chosen.values.start === 'opening') this.#find(values.opening_name ?? '');
    this.#changed();
  }

  close() {
    this.#chosen = null;
    this.#changed();
  }

  /** @param {HTMLFormElement} form */
  #read(form) {
    if (!this.#chosen) return;
    this.#chosen = { ...this.#chosen, values: valuesOf(form, this.#chosen.values), error: null };
    const { values, openings: found } = this.#chosen;
    if (values.start === 'opening' && found.length === 0) this.#find(values.opening_name ?? '');
    this.#changed();
  }

  /** @param {string} name */
  async #find(name) {
    this.#sought = name;
    const found = await openings(name);
    // Answers may arrive out of order: only the last query's counts.
    if (!this.#chosen || this.#sought !== name) return;
    this.#chosen = { ...this.#chosen, openings: found };
    this.#changed();
  }

  /**
   * @param {HTMLFormElement} form
   * @param {GameView | null} game
   * @param {(board: number) => void} begun on this board
   */
  async #begin(form, game, begun) {
    if (!this.#chosen) return;
    const values = valuesOf(form, this.#chosen.values);
    const answer = await openBoard({ ...newGameAction(values, game?.engines ?? []), here: game?.id ?? null });
    if ('value' in answer) {
      remember('new game', values);
      this.#chosen = null;
      begun(answer.value.board);
    } else if (this.#chosen) {
      this.#chosen = { ...this.#chosen, values, error: answer.error };
    }
    this.#changed();
  }

  /** @param {GameView | null} game @param {(board: number) => void} begun */
  view(game, begun) {
    if (!this.#chosen) return nothing;
    return newGameDialog(this.#chosen, game?.engines ?? [], game?.levels ?? [], {
      changed: (form) => this.#read(form),
      search: (name) => this.#find(name),
      begin: (form) => this.#begin(form, game, begun),
      close: () => this.close(),
    });
  }
}
