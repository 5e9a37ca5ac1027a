/**
 * The board, drawn by chessground.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {DrawShape} from '@lichess-org/chessground/draw'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {GameView, LegalMove, Side, TreeNode} from '../types.js'
 */
import { Chessground } from '../vendor/chessground.min.js';
import { shapesOf, toggled, wordsOf } from './drawings.js';
import { moveDuration } from './settings.js';

/** @typedef {{uci: string, brush: string, width?: number}} Arrow a square alone is a circle */
/** @typedef {{uci: string, fen: string}} Preview a position that is shown in place of the game's */
/**
 * @typedef {{arrows: Arrow[], own: string[], heat: Map<string, number>, preview: Preview | null}} Overlay `own` is what a
 *   person has drawn; heat is 1 to 5 by square
 */

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
  #drawn;
  /** What is drawn. @type {string[]} */
  #own = [];
  /** All that was shown last; empty once a person has changed something on the board. */
  #shown = '';
  /** The last press on the board draws. */
  #isDrawing = false;
  /** The letter of a brush, with which every press draws; empty: presses move pieces. */
  brush = '';
  /** Where a press with the brush began. @type {Key | undefined} */
  #from;

  /**
   * @param {HTMLElement} element
   * @param {(from: string, to: string, premove: boolean) => void} moved a person has moved a piece
   * @param {(words: string[]) => void} drawn a person has drawn or erased something
   */
  constructor(element, moved, drawn) {
    this.#element = element;
    this.#moved = moved;
    this.#drawn = drawn;
    // Before the board hears of it.
    element.addEventListener('pointerdown', (event) => {
      this.#isDrawing = event.button === 2 || event.shiftKey;
      // A second finger ends what the first one draws.
      if (!event.isPrimary) this.#lift(undefined);
      this.#from = this.brush && event.isPrimary ? this.#square(event) : undefined;
      this.#stroke(event);
    }, { capture: true });
    element.addEventListener('pointermove', (event) => this.#stroke(event));
    element.addEventListener('pointercancel', () => this.#lift(undefined));
    element.addEventListener('pointerup', (event) => this.#lift(this.#wordTo(event)));
    for (const kind of /** @type {const} */ (['touchstart', 'mousedown'])) {
      element.addEventListener(kind, (event) => {
        if (!this.brush) return;
        // Neither a piece nor the page moves.
        event.preventDefault();
        event.stopPropagation();
      }, { capture: true, passive: false });
    }
  }

  /** @param {PointerEvent} event */
  #square(event) {
    return this.#ground?.getKeyAtDomPos([event.clientX, event.clientY]);
  }

  /** What the brush draws to this place. @param {PointerEvent} event */
  #wordTo(event) {
    const to = this.#square(event);
    return this.#from && to ? `${this.brush}${this.#from}${to === this.#from ? '' : to}` : undefined;
  }

  /** @param {PointerEvent} event */
  #stroke(event) {
    const word = this.#wordTo(event);
    if (word) this.#shown = '';
    if (word) this.#ground?.setShapes(shapesOf(toggled(this.#own, word)));
  }

  /** @param {string | undefined} word what was drawn */
  #lift(word) {
    if (!this.#from) return;
    this.#from = undefined;
    if (word) this.#drawn(toggled(this.#own, word));
    else this.#ground?.setShapes(shapesOf(this.#own));
  }

  /** @param {DrawShape[]} shapes */
  #changed(shapes) {
    this.#shown = '';
    // Chessground erases everything at a click on an empty square. But drawings are part of the game.
    if (this.#isDrawing) this.#drawn(wordsOf(shapes));
    else this.#ground?.setShapes(shapesOf(this.#own));
  }

  /**
   * @param {Stage} stage
   * @param {Side} orientation
   * @param {Overlay} overlay
   */
  show({ fen, last, check, mover, legal, premoves }, orientation, { arrows, own, heat, preview }) {
    this.#own = own;
    // Chessground draws all anew, whatever has changed, and engines send lines ten times a second.
    const shown = JSON.stringify([fen, last, check, mover, legal, premoves, orientation, arrows, own, [...heat], preview, moveDuration()]);
    if (shown === this.#shown) return;
    this.#shown = shown;
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
      animation: { enabled: moveDuration() > 0, duration: moveDuration() },
      movable: {
        free: false,
        color: preview ? undefined : mover ?? undefined,
        dests,
        showDests: true,
        rookCastle: true,
        events: {
          after: (from, to, metadata) => {
            this.#shown = '';
            this.#moved(from, to, Boolean(metadata.premove));
          },
        },
      },
      premovable: { enabled: premoves && !preview },
      drawable: {
        enabled: !preview,
        shapes: preview ? [] : shapesOf(own),
        autoShapes: preview ? [] : arrows.map(shape),
        eraseOnMovablePieceClick: false,
        onChange: (shapes) => this.#changed(shapes),
      },
    };
    if (this.#ground) this.#ground.set(config);
    else this.#ground = Chessground(this.#element, config);
    if (dests.size > 0) this.#ground.playPremove();
  }
}
