/**
 * The board, drawn by chessground.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {DrawShape} from '@lichess-org/chessground/draw'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {GameView, Side} from '../types.js'
 */
import { Chessground } from '../vendor/chessground.min.js';

/** @typedef {{uci: string, brush: string, width?: number}} Arrow */
/** @typedef {{uci: string, fen: string}} Preview a position that is shown in place of the game's */
/** @typedef {{arrows: Arrow[], heat: Map<string, number>, preview: Preview | null}} Overlay heat is 1 to 5 by square */

/** @param {string} uci @returns {[Key, Key]} */
function squares(uci) {
  return [/** @type {Key} */ (uci.slice(0, 2)), /** @type {Key} */ (uci.slice(2, 4))];
}

/** @param {Arrow} arrow @returns {DrawShape} */
function shape({ uci, brush, width }) {
  const [orig, dest] = squares(uci);
  return { orig, dest, brush, ...(width ? { modifiers: { lineWidth: width } } : {}) };
}

export class Board {
  /** @type {Api | null} */
  #ground = null;
  #element;
  #moved;

  /**
   * @param {HTMLElement} element
   * @param {(from: string, to: string, premove: boolean) => void} moved a person has moved a piece
   */
  constructor(element, moved) {
    this.#element = element;
    this.#moved = moved;
  }

  /**
   * Shows the position after `ply` moves.
   *
   * @param {GameView} game
   * @param {number} ply
   * @param {Side} orientation
   * @param {Overlay} overlay
   */
  show(game, ply, orientation, { arrows, heat, preview }) {
    const played = game.moves[ply - 1];
    const last = preview ?? played;
    const fen = last ? last.fen : game.start_fen;
    const isPresent = ply === game.moves.length && !preview;
    /** @type {Side} */
    const turn = fen.split(' ')[1] === 'w' ? 'white' : 'black';
    const persons = /** @type {Side[]} */ (['white', 'black']).filter((side) => game[side].kind === 'person');
    const mover = persons.length === 2 ? turn : persons[0];
    /** @type {Map<Key, Key[]>} */
    const dests = new Map();
    for (const { uci } of isPresent ? game.legal : []) {
      const [from, to] = squares(uci);
      dests.set(from, [...(dests.get(from) ?? []), to]);
    }
    const canMove = isPresent && !game.end && mover !== undefined;
    const custom = new Map([...heat].map(([square, level]) => [/** @type {Key} */ (square), `heat-${level}`]));
    /** @type {import('@lichess-org/chessground/config').Config} */
    const config = {
      fen,
      orientation,
      turnColor: turn,
      check: preview ? false : played ? played.check : game.start_check,
      lastMove: last ? squares(last.uci) : undefined,
      viewOnly: false,
      coordinates: true,
      highlight: { custom },
      animation: { enabled: !matchMedia('(prefers-reduced-motion: reduce)').matches, duration: 150 },
      movable: {
        free: false,
        color: canMove ? mover : undefined,
        dests,
        showDests: true,
        rookCastle: true,
        events: { after: (from, to, metadata) => this.#moved(from, to, Boolean(metadata.premove)) },
      },
      premovable: { enabled: canMove && persons.length === 1 },
      drawable: { autoShapes: preview ? [] : arrows.map(shape) },
    };
    if (this.#ground) this.#ground.set(config);
    else this.#ground = Chessground(this.#element, config);
    if (dests.size > 0) this.#ground.playPremove();
  }
}
