/**
 * Chess in words, for screen readers.
 *
 * @import {Side} from '../types.js'
 */

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
  return fen.split(' ')[0].split('/').map((rank) =>
    [...rank].flatMap((letter) => {
      if (/\d/.test(letter)) return Array(Number(letter)).fill('');
      const piece = PIECES[letter.toLowerCase()];
      return [`${letter === letter.toLowerCase() ? 'black' : 'white'} ${piece}`];
    }));
}
