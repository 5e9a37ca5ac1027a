/**
 * The board, drawn by chessground.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {DrawShape} from '@lichess-org/chessground/draw'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {GameView, LegalMove, Side, TreeNode} from '../types.js'
 */
import { Chessground } from '../vendor/chessground.min.js';

/** @typedef {{uci: string, brush: string, width?: number}} Arrow */
/** @typedef {{uci: string, fen: string}} Preview a position that is shown in place of the game's */
/** @typedef {{arrows: Arrow[], heat: Map<string, number>, preview: Preview | null}} Overlay heat is 1 to 5 by square */

/**
 * A position on the board.
 *
 * @typedef {object} Stage
 * @property {string} fen
 * @property {string | null} last the move that led there, in UCI notation
 * @property {boolean} check
 * @property {Side | null} mover who may move pieces
 * @property {LegalMove[]} legal
 * @property {boolean} premoves
 */

/** Brushes by the letters of `[%cal]` and `[%csl]`. @type {Record<string, string>} */
const BRUSHES = { G: 'green', R: 'red', Y: 'yellow', B: 'blue' };

/**
 * In the last position of a running game, persons make its moves; elsewhere moves become variations.
 *
 * @param {GameView} game
 * @param {TreeNode} node
 * @param {boolean} isLast
 * @param {LegalMove[]} legal
 * @returns {Stage}
 */
export function stageOf(game, node, isLast, legal) {
  /** @type {Side} */
  const turn = node.fen.split(' ')[1] === 'w' ? 'white' : 'black';
  const persons = /** @type {Side[]} */ (['white', 'black']).filter((side) => game[side].kind === 'person');
  const isRunning = isLast && !game.end;
  const mover = !isRunning || persons.length === 2 ? turn : persons[0] ?? null;
  return { fen: node.fen, last: node.uci || null, check: node.check, mover, legal, premoves: isRunning && persons.length === 1 };
}

/** Arrows and squares in a file, such as `Ge2e4` and `Rd5`. @param {string[]} words @returns {Arrow[]} */
export function drawn(words) {
  return words.map((word) => ({ uci: word.slice(1), brush: BRUSHES[word[0]] ?? 'green' }));
}

/** @param {string} uci @returns {[Key, Key]} */
function squares(uci) {
  return [/** @type {Key} */ (uci.slice(0, 2)), /** @type {Key} */ (uci.slice(2, 4))];
}

/** @param {Arrow} arrow @returns {DrawShape} */
function shape({ uci, brush, width }) {
  const [orig, dest] = squares(uci);
  return { orig, ...(dest ? { dest } : {}), brush, ...(width ? { modifiers: { lineWidth: width } } : {}) };
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
   * @param {Stage} stage
   * @param {Side} orientation
   * @param {Overlay} overlay
   */
  show({ fen, last, check, mover, legal, premoves }, orientation, { arrows, heat, preview }) {
    /** @type {Side} */
    const turn = (preview?.fen ?? fen).split(' ')[1] === 'w' ? 'white' : 'black';
    /** @type {Map<Key, Key[]>} */
    const dests = new Map();
    for (const { uci } of preview ? [] : legal) {
      const [from, to] = squares(uci);
      dests.set(from, [...(dests.get(from) ?? []), to]);
    }
    const custom = new Map([...heat].map(([square, level]) => [/** @type {Key} */ (square), `heat-${level}`]));
    const lastUci = preview?.uci ?? last;
    /** @type {import('@lichess-org/chessground/config').Config} */
    const config = {
      fen: preview?.fen ?? fen,
      orientation,
      turnColor: turn,
      check: preview ? false : check,
      lastMove: lastUci ? squares(lastUci) : undefined,
      viewOnly: false,
      coordinates: true,
      highlight: { custom },
      animation: { enabled: !matchMedia('(prefers-reduced-motion: reduce)').matches, duration: 150 },
      movable: {
        free: false,
        color: preview ? undefined : mover ?? undefined,
        dests,
        showDests: true,
        rookCastle: true,
        events: { after: (from, to, metadata) => this.#moved(from, to, Boolean(metadata.premove)) },
      },
      premovable: { enabled: premoves && !preview },
      drawable: { autoShapes: preview ? [] : arrows.map(shape) },
    };
    if (this.#ground) this.#ground.set(config);
    else this.#ground = Chessground(this.#element, config);
    if (dests.size > 0) this.#ground.playPremove();
  }
}
