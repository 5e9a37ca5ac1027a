/**
 * Whose turn it is, or which position is looked at, in a sentence.
 *
 * @import {GameView} from '../types.js'
 * @import {Looking} from './looking.js'
 */
import { sideName } from './words.js';

/** @param {GameView | null} game @param {Looking} looking */
export function statusText(game, { tree, node, isLast }) {
  if (!game) return 'Connecting …';
  if (!isLast) {
    if (tree.isMain(node) && tree.mainPly(node) > game.moves.length) {
      return `Looking past the game's end: ${tree.numbered(node, game.first_ply)}.`;
    }
    return tree.isMain(node) ? `Looking at move ${Math.ceil(tree.mainPly(node) / 2)} of ${Math.ceil(game.moves.length / 2)}.`
      : `Looking at the variation ${tree.numbered(node, game.first_ply)}.`;
  }
  if (game.end) return `${game.end.text} ${game.end.result}`;
  const check = game.moves.at(-1)?.check ?? game.start_check;
  if (game.legal.length > 0) return `${sideName(game.turn)} to move${check ? ', in check' : ''}: your move.`;
  return `${sideName(game.turn)} to move.`;
}
