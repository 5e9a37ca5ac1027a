/**
 * The board with all that lies on it: drawings, the policy, the line under the pointer, a promotion to choose.
 *
 * @import {GameView, LegalMove, Side, ThoughtLine, Thoughts, TreeNode} from '../types.js'
 * @import {Looking} from './looking.js'
 */
import { recall, remember } from '../memory.js';
import { nothing } from '../vendor/lit-html.js';
import { Board, stageOf } from './board.js';
import { Drawings } from './drawings.js';
import { heatOf, lineArrows, priorArrows } from './evaluation.js';
import { hintArrows } from './hint.js';
import { LinePreview } from './preview.js';
import { promotionDialog } from './promotion.js';

/**
 * @typedef {object} BoardActions
 * @property {(uci: string) => void} play a person has made this move
 * @property {(node: number, words: string[]) => Promise<boolean>} save keeps what was drawn at a node
 * @property {() => void} changed
 */

export class BoardView {
  /** @type {Board | null} */
  #board = null;
  /** Of the game that is shown, which changes with the board of the tab. @type {Looking | null} */
  #looking = null;
  #on;
  #flipped = false;
  /** Promotions to choose from. @type {LegalMove[]} */
  #promotions = [];
  /** Whether priors are drawn. */
  heat = false;
  /** Whether the first moves of the engines' lines are drawn. */
  arrows = recall('board').arrows === 'on';
  /** The letter of the brush with which presses on the board draw; empty if they move pieces. */
  brush = '';
  /** Move under the mouse or the focus. @type {string | null} */
  #arrow = null;
  #preview;
  #drawings;

  /** @param {BoardActions} on */
  constructor(on) {
    this.#on = on;
    this.#preview = new LinePreview(on.changed);
    this.#drawings = new Drawings(on.save);
  }

  get asksForPromotion() {
    return this.#promotions.length > 0;
  }

  /** @param {GameView | null} game @returns {Side} the side at the bottom */
  orientation(game) {
    const personIsBlack = game?.black.kind === 'person' && game.white.kind !== 'person';
    return personIsBlack !== this.#flipped ? 'black' : 'white';
  }

  flip() {
    this.#flipped = !this.#flipped;
    this.#on.changed();
  }

  toggleArrows() {
    this.arrows = !this.arrows;
    remember('board', { ...recall('board'), arrows: this.arrows ? 'on' : '' });
    this.#on.changed();
  }

  /** Another game: the person's side is at the bottom. */
  unflip() {
    this.#flipped = false;
  }

  /** Another position: what pointed at the one before goes. */
  clear() {
    this.#arrow = null;
    this.#preview.end();
    this.#promotions = [];
  }

  /** @param {string | null} uci */
  point(uci) {
    this.#arrow = uci;
    this.#on.changed();
  }

  /** Shows a line on the board while the pointer or the focus is on it. @param {ThoughtLine | null} line */
  follow(line) {
    this.#preview.end();
    this.point(line?.uci[0] ?? null);
    if (line) this.#preview.begin(line);
  }

  /** The pointer is on a move of a line. @param {ThoughtLine} line @param {number} index */
  look(line, index) {
    this.#preview.show(line, index);
  }

  /** What is drawn at a node. @param {TreeNode} node */
  drawnAt(node) {
    return this.#drawings.at(node);
  }

  /**
   * @param {HTMLElement} element
   * @param {GameView} game
   * @param {Looking} looking
   * @param {TreeNode} node
   * @param {(Thoughts | null)[]} thoughts of this node, by engine; the third is the threat
   */
  show(element, game, looking, node, thoughts) {
    this.#looking = looking;
    this.#board ??= new Board(element, (from, to, premove) => this.#moved(this.#looking?.legal ?? [], from, to, premove),
      (words) => this.#drawings.draw(this.#looking?.node ?? 0, words));
    this.#board.brush = this.#preview.now ? '' : this.brush;
    const known = this.heat && game.analysis ? thoughts[0]?.moves ?? [] : [];
    const threat = thoughts[2]?.lines[0]?.uci[0];
    const arrows = this.#arrow ? [{ uci: this.#arrow, brush: 'green' }] : [
      ...(looking.isLast ? hintArrows(game) : []), ...priorArrows(known), ...(this.arrows ? lineArrows(thoughts) : []), ...(threat ? [{ uci: threat, brush: 'red' }] : []),
    ];
    const overlay = { arrows, own: this.#drawings.at(node), heat: heatOf(known), preview: this.#preview.now };
    this.#board.show(stageOf(game, node, looking.isLast, looking.legal), this.orientation(game), overlay);
  }

  /**
   * @param {LegalMove[]} legal
   * @param {string} from
   * @param {string} to
   * @param {boolean} premove
   */
  #moved(legal, from, to, premove) {
    const moves = legal.filter((move) => move.uci.startsWith(from + to));
    const queen = moves.find((move) => move.uci.endsWith('q'));
    if (moves.length > 1 && !(premove && queen)) {
      this.#promotions = moves;
      this.#on.changed();
      return;
    }
    const move = moves.length > 1 ? queen : moves[0];
    if (move) this.#on.play(move.uci);
    else this.#on.changed();
  }

  /** @param {Side} side that promotes */
  promotion(side) {
    if (!this.asksForPromotion) return nothing;
    return promotionDialog(side, (piece) => {
      const move = this.#promotions.find((promotion) => promotion.uci.endsWith(piece));
      if (move) this.#on.play(move.uci);
    }, () => {
      this.#promotions = [];
      this.#on.changed();
    });
  }
}
