/** Where two knights stand among five free squares. */
const KNIGHTS = [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]];

/** The initial position of Chess960 with a number from 0 to 959 (518 is the usual one), as FEN. */
export function chess960(number) {
  const pieces = Array(8).fill('');
  const put = (piece, ...places) => {
    const free = pieces.flatMap((there, file) => (there ? [] : [file]));
    for (const place of places) pieces[free[place]] = piece;
  };
  pieces[2 * (number % 4) + 1] = 'b';
  pieces[2 * (Math.floor(number / 4) % 4)] = 'b';
  put('q', Math.floor(number / 16) % 6);
  put('n', ...KNIGHTS[Math.floor(number / 96)]);
  for (const piece of 'rkr') put(piece, 0);
  const back = pieces.join('');
  const rights = `${'abcdefgh'[back.lastIndexOf('r')]}${'abcdefgh'[back.indexOf('r')]}`;
  return `${back}/pppppppp/8/8/8/8/PPPPPPPP/${back.toUpperCase()} w ${rights.toUpperCase()}${rights} - 0 1`;
}
