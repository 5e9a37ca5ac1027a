/**
 * The puzzle that a tab solves, and how far it is. The server keeps nothing of it.
 *
 * @import {Attempt, Exercise, LegalMove, Opinion, PlayedMove, PuzzleId, PuzzleSource, Solution} from '../types.js'
 */
import { answered, opened, told } from './announcer.js';

/**
 * @template T
 * @typedef {Promise<{value: T} | {error: string}>} Answer
 */

/**
 * @typedef {object} Desk the server's answers
 * @property {() => Promise<PuzzleSource[]>} sources
 * @property {(id: PuzzleId) => Answer<Exercise>} show
 * @property {(id: PuzzleId, to: 'here' | 'on' | 'back', low: number, high: number) => Answer<{number: number}>} next
 * @property {(id: PuzzleId, text: string) => Answer<Attempt>} attempt
 * @property {(id: PuzzleId) => Answer<Solution>} solution
 * @property {(id: PuzzleId) => Answer<Opinion>} opinion
 */

/** @typedef {{fen: string, last: string | null, check: boolean}} Shown a position on the board */

export class Solving {
  /** @type {PuzzleSource[]} */
  sources = [];
  /** @type {PuzzleSource | null} */
  source = null;
  /** From 0. */
  number = 0;
  /** @type {Exercise | null} */
  exercise = null;
  /** @type {Shown | null} */
  shown = null;
  /** @type {LegalMove[]} */
  legal = [];
  /** What is said to the last move. */
  word = '';
  isWrong = false;
  /** Nothing is left to find. */
  isOver = false;
  /** A wrong move was made, or the answer was asked for. */
  isHelped = false;
  /** The whole solution, once it was asked for. */
  line = '';
  afterwards = '';
  /** @type {Opinion | null} */
  opinion = null;
  /** What a screen reader says, and how often there was something to say. */
  news = '';
  newsNumber = 0;
  /** The moves of the solution that were found, and the answers to them. @type {string[]} */
  found = [];
  /** @type {string | null} */
  error = null;
  /** Ratings of the puzzles to go to, in a file that has them. @type {[number, number] | null} */
  ratings = null;
  /** In this tab. */
  tally = { alone: 0, helped: 0 };
  #step = 0;
  /** Answers to an earlier puzzle are not shown. */
  #turn = 0;
  /** Whether an answer to a move, or the solution, is awaited. */
  #isAsking = false;
  #desk;
  #changed;

  /** @param {Desk} desk @param {() => void} changed */
  constructor(desk, changed) {
    this.#desk = desk;
    this.#changed = changed;
  }

  /** @returns {PuzzleId} */
  get #id() {
    const { source, edition } = /** @type {PuzzleSource} */ (this.source);
    return { source, edition, number: this.number, step: this.#step };
  }

  /** Reads which puzzles there are. A puzzle that is still there stays. @param {(source: PuzzleSource) => number} first the number to begin with */
  async refresh(first) {
    this.sources = await this.#desk.sources();
    const same = this.sources.find(({ source, edition }) => source === this.source?.source && edition === this.source.edition);
    if (same && this.exercise) return this.#changed();
    const full = this.sources.filter(({ count }) => count > 0);
    const next = full.find(({ source }) => source === this.source?.source) ?? full[0] ?? null;
    if (next) return this.choose(next, first(next));
    [this.source, this.exercise, this.shown] = [null, null, null];
    this.#changed();
  }

  /** Goes to the first puzzle of the file that was loaded. */
  async begin() {
    this.sources = await this.#desk.sources();
    const file = this.sources.find(({ source }) => source === 'file');
    return file ? this.choose(file, 0) : this.#changed();
  }

  /** @param {PuzzleSource} source @param {number} number */
  async choose(source, number) {
    this.source = source;
    this.number = Math.max(0, Math.min(number, source.count - 1));
    this.#turn += 1;
    this.#step = 0;
    [this.word, this.isWrong, this.isOver, this.isHelped] = ['', false, false, false];
    [this.line, this.afterwards, this.opinion, this.error, this.found] = ['', '', null, null, []];
    const exercise = await this.#ask(this.#desk.show(this.#id));
    if (!exercise) return;
    this.exercise = exercise;
    this.shown = { fen: exercise.fen, last: exercise.last, check: exercise.check };
    this.legal = exercise.legal;
    this.#say(opened(exercise));
    this.#changed();
  }

  /** @param {string} words */
  #say(words) {
    this.news = words;
    this.newsNumber += 1;
  }

  /** @param {'on' | 'back'} to */
  go(to) {
    const { source, number } = this;
    const next = number + (to === 'on' ? 1 : -1);
    if (!source || next < 0 || next >= source.count) return;
    return this.ratings && source.rated ? this.#seek(source, to) : this.choose(source, next);
  }

  /** Goes on to a puzzle with such a rating, unless this one has it. @param {[number, number] | null} ratings */
  want(ratings) {
    this.ratings = ratings;
    if (ratings && this.source?.rated) return this.#seek(this.source, 'here');
  }

  /** @param {PuzzleSource} source @param {'here' | 'on' | 'back'} to */
  async #seek(source, to) {
    const [low, high] = this.ratings ?? [0, 0];
    const found = await this.#ask(this.#desk.next({ ...this.#id, step: 0 }, to, low, high));
    if (found && (to !== 'here' || found.number !== this.number)) await this.choose(source, found.number);
    else this.#changed();
  }

  /** @param {string} text @returns {Promise<boolean>} whether it was right */
  async move(text) {
    if (!this.exercise || this.isOver || this.#isAsking) return false;
    this.#isAsking = true;
    // An error that is shown again is read again.
    this.error = null;
    this.#changed();
    const attempt = await this.#ask(this.#desk.attempt(this.#id, text));
    this.#isAsking = false;
    if (!attempt) return false;
    this.#step = attempt.step;
    [this.word, this.isWrong, this.legal] = [attempt.word, !attempt.right, attempt.legal];
    if (attempt.right) this.#put(attempt.moves);
    else this.isHelped = true;
    this.#say(answered(attempt, this.exercise.side));
    if (attempt.solved) await this.#end(attempt.afterwards);
    else this.#changed();
    return attempt.right;
  }

  /** Shows the answer. */
  async give() {
    if (!this.exercise || this.isOver || this.#isAsking) return;
    this.#isAsking = true;
    const solution = await this.#ask(this.#desk.solution(this.#id));
    this.#isAsking = false;
    if (!solution) return;
    this.isHelped = true;
    [this.word, this.isWrong, this.line] = ['', false, solution.line];
    this.#put(solution.moves);
    this.#say(told(solution));
    await this.#end(solution.afterwards);
  }

  /** @param {PlayedMove[]} moves */
  #put(moves) {
    this.found.push(...moves.map(({ san }) => san));
    const last = moves.at(-1);
    if (last) this.shown = { fen: last.fen, last: last.uci, check: last.check };
  }

  /** @param {string} afterwards */
  async #end(afterwards) {
    [this.isOver, this.afterwards, this.legal] = [true, afterwards, []];
    this.tally[this.isHelped ? 'helped' : 'alone'] += 1;
    this.#changed();
    this.#step = 0;
    const opinion = await this.#ask(this.#desk.opinion(this.#id));
    if (opinion) this.opinion = opinion;
    this.#changed();
  }

  /**
   * The answer, unless another puzzle was chosen meanwhile.
   *
   * @template T
   * @param {Answer<T>} answer
   * @returns {Promise<T | null>}
   */
  async #ask(answer) {
    const turn = this.#turn;
    const got = await answer;
    if (turn !== this.#turn) return null;
    this.error = 'error' in got ? got.error : null;
    if ('value' in got) return got.value;
    await this.#leave(turn);
    this.#changed();
    return null;
  }

  /** Goes on with the puzzles that there are, if this one's are gone. @param {number} turn */
  async #leave(turn) {
    const now = await this.#desk.sources();
    const isHere = now.some(({ source, edition }) => source === this.source?.source && edition === this.source.edition);
    if (turn !== this.#turn || isHere || now.length === 0) return;
    const { error } = this;
    await this.refresh(() => 0);
    this.error = error;
  }
}
