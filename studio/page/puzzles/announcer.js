/**
 * What happens in a puzzle, in words for screen readers.
 *
 * @import {Attempt, Exercise, Side, Solution} from '../types.js'
 */
import { sideName, spoken } from '../play/words.js';

/** @param {Side} side @returns {Side} */
function other(side) {
  return side === 'white' ? 'black' : 'white';
}

/** @param {string} text */
function sentence(text) {
  return text && (/[.!?]$/.test(text) ? ` ${text}` : ` ${text}.`);
}

/** A puzzle that was opened. @param {Exercise} exercise */
export function opened({ title, last_san, side }) {
  const last = last_san ? ` ${sideName(other(side))} has played ${spoken(last_san)}.` : '';
  return `${title}.${last} ${sideName(side)} to move: find the best move.`;
}

/** The answer to a move. @param {Attempt} attempt @param {Side} side the solver's */
export function answered({ right, solved, san, moves, afterwards }, side) {
  if (!right) return `Wrong: ${spoken(san)} is not it. Look again.`;
  if (solved) return `Right: ${spoken(san)}. Solved.${sentence(afterwards)}`;
  const replies = moves.slice(1).map((reply) => `${sideName(other(side))} answers ${spoken(reply.san)}.`);
  return ['Right:', `${spoken(san)}.`, ...replies, 'Go on.'].join(' ');
}

/** @param {Solution} solution */
export function told({ moves, afterwards }) {
  return `The answer: ${moves.map(({ san }) => spoken(san)).join('; ')}.${sentence(afterwards)}`;
}
