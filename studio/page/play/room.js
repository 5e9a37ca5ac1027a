/**
 * The room in which one plays.
 *
 * @import {GameView, LegalMove, Side, Thoughts} from '../types.js'
 * @import {NewGameForm} from './new_game.js'
 */
import { act } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { Board } from './board.js';
import { clockShows } from './clock.js';
import { evaluationBar, evaluationLines } from './evaluation.js';
import { moveList } from './moves.js';
import { newGameAction, newGameDialog } from './new_game.js';
import { promotionDialog } from './promotion.js';
import { boardRows, sideName, spoken } from './words.js';

/** How often running clocks are drawn, in milliseconds. */
const CLOCK_MS = 100;

/** @returns {NewGameForm} */
function emptyForm() {
  return { side: 'white', engine: '', start: 'standard', fen: '', timed: false, error: null };
}

export class PlayRoom {
  #root;
  #announcement;
  /** @type {GameView | null} */
  #game = null;
  /** When the game was received, by `performance.now()`. */
  #received = 0;
  /** @type {Thoughts | null} */
  #thoughts = null;
  /** Plies of the position on the board; null follows the game. @type {number | null} */
  #shown = null;
  #flipped = false;
  /** @type {string | null} */
  #error = null;
  /** A promotion that waits for its piece. @type {LegalMove[]} */
  #promotions = [];
  /** @type {NewGameForm | null} */
  #form = null;
  /** Whether the person has to confirm resigning. */
  #resigning = false;
  /** @type {string | null} */
  #arrow = null;
  /** @type {Board | null} */
  #board = null;
  /** The position for which the list of moves was last scrolled. */
  #scrolled = '';

  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} announcement
   */
  constructor(root, announcement) {
    this.#root = root;
    this.#announcement = announcement;
    document.addEventListener('keydown', (event) => this.#key(event));
    setInterval(() => this.#tick(), CLOCK_MS);
    this.#draw();
  }

  /** @param {GameView} game */
  receiveGame(game) {
    const before = this.#game;
    this.#game = game;
    this.#received = performance.now();
    if (before && before.revision !== game.revision) {
      this.#shown = null;
      this.#arrow = null;
      this.#resigning = false;
      this.#promotions = [];
    }
    this.#announce(before, game);
    this.#draw();
  }

  /** @param {Thoughts | null} thoughts */
  receiveThoughts(thoughts) {
    this.#thoughts = thoughts;
    this.#draw();
  }

  /** @param {GameView | null} before @param {GameView} game */
  #announce(before, game) {
    const words = [];
    if (before && game.moves.length > before.moves.length) {
      game.moves.slice(before.moves.length).forEach((move, index) => {
        const ply = game.first_ply + before.moves.length + index;
        words.push(`${ply % 2 === 0 ? 'White' : 'Black'}: ${spoken(move.san)}.`);
      });
    } else if (before && game.moves.length < before.moves.length) {
      words.push(game.moves.length === 0 ? 'New game.' : `Back to move ${Math.floor(game.moves.length / 2) + 1}.`);
    }
    if (game.end && !before?.end) words.push(game.end.text);
    else if (words.length > 0 && game.legal.length > 0) words.push('Your move.');
    if (game.notice && game.notice !== before?.notice) words.push(game.notice);
    if (words.length > 0) this.#announcement.textContent = words.join(' ');
  }

  /** @param {object} action */
  async #act(action) {
    this.#error = await act(action);
    this.#draw();
    return this.#error === null;
  }

  /** @returns {Side} */
  #orientation() {
    const personIsBlack = this.#game?.black.kind === 'person' && this.#game.white.kind !== 'person';
    return personIsBlack !== this.#flipped ? 'black' : 'white';
  }

  #ply() {
    return this.#shown ?? this.#game?.moves.length ?? 0;
  }

  /** @param {number} ply */
  #go(ply) {
    const last = this.#game?.moves.length ?? 0;
    const wanted = Math.max(0, Math.min(last, ply));
    this.#shown = wanted === last ? null : wanted;
    this.#arrow = null;
    this.#draw();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    if (this.#root.hidden || event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) {
      return;
    }
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => this.#go(this.#ply() - 1),
      ArrowRight: () => this.#go(this.#ply() + 1),
      Home: () => this.#go(0),
      End: () => this.#go(Infinity),
      f: () => this.#flip(),
      '/': () => this.#root.querySelector('input')?.focus(),
    };
    // In an empty field for moves, the arrows are free.
    const isEmptyField = target instanceof HTMLInputElement && target.id === 'typed' && target.value === '';
    if (!(event.key in keys) || (typing && !(isEmptyField && event.key.length > 1))) return;
    event.preventDefault();
    keys[event.key]();
  }

  #flip() {
    this.#flipped = !this.#flipped;
    this.#draw();
  }

  /**
   * A piece was moved on the board.
   *
   * @param {string} from
   * @param {string} to
   * @param {boolean} premove
   */
  #moved(from, to, premove) {
    const moves = this.#game?.legal.filter((move) => move.uci.startsWith(from + to)) ?? [];
    const queen = moves.find((move) => move.uci.endsWith('q'));
    if (moves.length > 1 && !(premove && queen)) {
      this.#promotions = moves;
      this.#draw();
      return;
    }
    const move = moves.length > 1 ? queen : moves[0];
    if (move) this.#send(move.uci);
    else this.#draw();
  }

  /** @param {string} uci */
  #send(uci) {
    this.#promotions = [];
    return this.#act({ do: 'move', text: uci, ply: this.#game?.moves.length });
  }

  /** @param {SubmitEvent} event */
  async #typed(event) {
    event.preventDefault();
    const input = this.#root.querySelector('input');
    if (!input || input.value.trim() === '') return;
    this.#shown = null;
    if (await this.#send(input.value.trim())) input.value = '';
  }

  /** @param {Event} event */
  async #load(event) {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const file = input.files?.[0];
    if (!file) return;
    await this.#act({ do: 'load', pgn: await file.text() });
    input.value = '';
  }

  #save() {
    const now = new Date();
    const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
    const date = `${now.getFullYear()}.${two(now.getMonth() + 1)}.${two(now.getDate())}`;
    location.assign(`/api/play/pgn?date=${date}`);
  }

  /** @param {string | null} fen the position to begin with */
  #openForm(fen) {
    const engine = this.#game?.engines.find((other) => !other.error)?.name ?? '';
    this.#form = { ...emptyForm(), engine, ...(fen ? { start: 'fen', fen } : {}) };
    if (!engine) this.#form.side = 'both';
    this.#draw();
  }

  #readForm() {
    const element = this.#root.querySelector('#new-game form');
    if (!this.#form || !(element instanceof HTMLFormElement)) return;
    const form = new FormData(element);
    const value = (/** @type {string} */ name, /** @type {string} */ otherwise) => String(form.get(name) ?? otherwise);
    this.#form = {
      side: value('side', 'white'),
      engine: value('engine', this.#form.engine),
      start: value('start', 'standard'),
      fen: value('fen', this.#form.fen),
      timed: form.has('timed'),
      error: null,
    };
    this.#draw();
  }

  /** @param {FormData} form */
  async #begin(form) {
    const error = await act(newGameAction(form));
    if (error === null) {
      this.#form = null;
      this.#flipped = false;
      this.#shown = null;
      this.#error = null;
    } else if (this.#form) {
      this.#form = { ...this.#form, error };
    }
    this.#draw();
  }

  #tick() {
    const game = this.#game;
    if (!game?.clock?.running || this.#root.hidden) return;
    for (const side of /** @type {const} */ (['white', 'black'])) {
      const element = this.#root.querySelector(`.clock.${side}`);
      if (element) element.textContent = clockShows(game, side, performance.now() - this.#received);
    }
  }

  #draw() {
    render(this.#view(), this.#root);
    const square = this.#root.querySelector('.board');
    if (!this.#board && square instanceof HTMLElement) {
      this.#board = new Board(square, (from, to, premove) => this.#moved(from, to, premove));
    }
    if (this.#game) this.#board?.show(this.#game, this.#ply(), this.#orientation(), this.#arrow);
    this.#scrollMoves();
    for (const [id, open] of /** @type {const} */ ([['new-game', this.#form], ['promotion', this.#promotions.length]])) {
      const dialog = this.#root.querySelector(`#${id}`);
      if (!(dialog instanceof HTMLDialogElement)) continue;
      if (open && !dialog.open) dialog.showModal();
    }
  }

  /** Brings the shown move into view, within the list only. */
  #scrollMoves() {
    const list = this.#root.querySelector('.moves');
    const move = list?.querySelector('[aria-current]');
    const state = `${this.#game?.revision} ${this.#ply()}`;
    if (!list || state === this.#scrolled) return;
    this.#scrolled = state;
    const from = list.getBoundingClientRect();
    const at = move?.getBoundingClientRect() ?? { top: from.top, bottom: from.top };
    if (at.top < from.top) list.scrollTop -= from.top - at.top;
    else if (at.bottom > from.bottom) list.scrollTop += at.bottom - from.bottom;
  }

  #view() {
    const game = this.#game;
    const bottom = this.#orientation();
    const top = bottom === 'white' ? 'black' : 'white';
    return html`
      <div class="table" data-revision=${game?.revision ?? nothing}>
        <div class="sides">
          ${this.#player(top)}
          <div class="boards">
            ${game?.analysis ? evaluationBar(this.#thoughts, bottom === 'black') : nothing}
            <div class="square"><div class="board"></div></div>
          </div>
          ${this.#player(bottom)}
        </div>
        <div class="panel">
          <p class="status" id="status">${this.#status()}</p>
          ${game?.notice ? html`<p class="notice">${game.notice}
            ${game.stalled ? html`<button type="button" @click=${() => this.#act({ do: 'retry' })}>Start it again</button>`
              : nothing}</p>` : nothing}
          <form class="typed" @submit=${(/** @type {SubmitEvent} */ event) => this.#typed(event)}>
            <label for="typed">Move</label>
            <input id="typed" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="12"
              placeholder="e4, Nf3, O-O" aria-describedby="problem">
            <button type="submit">Play</button>
          </form>
          <p class="error" id="problem" role="alert">${this.#error ?? nothing}</p>
          ${game ? this.#buttons(game) : nothing}
          ${game?.analysis ? evaluationLines(game, this.#thoughts, (uci) => {
            this.#arrow = uci;
            this.#draw();
          }) : nothing}
          ${game ? html`<p class="small opening">${game.opening ?? nothing}</p>` : nothing}
          ${game ? moveList(game, this.#ply(), (ply) => this.#go(ply)) : nothing}
          ${game ? this.#browse(game) : nothing}
          ${game ? this.#asText(game) : nothing}
        </div>
      </div>
      ${this.#promotions.length > 0 && game ? promotionDialog(game.turn, (piece) => {
        const move = this.#promotions.find((promotion) => promotion.uci.endsWith(piece));
        if (move) this.#send(move.uci);
      }, () => {
        this.#promotions = [];
        this.#draw();
      }) : nothing}
      ${this.#form ? newGameDialog(this.#form, game?.engines ?? [], () => this.#readForm(),
        (form) => this.#begin(form), () => {
          this.#form = null;
          this.#draw();
        }) : nothing}`;
  }

  /** @param {Side} side */
  #player(side) {
    const game = this.#game;
    const toMove = game && !game.end && game.turn === side;
    return html`
      <div class="player ${toMove ? 'to-move' : ''}">
        <span class="name"><span class="disc ${side}" aria-hidden="true"></span>
          <span class="unseen">${sideName(side)}: </span>${game?.[side].label ?? nothing}
          ${toMove && game.thinking ? html`<span class="small">is thinking …</span>` : nothing}</span>
        ${game?.clock ? html`<span class="clock ${side}" role="timer" aria-label="${sideName(side)}'s clock"
          .textContent=${clockShows(game, side, performance.now() - this.#received)}></span>` : nothing}
      </div>`;
  }

  #status() {
    const game = this.#game;
    if (!game) return 'Connecting …';
    if (this.#shown !== null) return `Looking at move ${Math.ceil(this.#shown / 2)} of ${Math.ceil(game.moves.length / 2)}.`;
    if (game.end) return `${game.end.text} ${game.end.result}`;
    const check = game.moves.at(-1)?.check ?? game.start_check;
    if (game.legal.length > 0) return `${sideName(game.turn)} to move${check ? ', in check' : ''}: your move.`;
    return `${sideName(game.turn)} to move.`;
  }

  /** @param {GameView} game */
  #buttons(game) {
    const two = game.white.kind === 'person' && game.black.kind === 'person';
    const none = game.white.kind !== 'person' && game.black.kind !== 'person';
    /** @param {string} label @param {() => void} action @param {boolean} [disabled] */
    const button = (label, action, disabled = false) =>
      html`<button type="button" ?disabled=${disabled} @click=${action}>${label}</button>`;
    const over = game.end !== null || none;
    return html`
      <div class="buttons" role="group" aria-label="Game">
        ${button('New game', () => this.#openForm(null))}
        ${button('Take back', () => this.#act({ do: 'take_back' }), game.take_back === 0)}
        ${this.#resigning
          ? button('Yes, resign', () => this.#act({ do: 'resign' }), over)
          : button('Resign', () => {
            this.#resigning = true;
            this.#draw();
          }, over)}
        ${button(two ? 'Agree a draw' : 'Offer a draw', () => this.#act({ do: 'draw' }), over)}
        ${button('Flip', () => this.#flip())}
        <button type="button" aria-pressed=${game.analysis ? 'true' : 'false'} ?disabled=${game.engines.length === 0}
          @click=${() => this.#act({ do: 'analysis', on: !game.analysis })}>Evaluation</button>
      </div>`;
  }

  /** @param {GameView} game */
  #browse(game) {
    const ply = this.#ply();
    const last = game.moves.length;
    /** @param {string} sign @param {string} label @param {number} to @param {boolean} disabled */
    const button = (sign, label, to, disabled) =>
      html`<button type="button" aria-label=${label} ?disabled=${disabled} @click=${() => this.#go(to)}>${sign}</button>`;
    return html`
      <div class="buttons browse" role="group" aria-label="Positions of the game">
        ${button('«', 'Start position', 0, ply === 0)}${button('‹', 'One move back', ply - 1, ply === 0)}
        ${button('›', 'One move on', ply + 1, ply === last)}${button('»', 'Last position', last, ply === last)}
      </div>
      <div class="buttons" role="group" aria-label="Files">
        <button type="button" @click=${() => this.#save()}>Save PGN</button>
        <label class="file">Load PGN<input type="file" accept=".pgn,application/x-chess-pgn,text/plain"
          @change=${(/** @type {Event} */ event) => this.#load(event)}></label>
        <button type="button" @click=${() => this.#openForm(this.#fen(game))}>New game from here</button>
      </div>
      <p class="small">Keys: ← → Home End look at earlier positions, f flips the board, / goes to the move field.</p>`;
  }

  /** @param {GameView} game */
  #fen(game) {
    return game.moves[this.#ply() - 1]?.fen ?? game.start_fen;
  }

  /** @param {GameView} game */
  #asText(game) {
    const fen = this.#fen(game);
    const rows = boardRows(fen);
    return html`
      <details>
        <summary>The board as text</summary>
        <table class="text-board">
          <caption class="unseen">The pieces on the board</caption>
          <thead><tr><td></td>${[...'abcdefgh'].map((file) => html`<th scope="col">${file}</th>`)}</tr></thead>
          <tbody>${rows.map((row, index) => html`
            <tr><th scope="row">${8 - index}</th>${row.map((piece) => html`<td>${piece || '–'}</td>`)}</tr>`)}</tbody>
        </table>
        <p class="small">FEN: <code>${fen}</code></p>
      </details>`;
  }
}
