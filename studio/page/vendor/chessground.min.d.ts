export { Chessground } from '@lichess-org/chessground';
