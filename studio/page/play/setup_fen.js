/** A position that is being set up, as a FEN and back. */

/** @typedef {{pieces: string, turn: 'w' | 'b', castling: string, ep: string, rest: string}} SetUp castling is a part of `KQkq`; rest holds the counters */

export const START = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';
export const EMPTY = '8/8/8/8/8/8/8/8 w - - 0 1';

/** @param {string} fen @returns {SetUp} missing fields are those of a position without castling */
export function setUpOf(fen) {
  const [pieces, turn = 'w', castling = '-', ep = '-', ...rest] = fen.trim().split(/\s+/);
  return { pieces, turn: turn === 'b' ? 'b' : 'w', castling: castling.replace('-', ''), ep, rest: rest.length === 2 ? rest.join(' ') : '0 1' };
}

/** @param {SetUp} setUp */
export function fenOf({ pieces, turn, castling, ep, rest }) {
  return `${pieces} ${turn} ${castling === '' ? '-' : castling} ${ep} ${rest}`;
}

/** The letters of the ranks from the eighth; `''` is an empty square. @param {string} pieces */
export function ranks(pieces) {
  return pieces.split('/').map((rank) => [...rank].flatMap((letter) => (/\d/.test(letter) ? Array(Number(letter)).fill('') : [letter])));
}

/** Squares that a pawn may just have passed. @param {SetUp} setUp @returns {string[]} */
export function epSquares({ pieces, turn }) {
  const rows = ranks(pieces);
  // Rows from the eighth rank: where the pawn came from, the square it passed, where it stands.
  const [from, passed, to] = turn === 'w' ? [1, 2, 3] : [6, 5, 4];
  const pawn = turn === 'w' ? 'p' : 'P';
  return [...'abcdefgh'].filter((_, file) => rows[to]?.[file] === pawn && rows[passed]?.[file] === '' && rows[from]?.[file] === '')
    .map((file) => `${file}${8 - passed}`);
}

/** Without the castling rights and the en passant square that the pieces no longer allow. @param {SetUp} setUp @returns {SetUp} */
export function fitting(setUp) {
  const rows = ranks(setUp.pieces);
  const stands = { K: rows[7]?.[4] === 'K' && rows[7][7] === 'R', Q: rows[7]?.[4] === 'K' && rows[7][0] === 'R',
    k: rows[0]?.[4] === 'k' && rows[0][7] === 'r', q: rows[0]?.[4] === 'k' && rows[0][0] === 'r' };
  // Other letters are the files of rooks in Chess960, which the server judges.
  const castling = [...setUp.castling].filter((letter) => stands[/** @type {keyof typeof stands} */ (letter)] ?? true).join('');
  return { ...setUp, castling, ep: epSquares(setUp).includes(setUp.ep) ? setUp.ep : '-' };
}

/** Which of `KQkq` the pieces allow. @param {SetUp} setUp */
export function castlingChoices(setUp) {
  return [...fitting({ ...setUp, castling: 'KQkq' }).castling];
}
