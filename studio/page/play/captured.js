/**
 * Captured pieces: those missing on the board.
 *
 * @import {Side} from '../types.js'
 */

/** Letters, signs, names and values, the cheapest first. */
const KINDS = /** @type {const} */ ([
  ['p', '♟', 'pawn', 1],
  ['n', '♞', 'knight', 3],
  ['b', '♝', 'bishop', 3],
  ['r', '♜', 'rook', 5],
  ['q', '♛', 'queen', 9],
]);

/** @param {string} fen @param {string} letter @param {Side} side */
function count(fen, letter, side) {
  const wanted = side === 'white' ? letter.toUpperCase() : letter;
  return [...fen.split(' ')[0]].filter((found) => found === wanted).length;
}

/** The value of a side's pieces, in pawns. @param {string} fen @param {Side} side */
function material(fen, side) {
  return KINDS.reduce((sum, [letter, , , value]) => sum + value * count(fen, letter, side), 0);
}

/**
 * The pieces that `side` has captured between two positions of a game. A promoted pawn does not count as captured.
 *
 * @param {string} start
 * @param {string} now
 * @param {Side} side
 * @returns {{signs: string, words: string, lead: number}}
 */
export function captured(start, now, side) {
  const other = side === 'white' ? 'black' : 'white';
  const lost = KINDS.map(([letter]) => count(start, letter, other) - count(now, letter, other));
  // Pieces beyond the initial number are promoted pawns.
  const promoted = lost.slice(1).reduce((sum, missing) => sum + Math.max(0, -missing), 0);
  lost[0] -= promoted;
  /** @type {string[]} */
  const words = [];
  let signs = '';
  KINDS.forEach(([, sign, name], index) => {
    const missing = Math.max(0, lost[index]);
    if (missing === 0) return;
    signs += sign.repeat(missing);
    words.push(missing === 1 ? name : `${missing} ${name}s`);
  });
  return { signs, words: words.join(', '), lead: Math.max(0, material(now, side) - material(now, other)) };
}
