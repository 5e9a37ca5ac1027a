/**
 * The list of a file's games, in a dialog: searched by words, moved through by keyboard. Only the rows in view are drawn,
 * so a file may have many thousand games.
 *
 * @import {Headline} from '../types.js'
 */
import { html, nothing, render } from '../vendor/lit-html.js';

/** Height of a row, as in the style sheet. */
const ROW_REM = 2.75;

/** Rows drawn above and below those in view. */
const MARGIN_ROWS = 5;

/** Rows of a page when the list's height is not known yet. */
const PAGE_ROWS = 10;

/** How long a game is: first in its line, so that it is not cut off. @param {number} plies */
export function movesText(plies) {
  const moves = Math.ceil(plies / 2);
  return moves === 1 ? '1 move' : `${moves} moves`;
}

/** The date as far as it is known: `1858` of `1858.??.??`. @param {string} date */
export function knownDate(date) {
  const known = date.split('.?')[0];
  return known.startsWith('?') ? '' : known;
}

/** @param {Headline} game */
export function playersOf({ white, black }) {
  return `${white || '?'} – ${black || '?'}`;
}

/**
 * The indices of the games that contain every word, ignoring case.
 *
 * @param {string[]} texts searched text of each game
 * @param {string} words
 */
export function matching(texts, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return texts.map((_, index) => index).filter((index) => wanted.every((word) => texts[index].includes(word)));
}

/** @param {Headline} game */
function textOf(game) {
  return [game.white, game.black, game.event, game.date, game.result, game.opening].join(' ').toLowerCase();
}

export class GameList {
  #root = document.createElement('div');
  /** @type {Headline[]} */
  #games = [];
  /** Searched text of each game. @type {string[]} */
  #texts = [];
  /** Indices of the games that were found. @type {number[]} */
  #found = [];
  /** Index of the active row in `#found`. */
  #active = 0;
  #isOpen = false;
  /** @type {(game: number) => void} */
  #choose = () => {};

  /**
   * @param {Headline[]} games
   * @param {number} chosen the game that is on the board
   * @param {(game: number) => void} choose
   */
  open(games, chosen, choose) {
    this.#games = games;
    this.#texts = games.map(textOf);
    this.#found = games.map((_, index) => index);
    this.#active = chosen;
    this.#choose = choose;
    this.#isOpen = true;
    document.body.append(this.#root);
    this.#draw();
    const dialog = this.#root.querySelector('dialog');
    if (dialog && !dialog.open) dialog.showModal();
    this.#show();
  }

  #close() {
    this.#isOpen = false;
    render(nothing, this.#root);
    this.#root.remove();
  }

  /** @param {number} game */
  #take(game) {
    const choose = this.#choose;
    this.#close();
    choose(game);
  }

  /** @param {string} words */
  #find(words) {
    const active = this.#found[this.#active];
    this.#found = matching(this.#texts, words);
    this.#active = Math.max(0, this.#found.indexOf(active));
    this.#show();
  }

  #rowHeight() {
    return ROW_REM * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  /** Draws with the active row in view. */
  #show() {
    const list = this.#root.querySelector('.rows');
    const row = this.#rowHeight();
    this.#draw();
    if (!list) return;
    const top = this.#active * row;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + row > list.scrollTop + list.clientHeight) list.scrollTop = top + row - list.clientHeight;
    this.#draw();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const list = this.#root.querySelector('.rows');
    const page = list?.clientHeight ? Math.max(1, Math.floor(list.clientHeight / this.#rowHeight()) - 1) : PAGE_ROWS;
    const last = this.#found.length - 1;
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: this.#active + 1, ArrowUp: this.#active - 1, PageDown: this.#active + page, PageUp: this.#active - page,
    };
    if (event.ctrlKey) Object.assign(places, { Home: 0, End: last });
    if (event.key === 'Enter' && last >= 0) {
      event.preventDefault();
      this.#take(this.#found[this.#active]);
    } else if (event.key in places) {
      event.preventDefault();
      this.#active = Math.max(0, Math.min(last, places[event.key]));
      this.#show();
    }
  }

  #draw() {
    if (!this.#isOpen) return;
    const list = this.#root.querySelector('.rows');
    const row = this.#rowHeight();
    const first = Math.max(0, Math.floor((list?.scrollTop ?? 0) / row) - MARGIN_ROWS);
    const count = Math.ceil((list?.clientHeight || PAGE_ROWS * row) / row) + 2 * MARGIN_ROWS;
    const places = this.#found.slice(first, first + count).map((game, index) => ({ game, place: first + index }));
    const of = (/** @type {number} */ n) => n.toLocaleString('en');
    render(html`
      <dialog id="games" aria-labelledby="games-title" @close=${() => this.#close()}
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        <h2 id="games-title">Games of the file</h2>
        <label>Find
          <input id="find-game" type="text" role="combobox" aria-expanded="true" aria-autocomplete="list"
            aria-controls="game-rows" aria-activedescendant=${this.#found.length > 0 ? `game-row-${this.#active}` : nothing}
            autocomplete="off" spellcheck="false" autofocus placeholder="player, event, date, result, opening"
            @input=${(/** @type {Event} */ event) => this.#find(/** @type {HTMLInputElement} */ (event.target).value)}>
        </label>
        <p class="small" role="status">${this.#found.length === this.#games.length ? `${of(this.#games.length)} games`
          : `${of(this.#found.length)} of ${of(this.#games.length)} games`}. ${this.#found.length > 0 ? '↑ ↓ and Enter open one.' : 'None has all of these words.'}</p>
        <div class="rows" id="game-rows" role="listbox" aria-label="Games" tabindex="0" @scroll=${() => this.#draw()}>
          <div role="presentation" style="height: ${this.#found.length * row}px">
            ${places.map(({ game, place }) => this.#row(this.#games[game], game, place, row))}
          </div>
        </div>
        <div class="buttons"><button type="button" @click=${() => this.#close()}>Cancel</button></div>
      </dialog>`, this.#root);
  }

  /** @param {Headline} headline @param {number} game @param {number} place @param {number} height */
  #row(headline, game, place, height) {
    const more = [knownDate(headline.date), headline.event, headline.opening].filter((text) => text && text !== '?').join(', ');
    return html`
      <div role="option" class="game-row" id="game-row-${place}" aria-selected=${place === this.#active ? 'true' : 'false'}
        aria-posinset=${place + 1} aria-setsize=${this.#found.length} style="top: ${place * height}px"
        title=${more} @click=${() => this.#take(game)}>
        <span class="number">${game + 1}</span>
        <span class="players">${playersOf(headline)}</span>
        <span class="result">${headline.result.replace('1/2-1/2', '½–½')}</span>
        <span class="more">${movesText(headline.plies)}${more ? ', ' : ''}${more}</span>
      </div>`;
  }
}
