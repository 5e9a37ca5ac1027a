/**
 * Live boards. The server sends only the boards in view.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {LiveBoard} from './types.js'
 */
import { clockText } from './play/clock.js';
import { view } from './server.js';
import { Chessground } from './vendor/chessground.min.js';

/** @typedef {{figure: HTMLElement, ground: Api, top: HTMLElement, bottom: HTMLElement, caption: HTMLElement}} Frame */

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
        if (name) view(name, entry.isIntersecting);
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
      view(name, false);
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
    const frame = { figure, ground, top, bottom, caption };
    this.#frames.set(name, frame);
    this.#observer.observe(figure);
    return frame;
  }

  /** @param {Record<string, LiveBoard>} boards */
  receive(boards) {
    for (const [name, board] of Object.entries(boards)) {
      const frame = this.#frames.get(name);
      if (!frame) continue;
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
      frame.caption.textContent = `${where}${board.end ? `. ${board.end}` : ''}`;
      frame.figure.setAttribute('aria-label', `${board.white} against ${board.black}`);
    }
  }
}

/** @param {HTMLElement} element @param {'white' | 'black'} side @param {LiveBoard} board */
function player(element, side, board) {
  const toMove = !board.end && board.fen.split(' ')[1] === side[0];
  element.classList.toggle('to-move', toMove);
  const left = board.left_ms ? clockText(board.left_ms[side === 'white' ? 0 : 1]) : '';
  const parts = element.children.length > 0 ? [...element.children] : [add('span', 'name', element), add('span', 'clock', element)];
  parts[0].textContent = board[side];
  parts[1].textContent = left;
}
