/**
 * The room of matches: one played here, and those of other programs.
 *
 * @import {Engine, Followed, LiveBoard, Match, ThinkingTime} from '../types.js'
 * @import {Values} from '../memory.js'
 */
import { BoardGrid } from '../boards.js';
import { recall, remember, valuesOf } from '../memory.js';
import { press } from '../play/keyboard.js';
import { confirmed } from '../question.js';
import { act, books } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { EarlierMatches } from './earlier.js';
import { beginCommand, orderForm } from './order.js';
import { finishedGames, standingView } from './standing.js';
import { MatchWindow } from './window.js';

/** Choices of the delay between moves. */
const DELAYS_MS = [0, 250, 500, 1000, 2000, 5000, 10_000];

/** @param {ThinkingTime} time */
function timeText(time) {
  if ('move_ms' in time) return `${time.move_ms / 1000} s a move`;
  return `${time.clock.base_ms / 1000} s + ${time.clock.increment_ms / 1000} s`;
}

/** After a restart the server counts matches anew. @param {Match | null | undefined} before @param {Match | null} now */
export function isAnotherMatch(before, now) {
  if (!before || !now) return false;
  return before.edition !== now.edition || JSON.stringify(before.order) !== JSON.stringify(now.order);
}

export class WatchRoom {
  #root;
  /** @type {Engine[]} */
  #engines = [];
  /** `undefined` before the server's first message. @type {Match | null | undefined} */
  #match;
  /** @type {Followed[]} */
  #followed = [];
  /** @type {string[]} */
  #books = [];
  #window = new MatchWindow(() => this.#draw());
  #earlier = new EarlierMatches((command) => this.#act(command), () => this.#draw());
  /** @type {Values} */
  #form = recall('match');
  /** @type {string | null} */
  #error = null;
  #isShown = false;
  /** By the element that holds the grid. @type {Map<Element, BoardGrid>} */
  #grids = new Map();

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    document.addEventListener('keydown', (event) => {
      if (this.#isShown && this.#window.isOpen) press(event, this.#window.keys, () => false);
    });
  }

  /** @param {Engine[]} engines */
  receiveEngines(engines) {
    if (JSON.stringify(engines) === JSON.stringify(this.#engines)) return;
    this.#engines = engines;
    this.#draw();
  }

  /** @param {Match | null} match */
  receive(match) {
    // The error was about the earlier phase.
    const before = this.#match;
    const isAnother = isAnotherMatch(before, match);
    const isOther = before?.phase !== match?.phase || isAnother;
    if (isOther) this.#error = null;
    this.#match = match;
    if (isAnother) this.#window.forget();
    if (isOther && this.#isShown) this.#earlier.read();
    this.#draw();
  }

  /** @param {Followed[]} followed */
  receiveFollowed(followed) {
    this.#followed = followed;
    this.#draw();
  }

  /** @param {Record<string, LiveBoard>} boards */
  receiveBoards(boards) {
    if (!this.#isShown) return;
    this.#grids.forEach((grid) => grid.receive(boards));
    this.#window.receive(boards);
  }

  /** @param {boolean} isConnected with the server */
  connection(isConnected) {
    if (!isConnected) this.#window.stand();
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.#isShown = isShown;
    this.#window.watch(isShown);
    this.#draw();
    if (isShown && this.#books.length === 0) this.#readBooks();
    if (isShown) this.#earlier.read();
  }

  async #readBooks() {
    this.#books = await books();
    this.#draw();
  }

  /** @param {object} command */
  async #act(command) {
    this.#error = await act(command, 'match');
    await this.#earlier.read();
    return this.#error === null;
  }

  /** @param {HTMLFormElement} form */
  async #begin(form) {
    this.#form = valuesOf(form, this.#form);
    await this.#act(beginCommand(this.#form));
    if (this.#error === null) remember('match', this.#form);
  }

  /** Asks first. @param {Match} match */
  async #stop(match) {
    const running = match.phase !== 'suspended';
    if (await confirmed({
      title: 'Stop the match?',
      text: `It can then not be resumed${running ? ', and its running games are lost' : ''}. Its finished games stay.`,
      yes: 'Stop it',
    })) await this.#act({ do: 'stop' });
  }

  #draw() {
    if (!this.#isShown || this.#match === undefined) return;
    render(this.#view(), this.#root);
    const elements = [...this.#root.querySelectorAll('.grid')];
    for (const [element, grid] of this.#grids) {
      if (elements.includes(element)) continue;
      grid.show([]);
      this.#grids.delete(element);
    }
    for (const element of elements) {
      if (!(element instanceof HTMLElement)) continue;
      const grid = this.#grids.get(element) ?? new BoardGrid(element);
      this.#grids.set(element, grid);
      grid.show((element.dataset.boards ?? '').split(' ').filter(Boolean));
    }
    this.#window.drawBoard(this.#root);
    // A grid that leaves the page has taken its boards out of view.
    this.#window.watch(true);
  }

  /** Shows a board with its engines, or all boards. @param {number | null} lane */
  #show(lane) {
    this.#window.open(lane);
    this.#bringIntoView();
  }

  /** @param {number} game */
  async #replay(game) {
    this.#error = await this.#window.replay(game);
    this.#draw();
    this.#bringIntoView();
  }

  /** Small windows would show the buttons only. */
  #bringIntoView() {
    this.#root.querySelector('.window')?.scrollIntoView({ block: 'nearest' });
  }

  /** Which boards are shown, the delay, and any finished game. @param {Match} match */
  #choices(match) {
    const played = match.standing.games[0] + match.standing.games[1] + match.standing.games[2];
    const value = (/** @type {Event} */ event) => Number(/** @type {HTMLSelectElement} */ (event.target).value);
    return html`
      <div class="buttons choices">
        <label class="inline">Show
          <select name="shown" @change=${(/** @type {Event} */ event) => this.#show(value(event) < 0 ? null : value(event))}>
            <option value="-1" ?selected=${this.#window.lane === null}>all boards</option>
            ${match.boards.map((_, lane) => html`<option value=${lane} ?selected=${this.#window.lane === lane}>board ${lane + 1} with its engines</option>`)}
          </select></label>
        ${match.phase === 'ended' ? nothing : html`
          <label class="inline">Delay between moves
            <select name="delay" @change=${(/** @type {Event} */ event) => this.#act({ do: 'delay', ms: value(event) })}>${DELAYS_MS.map((ms) => html`
              <option value=${ms} ?selected=${ms === match.delay_ms}>${ms === 0 ? 'none' : `${ms / 1000} s`}</option>`)}</select></label>`}
        ${played > 0 ? html`
          <form class="inline" @submit=${(/** @type {SubmitEvent} */ event) => {
            event.preventDefault();
            this.#replay(Number(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('game')) - 1);
          }}><label class="inline">Game <input name="game" type="number" min="1" max=${match.order.games} value="1" required></label>
            <button type="submit">Replay</button></form>` : nothing}
      </div>`;
  }

  #view() {
    const match = this.#match;
    const isRunning = match?.phase === 'playing' || match?.phase === 'finishing';
    return html`
      <h2>Match</h2>
      ${match && match.phase !== 'ended' ? this.#controls(match) : nothing}
      ${match ? nothing : html`
        <p>Two engines play each opening twice, with colours reversed.</p>
        ${this.#order()}`}
      <p class="error" role="alert">${this.#error ?? nothing}</p>
      ${match ? html`
        ${this.#choices(match)}
        <div class="watched ${this.#window.isOpen ? 'closely' : ''}">
          ${this.#window.isOpen ? this.#window.view(isRunning) : html`<div class="grid" data-boards=${match.boards.join(' ')}></div>`}
          <div class="panel">${this.#state(match)}</div>
        </div>
        ${isRunning ? nothing : html`<h2>Another match</h2>${this.#order()}`}` : nothing}
      ${this.#earlier.view(isRunning)}
      ${this.#followed.map((followed) => this.#followedView(followed))}`;
  }

  /** The form for a match. */
  #order() {
    return orderForm(this.#form, this.#engines, this.#books, (form) => {
      this.#form = valuesOf(form, this.#form);
      this.#draw();
    }, (form) => this.#begin(form));
  }

  /** @param {Match} match */
  #controls(match) {
    /** @param {string} label @param {string} command @param {boolean} [disabled] */
    const button = (label, command, disabled = false) => html`
      <button type="button" ?disabled=${disabled} @click=${() => this.#act({ do: command })}>${label}</button>`;
    return html`
      <div class="buttons" role="group" aria-label="Match">
        ${match.phase === 'suspended' ? button('Resume', 'resume') : html`
          ${button('Finish the running games, then stop', 'finish', match.phase === 'finishing')}
          ${button('Suspend', 'suspend')}`}
        <button type="button" @click=${() => this.#stop(match)}>Stop …</button>
      </div>`;
  }

  /** @param {Match} match */
  #state(match) {
    const { order, standing, phase } = match;
    const played = standing.games[0] + standing.games[1] + standing.games[2];
    const name = match.name ?? `${order.first} against ${order.second}`;
    const state = {
      playing: `${played} of ${order.games} games`,
      finishing: `finishing the running games after ${played}`,
      suspended: `suspended after ${played} of ${order.games}`,
      ended: `ended after ${played} of ${order.games}`,
    }[phase];
    return html`
      <p class="status" role="status">${name}: ${state}.</p>
      ${match.notice ? html`<p class="notice">${match.notice}</p>` : nothing}
      ${standingView(standing)}
      <p class="small">${timeText(order.time)}${match.sprt
        ? `; test of ${match.sprt.elo0} against ${match.sprt.elo1} Elo` : nothing}.</p>
      ${finishedGames(match.finished, (game) => this.#replay(game))}
      ${match.finished.length > 0 ? html`
        <div class="buttons"><button type="button" @click=${() => location.assign('/api/match/pgn')}>Save PGN</button></div>` : nothing}`;
  }

  /** @param {Followed} followed */
  #followedView(followed) {
    return html`
      <section class="followed" aria-label="Match in ${followed.name}">
        <h2>${followed.name}</h2>
        ${followed.problem ? html`<p>${followed.problem}</p>` : html`
          <div class="watched">
            <div class="grid" data-boards=${followed.boards.join(' ')}></div>
            <div class="panel">
              ${followed.pairings.map((pairing) => html`
                <p class="status">${pairing.first} against ${pairing.second}: ${pairing.standing.games.reduce((a, b) => a + b)} games.</p>
                ${standingView(pairing.standing)}`)}
              ${followed.broken > 0 ? html`<p class="small">${followed.broken} games cannot be read and are left out.</p>` : nothing}
              ${finishedGames(followed.finished)}
            </div>
          </div>`}
      </section>`;
  }
}
