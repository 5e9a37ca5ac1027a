/**
 * Live boards. The server sends only the boards in view.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {LiveBoard} from './types.js'
 */
import { MatchClocks } from './play/clock.js';
import { view } from './server.js';
import { Chessground } from './vendor/chessground.min.js';

/**
 * @typedef {{figure: HTMLElement, ground: Api, top: HTMLElement, bottom: HTMLElement, caption: HTMLElement,
 *   board: LiveBoard | null, clocks: MatchClocks}} Frame
 */

/** The boards of matches have clocks. @param {string} name @param {boolean} isShown */
function watch(name, isShown) {
  view(name, isShown);
  if (name.startsWith('match/')) view(`${name}/clock`, isShown);
}

/** @param {string} tag @param {string} className @param {HTMLElement} parent */
function add(tag, className, parent) {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

export class BoardGrid {
  #element;
  /** @type {Map<string, Frame>} */
  #frames = new Map();
  #observer;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.#element = element;
    this.#observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const name = entry.target.getAttribute('data-board');
        if (name) watch(name, entry.isIntersecting);
      }
    });
  }

  /**
   * Shows these boards, in this order.
   *
   * @param {string[]} names
   */
  show(names) {
    for (const [name, frame] of this.#frames) {
      if (names.includes(name)) continue;
      this.#observer.unobserve(frame.figure);
      watch(name, false);
      frame.clocks.stop();
      frame.figure.remove();
      this.#frames.delete(name);
    }
    for (const name of names) {
      const frame = this.#frames.get(name) ?? this.#frame(name);
      // Moving an element that is in its place would interrupt its animations.
      if (this.#element.children[names.indexOf(name)] !== frame.figure) this.#element.append(frame.figure);
    }
    this.#element.classList.toggle('single', names.length === 1);
  }

  /** @param {string} name */
  #frame(name) {
    const figure = document.createElement('figure');
    figure.className = 'live';
    figure.dataset.board = name;
    const top = add('div', 'player', figure);
    const square = add('div', 'square', figure);
    const board = add('div', 'board', square);
    const bottom = add('div', 'player', figure);
    const caption = add('figcaption', 'small', figure);
    this.#element.append(figure);
    const ground = Chessground(board, { viewOnly: true, coordinates: false, animation: { duration: 120 } });
    /** @type {Frame} */
    const frame = { figure, ground, top, bottom, caption, board: null, clocks: new MatchClocks(() => clocks(frame)) };
    this.#frames.set(name, frame);
    this.#observer.observe(figure);
    return frame;
  }

  /** @param {Record<string, any>} boards */
  receive(boards) {
    for (const [name, frame] of this.#frames) {
      const clock = boards[`${name}/clock`];
      if (clock) frame.clocks.receive(clock);
      /** @type {LiveBoard | undefined} */
      const board = boards[name];
      if (clock && !board) clocks(frame);
      if (!board) continue;
      frame.board = board;
      const last = board.last;
      frame.ground.set({
        fen: board.fen,
        turnColor: board.fen.split(' ')[1] === 'w' ? 'white' : 'black',
        check: board.check,
        lastMove: last ? /** @type {Key[]} */ ([last.slice(0, 2), last.slice(2, 4)]) : undefined,
      });
      const move = board.san ? `move ${Math.ceil(board.ply / 2)}: ${board.san}` : '';
      const where = [board.title, move].filter(Boolean).join(', ');
      player(frame.top, 'black', board);
      player(frame.bottom, 'white', board);
      clocks(frame);
      frame.caption.textContent = `${where}${board.end ? `. ${board.end}` : ''}`;
      frame.figure.setAttribute('aria-label', `${board.white} against ${board.black}`);
    }
  }
}

/** @param {HTMLElement} element @param {'white' | 'black'} side @param {LiveBoard} board */
function player(element, side, board) {
  const toMove = !board.end && board.fen.split(' ')[1] === side[0];
  element.classList.toggle('to-move', toMove);
  const name = element.children[0] ?? add('span', 'name', element);
  name.textContent = board[side];
  if (element.children.length < 2) add('span', 'clock', element);
}

/** @param {Frame} frame */
function clocks({ board, clocks, top, bottom }) {
  if (!board) return;
  const [white, black] = clocks.texts(board);
  bottom.children[1].textContent = white;
  top.children[1].textContent = black;
}
