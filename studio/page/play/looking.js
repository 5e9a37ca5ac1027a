/**
 * Which position a tab looks at. The server analyses the one that was looked at last.
 *
 * @import {GameView, LegalMove, PositionView} from '../types.js'
 */
import { MoveTree } from './move_tree.js';

/** @typedef {(node: number | null) => Promise<{value: PositionView} | {error: string}>} Ask */

/** An evaluation is on its way for so long. */
const SETTLED_MS = 1000;

export class Looking {
  /** `null` is the game's last position. @type {number | null} */
  #shown = null;
  /** What the server says of it. @type {PositionView | null} */
  #position = null;
  /** The person's choice, until another game comes. @type {boolean | null} */
  #follows = null;
  /** A node that was added, before the server has sent it. @type {number | null} */
  #expected = null;
  /** This tab has played the game's next move. */
  #hasMoved = false;
  /** @type {GameView | null} */
  #game = null;
  #tree = new MoveTree([]);
  #isAsking = false;
  /** Time of the last request, by `performance.now()`. */
  #told = 0;
  /** Another position was chosen meanwhile. */
  #isStale = false;
  #ask;
  #changed;

  /** @param {Ask} ask @param {() => void} changed */
  constructor(ask, changed) {
    this.#ask = ask;
    this.#changed = changed;
  }

  get tree() {
    return this.#tree;
  }

  /** The node of the position. */
  get node() {
    return this.#shown ?? this.#game?.at ?? 0;
  }

  /** Whether it is the game's last position. */
  get isLast() {
    return this.#shown === null;
  }

  /** Whether the game's next move takes the board along. */
  get follows() {
    return this.#follows ?? this.#game?.end === null;
  }

  /** @returns {LegalMove[]} */
  get legal() {
    if (this.#shown === null) return this.#game?.legal ?? [];
    return this.#position?.node === this.#shown ? this.#position.legal : [];
  }

  /** Whether there is nothing to evaluate. */
  get isFinal() {
    if (this.#shown === null) return this.#game?.is_final ?? false;
    return this.#position?.node === this.#shown && this.#position.is_final;
  }

  get opening() {
    if (this.#shown === null) return this.#game?.opening ?? null;
    return this.#position?.node === this.#shown ? this.#position.opening : null;
  }

  /** Whether another tab's position would be analysed by now. */
  get isSettled() {
    return !this.#isAsking && performance.now() - this.#told > SETTLED_MS;
  }

  /** @param {boolean} follows */
  follow(follows) {
    this.#follows = follows;
    if (follows) this.go(null);
  }

  /** Whether the next move of the game is this tab's own, which is shown. @param {boolean} hasMoved */
  moves(hasMoved) {
    this.#hasMoved = hasMoved;
  }

  /** @param {number | null} node */
  go(node) {
    this.#expected = null;
    if (node !== null && !this.#tree.node(node)) {
      this.#expected = node;
      return;
    }
    this.#shown = node === this.#game?.at ? null : node;
    this.tell();
  }

  /** @param {GameView} game */
  receive(game) {
    const [before, tree] = [this.#game, this.#tree];
    const shown = this.#shown;
    this.#game = game;
    this.#tree = new MoveTree(game.tree);
    if (before === null || before.number !== game.number) {
      [this.#shown, this.#follows, this.#expected] = [null, null, null];
      this.#hasMoved = false;
      this.tell();
      return;
    }
    if (before.revision !== game.revision) {
      if (this.follows || this.#hasMoved || before.at === game.at) this.#shown = before.at === game.at ? shown : null;
      else this.#shown = shown ?? before.at;
      this.#hasMoved = false;
    }
    if (this.#expected !== null && this.#tree.node(this.#expected)) this.#shown = this.#expected;
    if (this.#shown === this.#expected) this.#expected = null;
    // What was deleted is looked at no longer, but the position before it.
    while (this.#shown !== null && !this.#tree.node(this.#shown)) this.#shown = tree.node(this.#shown)?.parent ?? null;
    if (this.#shown === game.at) this.#shown = null;
    if (this.#shown !== shown) this.tell();
  }

  /** Has the position analysed. Of positions that are passed quickly, only the last one is. */
  async tell() {
    if (this.#isAsking) {
      this.#isStale = true;
      return;
    }
    this.#isAsking = true;
    this.#told = performance.now();
    do {
      this.#isStale = false;
      const answer = await this.#ask(this.#shown);
      this.#position = 'value' in answer ? answer.value : null;
    } while (this.#isStale);
    this.#isAsking = false;
    this.#changed();
  }
}
