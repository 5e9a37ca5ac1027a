/**
 * The room for puzzles.
 *
 * @import {PuzzleReading, PuzzleSource, Review, Side} from '../types.js'
 */
import { recall, remember } from '../memory.js';
import { Board } from '../play/board.js';
import { boardAsText } from '../play/controls.js';
import { press } from '../play/keyboard.js';
import { showKeys } from '../play/keys.js';
import { promotionDialog } from '../play/promotion.js';
import { onSettings, shownSan } from '../play/settings.js';
import { sideName } from '../play/words.js';
import { loadPuzzles, puzzleDesk } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { ratingFields, recallRatings } from './ratings.js';
import { result } from './result.js';
import { Solving } from './solving.js';

/** The number of the puzzle that was looked at last. @param {PuzzleSource} source */
function lastNumber({ name }) {
  return Number(recall('puzzles')[name] ?? 0);
}

export class PuzzleRoom {
  #root;
  #announcement;
  /** Opens a position for analysis. */
  #analyse;
  #solving = new Solving(puzzleDesk, () => this.#changed());
  /** @type {Board | null} */
  #board = null;
  #isTurned = false;
  /** Promotions to choose from, in UCI notation. @type {string[]} */
  #promotions = [];
  /** A file that this tab or another one loads. @type {PuzzleReading | null} */
  #reading = null;
  /** This tab loads a file, and goes to its first puzzle when that is done. */
  #isLoading = false;
  /** Whether a review was running. */
  #wasRunning = false;
  /** The news that was said last. */
  #said = 0;

  /** @param {HTMLElement} root @param {HTMLElement} announcement @param {(fen: string) => void} analyse */
  constructor(root, announcement, analyse) {
    this.#root = root;
    this.#announcement = announcement;
    this.#analyse = analyse;
    document.addEventListener('keydown', (event) => this.#key(event));
    onSettings(() => this.#draw());
    this.#solving.ratings = recallRatings();
  }

  /** @param {boolean} isHere */
  show(isHere) {
    if (isHere) this.#refresh();
  }

  /** @param {Review | null} review */
  receiveReview(review) {
    const isRunning = review?.running ?? false;
    if (!this.#root.hidden && this.#wasRunning && !isRunning) this.#refresh();
    this.#wasRunning = isRunning;
  }

  /** @param {PuzzleReading | null} reading */
  receiveReading(reading) {
    const hasEnded = this.#reading !== null && reading === null;
    this.#reading = reading;
    if (this.#root.hidden) return;
    if (hasEnded && !this.#isLoading && !this.#solving.exercise) this.#refresh();
    else this.#draw();
  }

  #refresh() {
    this.#draw();
    return this.#solving.refresh(lastNumber);
  }

  #changed() {
    const { source, number, news, newsNumber } = this.#solving;
    if (source) remember('puzzles', { ...recall('puzzles'), [source.name]: String(number) });
    if (newsNumber !== this.#said) {
      // The same words once more are read only if the text is another.
      this.#announcement.textContent = this.#announcement.textContent === news ? `${news}\u00a0` : news;
    }
    this.#said = newsNumber;
    this.#draw();
  }

  /** @param {Side} side */
  #task(side) {
    return this.#solving.isOver ? '' : `${sideName(side)} to move: find the best move.`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.#root.hidden) return;
    press(event, {
      n: () => this.#solving.go('on'),
      p: () => this.#solving.go('back'),
      a: () => this.#solving.give(),
      f: () => this.#flip(),
      '/': () => this.#root.querySelector('input')?.focus(),
      '?': showKeys,
    }, () => false);
  }

  #flip() {
    this.#isTurned = !this.#isTurned;
    this.#draw();
  }

  /** @param {string} from @param {string} to */
  #moved(from, to) {
    const moves = this.#solving.legal.map(({ uci }) => uci).filter((uci) => uci.startsWith(from + to));
    if (moves.length > 1) this.#promotions = moves;
    else if (moves.length === 1) this.#try(moves[0]);
    this.#draw();
  }

  /** @param {string} text */
  async #try(text) {
    this.#promotions = [];
    await this.#solving.move(text);
    this.#draw();
  }

  /** @param {SubmitEvent} event */
  async #typed(event) {
    event.preventDefault();
    const input = this.#root.querySelector('input');
    const text = input?.value.trim();
    if (!input || !text) return;
    input.value = '';
    await this.#solving.move(text);
    if (this.#solving.error) input.value = text;
  }

  /** @param {Event} event */
  async #picked(event) {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const file = input.files?.[0];
    input.value = '';
    if (!file) return;
    this.#isLoading = true;
    const error = await loadPuzzles(file);
    if (error) {
      await this.#refresh();
      this.#solving.error = error;
    } else {
      await this.#solving.begin();
    }
    this.#isLoading = false;
    this.#draw();
  }

  #draw() {
    const solving = this.#solving;
    const wasTyping = document.activeElement?.id === 'puzzle-move';
    render(solving.exercise ? this.#page() : this.#empty(), this.#root);
    // A field that is switched off would leave the keyboard nowhere.
    const next = this.#root.querySelector('.panel .on:enabled') ?? this.#root.querySelector('.panel .again');
    if (wasTyping && solving.isOver && next instanceof HTMLElement) next.focus();
    const square = this.#root.querySelector('.board');
    if (!(square instanceof HTMLElement)) {
      this.#board = null;
      return;
    }
    this.#board ??= new Board(square, (from, to) => this.#moved(from, to), () => {});
    const { shown, exercise, legal } = solving;
    if (!shown || !exercise) return;
    const mover = solving.isOver ? null : exercise.side;
    this.#board.show({ ...shown, mover, legal, premoves: false }, this.#orientation(exercise.side),
      { arrows: [], own: [], heat: new Map(), preview: null });
    const dialog = this.#root.querySelector('#promotion');
    if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
  }

  /** @param {Side} side @returns {Side} */
  #orientation(side) {
    return (side === 'black') !== this.#isTurned ? 'black' : 'white';
  }

  #loading() {
    const reading = this.#reading;
    if (!reading) {
      return html`<div class="buttons"><label class="file">Load puzzles<input type="file" accept=".csv,.tsv,.zst,text/csv,text/plain"
        @change=${(/** @type {Event} */ event) => this.#picked(event)}></label></div>`;
    }
    const { name, part, puzzles } = reading;
    const share = part === null ? '' : `, ${Math.floor(100 * part)} %`;
    return html`<div class="reading"><progress aria-label=${`Puzzles of ${name}`} max="1" value=${part ?? nothing}></progress>
      <p class="small">Reading ${name}: ${puzzles.toLocaleString('en')} puzzles${share}</p></div>`;
  }

  #empty() {
    return html`
      <h2>Puzzles</h2>
      <p>Load Lichess's puzzles (<code>lichess_db_puzzle.csv.zst</code>, packed or unpacked) or a table with the columns
        <code>fen</code> and <code>moves</code>. Or review a game: its mistakes become puzzles.</p>
      <p class="error" role="alert">${this.#solving.error ?? nothing}</p>
      ${this.#loading()}`;
  }

  #page() {
    const solving = this.#solving;
    const { exercise, source } = solving;
    if (!exercise || !source) return nothing;
    /** @param {string} label @param {() => void} action @param {boolean} disabled @param {string} key @param {string} name */
    const button = (label, action, disabled, key, name = '') => html`<button type="button" class=${name} ?disabled=${disabled}
      aria-keyshortcuts=${key || nothing} @click=${action}>${label}</button>`;
    return html`
      <div class="table">
        <div class="sides">
          <div class="player"><span class="name">${exercise.title}</span></div>
          <div class="boards"><div class="square"><div class="board"></div></div></div>
        </div>
        <div class="panel">
          <p class="status">${solving.isOver ? (solving.line !== '' ? 'The answer is on the board.' : solving.isHelped ? 'Solved, after a wrong move.' : 'Solved.') : this.#task(exercise.side)}</p>
          <form class="typed" @submit=${(/** @type {SubmitEvent} */ event) => this.#typed(event)}>
            <label for="puzzle-move">Move</label>
            <input id="puzzle-move" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="12"
              placeholder="e4, Nf3, O-O" ?disabled=${solving.isOver}>
            <button type="submit" ?disabled=${solving.isOver}>Try</button>
          </form>
          <p class="word ${solving.isWrong ? 'wrong' : ''}">${solving.isOver ? nothing : solving.word}</p>
          ${solving.found.length > 0 && !solving.isOver ? html`<p class="small">Found: ${solving.found.map(shownSan).join(', ')}</p>` : nothing}
          <p class="error" role="alert">${solving.error ?? nothing}</p>
          <div class="buttons">
            ${button('Show the answer', () => solving.give(), solving.isOver, 'a')}
            ${button('Next', () => solving.go('on'), solving.number + 1 >= source.count, 'n', 'on')}
            ${button('Previous', () => solving.go('back'), solving.number === 0, 'p')}
            ${button('Again', () => solving.choose(source, solving.number), solving.word === '' && !solving.isOver, '', 'again')}
            ${button('Flip', () => this.#flip(), false, 'f')}
            ${button('Open on a board', () => this.#analyse(exercise.fen), false, '')}
          </div>
          ${result(solving)}
          <p class="small">Puzzle ${(solving.number + 1).toLocaleString('en')} of ${source.count.toLocaleString('en')};
            here ${solving.tally.alone} solved at once, ${solving.tally.helped} with help or after a wrong move.</p>
          <label class="inline">From <select @change=${(/** @type {Event} */ event) => this.#choose(event)}>
            ${solving.sources.map((one, index) => html`<option value=${index} ?disabled=${one.count === 0}
              ?selected=${one.source === source.source}>${one.name} (${one.count.toLocaleString('en')})</option>`)}</select></label>
          ${source.rated ? ratingFields(solving) : nothing}
          ${source.notice ? html`<p class="small">${source.notice}</p>` : nothing}
          ${this.#loading()}
          ${solving.shown ? boardAsText(solving.shown.fen) : nothing}
        </div>
      </div>
      ${this.#promotions.length > 0 ? promotionDialog(exercise.side, (piece) => {
        const uci = this.#promotions.find((move) => move.endsWith(piece));
        if (uci) this.#try(uci);
      }, () => {
        this.#promotions = [];
        this.#draw();
      }) : nothing}`;
  }

  /** @param {Event} event */
  #choose(event) {
    const source = this.#solving.sources[Number(/** @type {HTMLSelectElement} */ (event.target).value)];
    if (source) this.#solving.choose(source, lastNumber(source));
  }
}
