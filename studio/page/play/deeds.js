/**
 * What a person does to the game on the board, and what came of it: an error, or what was done.
 *
 * @import {GameView} from '../types.js'
 * @import {Looking} from './looking.js'
 */
import { act, addVariation } from '../server.js';
import { takeBack } from './take_back.js';

/** @typedef {Pick<Looking, 'tree' | 'node' | 'isLast' | 'moves'>} Looked */

/**
 * @typedef {object} Place
 * @property {() => GameView | null} game on the board
 * @property {() => Looked} looking
 * @property {(node: number) => void} go to a position
 * @property {() => void} clear takes away what points at the position on the board
 * @property {() => void} changed
 */

/** The requests of `server.js`. @typedef {{act: typeof act, addVariation: typeof addVariation}} Requests */

export class Deeds {
  /** @type {string | null} */
  error = null;
  /** What was done last. */
  told = '';
  /** How often something was told: it is shown anew each time. */
  times = 0;
  /** Resigning waits for confirmation. Any other action cancels it. */
  resigning = false;
  #place;
  #requests;

  /** @param {Place} place @param {Requests} [requests] */
  constructor(place, requests = { act, addVariation }) {
    this.#place = place;
    this.#requests = requests;
  }

  /** Another position: what was said of the one before goes. */
  forget() {
    [this.error, this.told, this.resigning] = [null, '', false];
  }

  /** @param {string} text @param {boolean} isError */
  tell(text, isError) {
    this.error = isError ? text : null;
    this.told = isError ? '' : text;
    this.times += 1;
    this.#place.changed();
  }

  /** It was shown long enough, and is not shown again when the room is left and entered. */
  untell() {
    this.told = '';
    this.#place.changed();
  }

  /** @param {string | null} error */
  fail(error) {
    this.error = error;
    this.#place.changed();
  }

  /** @param {boolean} isArmed */
  resign(isArmed) {
    this.resigning = isArmed;
    this.#place.changed();
  }

  /** @param {object} action @param {string} [room] the board, if it is left out */
  async act(action, room = `play/${this.#place.game()?.id}`) {
    const board = this.#place.game()?.id;
    this.resigning = false;
    const error = await this.#requests.act(action, room);
    // The person may look at another board by now.
    if (board === this.#place.game()?.id) this.error = error;
    this.#place.changed();
    return error === null;
  }

  /** Changes the tree at a node. @param {number} node @param {string | Record<string, unknown>} change @param {string} [seen] */
  edit(node, change, seen) {
    return this.act({ do: 'edit', node, change, seen });
  }

  /** Plays a move of the game, or adds one after another position. @param {string} text */
  async send(text) {
    const game = this.#place.game();
    this.#place.clear();
    if (!game) return false;
    const looking = this.#place.looking();
    if (!looking.isLast || game.end) return this.variation(text);
    looking.moves(true);
    const done = await this.act({ do: 'move', text, ply: game.moves.length });
    if (!done) looking.moves(false);
    return done;
  }

  /** Adds moves after the position on the board, and goes there. @param {string} text */
  async variation(text) {
    this.#place.clear();
    const board = this.#place.game()?.id ?? 0;
    const answer = await this.#requests.addVariation(board, this.#place.looking().node, text);
    if (board === this.#place.game()?.id) {
      this.error = 'error' in answer ? answer.error : null;
      if ('value' in answer) this.#place.go(answer.value.node);
    }
    this.#place.changed();
    return 'value' in answer;
  }

  undo() {
    if (this.#place.game()?.undo) this.act({ do: 'undo' });
  }

  takeBack() {
    const game = this.#place.game();
    if (game) takeBack(game, this.#place.looking().tree, (action) => this.act(action, `play/${game.id}`));
  }
}
