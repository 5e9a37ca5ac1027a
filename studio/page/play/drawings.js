/**
 * Arrows and squares that a person draws, as they stand in a file: `Ge2e4` and `Rd5`.
 *
 * @import {DrawShape} from '@lichess-org/chessground/draw'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {TreeNode} from '../types.js'
 */

/** Brushes of the board by the letters of `[%cal]` and `[%csl]`. @type {Record<string, string>} */
const BRUSHES = { G: 'green', R: 'red', Y: 'yellow', B: 'blue' };

/** @param {string[]} words @returns {DrawShape[]} */
export function shapesOf(words) {
  return words.map((word) => ({
    orig: /** @type {Key} */ (word.slice(1, 3)),
    ...(word.length > 3 ? { dest: /** @type {Key} */ (word.slice(3, 5)) } : {}),
    brush: BRUSHES[word[0]] ?? 'green',
  }));
}

/** @param {DrawShape[]} shapes @returns {string[]} */
export function wordsOf(shapes) {
  return shapes.flatMap(({ orig, dest, brush }) => {
    const letter = Object.keys(BRUSHES).find((key) => BRUSHES[key] === brush);
    return letter ? [`${letter}${orig}${dest ?? ''}`] : [];
  });
}

/** The brushes by their letters, the first one first. */
export const COLOURS = Object.entries(BRUSHES);

/** Draws a word, in place of another colour there, or erases it. @param {string[]} words @param {string} word */
export function toggled(words, word) {
  const others = words.filter((other) => other.slice(1) !== word.slice(1));
  return words.includes(word) ? others : [...others, word];
}

/** What is drawn at each node, with what the server has not sent back yet. */
export class Drawings {
  /** @type {{node: number, words: string[]} | null} */
  #sent = null;
  #save;

  /** @param {(node: number, words: string[]) => Promise<boolean>} save whether it succeeded */
  constructor(save) {
    this.#save = save;
  }

  /** @param {TreeNode} node @returns {string[]} */
  at(node) {
    const known = node.shapes ?? [];
    if (this.#sent?.node !== node.id) this.#sent = null;
    else if ([...known].sort().join() === [...this.#sent.words].sort().join()) this.#sent = null;
    return this.#sent?.words ?? known;
  }

  /** @param {number} node @param {string[]} words */
  async draw(node, words) {
    const sent = { node, words };
    this.#sent = sent;
    const isSaved = await this.#save(node, words);
    if (!isSaved && this.#sent === sent) this.#sent = null;
  }
}
