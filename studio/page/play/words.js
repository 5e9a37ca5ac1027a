/**
 * Chess in words, for screen readers.
 *
 * @import {Side} from '../types.js'
 */
import { ranks } from './setup_fen.js';

/** @type {Record<string, string>} */
const PIECES = { p: 'pawn', n: 'knight', b: 'bishop', r: 'rook', q: 'queen', k: 'king' };

/** @param {Side} side */
export function sideName(side) {
  return side === 'white' ? 'White' : 'Black';
}

/**
 * A move in words, as in "knight takes f3, check".
 *
 * @param {string} san
 */
export function spoken(san) {
  const end = san.endsWith('#') ? ', checkmate' : san.endsWith('+') ? ', check' : '';
  const move = san.replace(/[+#]$/, '');
  if (move === 'O-O') return `castles king side${end}`;
  if (move === 'O-O-O') return `castles queen side${end}`;
  const [body, promotion] = move.split('=');
  const piece = /^[NBRQK]/.test(body) ? `${PIECES[body[0].toLowerCase()]} ` : '';
  const squares = body.replace(/^[NBRQK]/, '').replace('x', ' takes ');
  const becomes = promotion ? `, becomes a ${PIECES[promotion.toLowerCase()]}` : '';
  return `${piece}${squares.trim()}${becomes}${end}`;
}

/**
 * The pieces by rank, from the eighth: "white pawn" or the like; `''` is an empty square.
 *
 * @param {string} fen
 * @returns {string[][]}
 */
export function boardRows(fen) {
  return ranks(fen.split(' ')[0]).map((rank) => rank.map((letter) => (letter === '' ? ''
    : `${letter === letter.toLowerCase() ? 'black' : 'white'} ${PIECES[letter.toLowerCase()]}`)));
}
