/**
 * The state of the form for a new game: choices, openings found, and the question before an unfinished game is replaced.
 *
 * @import {GameView} from '../types.js'
 * @import {NewGameChoice} from './new_game.js'
 */
import { recall, remember, valuesOf } from '../memory.js';
import { confirmed } from '../question.js';
import { act, openings } from '../server.js';
import { nothing } from '../vendor/lit-html.js';
import { newGameAction, newGameDialog } from './new_game.js';

/** Asks before an unfinished game is replaced. @param {GameView | null} game */
export async function mayReplace(game) {
  if (!game?.at_stake) return true;
  const moves = Math.ceil(game.moves.length / 2);
  return confirmed({
    title: 'Put the game on the board aside?',
    text: `It is not over after ${moves} ${moves === 1 ? 'move' : 'moves'}. It stays in Games, where it can be played on.`,
    yes: 'Put it aside',
  });
}

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
   * @param {() => void} begun
   */
  async #begin(form, game, begun) {
    if (!this.#chosen) return;
    const values = valuesOf(form, this.#chosen.values);
    if (!(await mayReplace(game))) return;
    const error = await act({ ...newGameAction(values, game?.engines ?? []), replace: true });
    if (error === null) {
      remember('new game', values);
      this.#chosen = null;
      begun();
    } else if (this.#chosen) {
      this.#chosen = { ...this.#chosen, values, error };
    }
    this.#changed();
  }

  /** @param {GameView | null} game @param {() => void} begun */
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
