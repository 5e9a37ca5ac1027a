/**
 * What happens on the board, in words for screen readers.
 *
 * @import {GameView} from '../types.js'
 */
import { hintWords } from './hint.js';
import { play as playSound, soundOf } from './sounds.js';
import { spoken } from './words.js';

/** What is new in a game, with its sound. @param {GameView | null} before @param {GameView} game */
export function news(before, game) {
  /** @type {string[]} */
  const words = [];
  if (before && game.moves.length > before.moves.length) {
    const more = game.moves.slice(before.moves.length);
    more.forEach((move, index) => {
      const ply = game.first_ply + before.moves.length + index;
      words.push(`${ply % 2 === 0 ? 'White' : 'Black'}: ${spoken(move.san)}.`);
    });
    if (more.length > 2) words.splice(0, words.length, `${game.moves.length} moves.`);
    playSound(game.end && !before.end ? 'end' : soundOf(more[more.length - 1].san));
  } else if (before && game.moves.length < before.moves.length) {
    words.push(game.moves.length === 0 ? 'New game.' : `Back to move ${Math.floor(game.moves.length / 2) + 1}.`);
  }
  if (game.end && !before?.end) words.push(game.end.text);
  else if (words.length > 0 && !game.end && game.legal.length > 0) words.push('Your move.');
  const hint = hintWords(game);
  if (hint !== '' && before && hint !== hintWords(before)) words.push(hint);
  if (game.notice && game.notice !== before?.notice) words.push(game.notice);
  return words.join(' ');
}
