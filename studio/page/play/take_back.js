/**
 * Taking moves back, with a question where more than the moves would go.
 *
 * @import {GameView} from '../types.js'
 * @import {MoveTree} from './move_tree.js'
 */
import { confirmed } from '../question.js';
import { losesNotes } from './move_tree.js';

/**
 * @param {GameView} game
 * @param {MoveTree} tree
 * @param {(action: object) => Promise<boolean>} act
 */
export async function takeBack(game, tree, act) {
  const moves = game.take_back === 1 ? 'the move' : 'the moves';
  const asks = losesNotes(tree, game.at, game.take_back);
  if (asks && !(await confirmed({
    title: `Take ${moves} back?`,
    text: 'The variations, comments and drawings after this position go with it. Undo brings all back, until the next move.',
    yes: 'Take back',
  }))) return;
  await act({ do: 'take_back' });
}
