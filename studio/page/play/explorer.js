/**
 * The explorer: what was played in the position on the board, in imported games and the library's, and what the book has.
 *
 * @import {Explored, ExploredMove} from '../types.js'
 */
import { recall, remember } from '../memory.js';
import { html, nothing } from '../vendor/lit-html.js';
import { shownSan } from './settings.js';

/** Moves that are listed. */
const SHOWN = 12;

/** Means of both players' ratings from which on games are counted. */
const RATINGS = ['1600', '2000', '2200', '2500'];

/** Shares of White's wins, draws and Black's wins in per cent, which sum to 100; `null` if no result is known. @param {ExploredMove} move */
export function shares({ white, draws, black }) {
  const known = white + draws + black;
  if (known === 0) return null;
  const [whites, drawn] = [white, draws].map((count) => Math.round((100 * count) / known));
  return [whites, Math.min(drawn, 100 - whites), Math.max(0, 100 - whites - drawn)];
}

/** What is looked into, in words. @param {Explored} explored @param {string} rating */
export function sourceWords({ games, has_book, moves }, rating) {
  const kind = rating ? `with a mean rating of ${rating} or more ` : '';
  const source = `${games.toLocaleString('en')} ${games === 1 ? 'game' : 'games'} ${kind}of the library and of loaded PGNs`;
  if (moves.length === 0 && games > 0) return `This position is in none of the ${source}${has_book ? ', nor in the book' : ''}`;
  return has_book ? `${source}, and the book` : source;
}

export class ExplorerPanel {
  isOpen = recall('explorer').open === 'on';
  #rating = RATINGS.find((rating) => rating === recall('explorer').rating) ?? '';
  #ask;
  #changed;
  /** What was asked for last: the position, the rating, and a number that grows with the games. */
  #state = '';
  /** The position that was asked for last. */
  #fen = '';
  /** Questions without an answer yet. */
  #asked = 0;
  /** @type {Explored | null} */
  #explored = null;
  /** The position and the rating of `#explored`. */
  #of = '';

  /**
   * @param {(fen: string, rating: string) => Promise<Explored | null>} ask
   * @param {() => void} changed
   */
  constructor(ask, changed) {
    this.#ask = ask;
    this.#changed = changed;
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.#keep();
  }

  #keep() {
    remember('explorer', { open: this.isOpen ? 'on' : '', rating: this.#rating });
    this.#changed();
  }

  /** @param {string} fen @param {string} games other games may be known after it has changed */
  async #follow(fen, games) {
    const state = `${fen} ${this.#rating} ${games}`;
    if (state === this.#state) return;
    [this.#state, this.#fen] = [state, fen];
    await this.#explore();
  }

  /** Asks once more about the position, as files may have come into the library's folder, unless an answer is awaited. */
  async refresh() {
    if (this.isOpen && this.#fen !== '' && this.#asked === 0) await this.#explore();
  }

  async #explore() {
    const [state, fen, rating] = [this.#state, this.#fen, this.#rating];
    this.#asked += 1;
    const explored = await this.#ask(fen, rating);
    this.#asked -= 1;
    const of = `${fen} ${rating}`;
    const isKnown = this.#of === of && JSON.stringify(explored) === JSON.stringify(this.#explored);
    if (this.#state !== state || isKnown) return;
    [this.#explored, this.#of] = [explored, of];
    this.#changed();
  }

  /** @param {Event} event */
  #rate(event) {
    this.#rating = /** @type {HTMLSelectElement} */ (event.target).value;
    this.#keep();
  }

  #choice() {
    return html`<label class="inline">Games <select name="explored" title="By the mean of both players' ratings; games without them count only in all" @change=${(/** @type {Event} */ event) => this.#rate(event)}>
      <option value="" ?selected=${this.#rating === ''}>all</option>
      ${RATINGS.map((rating) => html`<option value=${rating} ?selected=${rating === this.#rating}>mean rating ${rating} or more</option>`)}
    </select></label>`;
  }

  /**
   * @param {string} fen of the position on the board
   * @param {string} games
   * @param {{play: (uci: string) => void, point: (uci: string | null) => void}} on
   */
  view(fen, games, { play, point }) {
    if (!this.isOpen) return nothing;
    this.#follow(fen, games);
    const explored = this.#explored;
    const isHere = this.#of === `${fen} ${this.#rating}`;
    return html`
      <section class="explorer" aria-label="Explorer">
        ${this.#choice()}
        ${isHere && explored ? this.#found(explored, { play, point })
          : html`<p class=${`small ${isHere ? 'error' : ''}`}>${isHere ? 'The explorer does not answer.' : 'Looking …'}</p>`}
      </section>`;
  }

  /** @param {Explored} explored @param {{play: (uci: string) => void, point: (uci: string | null) => void}} on */
  #found(explored, { play, point }) {
    return html`
      <div class="found" tabindex="0" role="region" aria-label="Moves that were played"><table class="results">
        <thead><tr><th scope="col">Move</th><th scope="col">Games</th><th scope="col">White, draw, Black</th>${explored.has_book
          ? html`<th scope="col">Book</th>` : nothing}</tr></thead>
        <tbody>${explored.moves.slice(0, SHOWN).map((move) => html`
          <tr><td><button type="button" class="link" @click=${() => play(move.uci)} @mouseenter=${() => point(move.uci)}
            @mouseleave=${() => point(null)} @focus=${() => point(move.uci)} @blur=${() => point(null)}>${shownSan(move.san)}</button></td>
            <td>${move.games.toLocaleString('en')}</td><td>${results(move)}</td>${explored.has_book
              ? html`<td>${move.book === null ? nothing : `${Math.round(100 * move.book)} %`}</td>` : nothing}</tr>`)}</tbody>
      </table></div>
      ${explored.left_out > 0 ? html`<p class="small error">Files that are too large (64 MB) or cannot be read: ${explored.left_out}.</p>` : nothing}
      <p class="small">${sourceWords(explored, this.#rating)}.${explored.games === 0 && this.#rating === ''
        ? ' Load a PGN, or drop one on the page: its games are counted here.' : nothing}</p>`;
  }
}

/** @param {ExploredMove} move */
function results(move) {
  const known = shares(move);
  if (!known) return '–';
  const [white, draws, black] = known;
  return html`<svg class="shares" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="white" width=${white} height="10"></rect><rect class="drawn" x=${white} width=${draws} height="10"></rect>
      <rect class="black" x=${white + draws} width=${black} height="10"></rect></svg>
    <span class="unseen">White ${white} %, draw ${draws} %, Black ${black} %</span>
    <span aria-hidden="true">${white} ${draws} ${black}</span>`;
}
