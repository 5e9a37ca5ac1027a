/**
 * The room in which one watches matches between engines.
 *
 * @import {Engine, GameView, LiveBoard, Match} from '../types.js'
 */
import { Board } from '../play/board.js';
import { act } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';

/**
 * The live board as the game that the board component shows: nobody at the browser has a side.
 *
 * @param {LiveBoard} live
 * @returns {GameView}
 */
function asGame(live) {
  /** @param {string} name */
  const engine = (name) => ({ kind: /** @type {const} */ ('engine'), label: name, name, elo: null });
  return {
    revision: 0,
    start_fen: live.start_fen,
    chess960: false,
    first_ply: 0,
    moves: live.last ? [live.last] : [],
    opening: null,
    start_check: false,
    turn: 'white',
    legal: [],
    white: engine(live.white),
    black: engine(live.black),
    clock: null,
    end: null,
    take_back: 0,
    thinking: false,
    analysis: false,
    notice: null,
    stalled: false,
    engines: [],
  };
}

/** @param {number} value with a sign */
function signed(value) {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(0)}`;
}

export class WatchRoom {
  #root;
  /** @type {Engine[]} */
  #engines = [];
  /** @type {Match | null} */
  #match = null;
  /** @type {string | null} */
  #error = null;
  #isShown = false;
  /** @type {Board | null} */
  #board = null;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /** @param {Engine[]} engines */
  receiveEngines(engines) {
    this.#engines = engines;
    this.#draw();
  }

  /** @param {Match | null} match */
  receive(match) {
    this.#match = match;
    this.#draw();
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.#isShown = isShown;
    this.#draw();
  }

  /** @param {object} command */
  async #act(command) {
    this.#error = await act(command, 'match');
    this.#draw();
  }

  /** @param {SubmitEvent} event */
  #begin(event) {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    this.#act({
      do: 'begin',
      first: form.get('first'),
      second: form.get('second'),
      games: Number(form.get('games')),
      move_time_ms: Math.round(Number(form.get('seconds')) * 1000),
    });
  }

  #draw() {
    if (!this.#isShown) return;
    render(this.#view(), this.#root);
    const square = this.#root.querySelector('.board');
    if (!this.#board && square instanceof HTMLElement) this.#board = new Board(square, () => {});
    const live = this.#match?.board;
    if (live) this.#board?.show(asGame(live), live.last ? 1 : 0, 'white', null);
  }

  #view() {
    const match = this.#match;
    const running = match !== null && match.phase !== 'ended';
    return html`
      <h2>Match</h2>
      ${running ? this.#controls(match) : this.#order()}
      <p class="error" role="alert">${this.#error ?? nothing}</p>
      ${match ? html`
        <div class="table">
          <div class="sides">
            <div class="player"><span class="name"><span class="disc black" aria-hidden="true"></span>
              <span class="unseen">Black: </span>${match.board?.black ?? nothing}</span></div>
            <div class="boards"><div class="square"><div class="board"></div></div></div>
            <div class="player"><span class="name"><span class="disc white" aria-hidden="true"></span>
              <span class="unseen">White: </span>${match.board?.white ?? nothing}</span></div>
          </div>
          <div class="panel">${this.#score(match)}</div>
        </div>` : nothing}`;
  }

  #order() {
    /** @param {string} name @param {number} selected */
    const choices = (name, selected) => html`
      <select name=${name}>${this.#engines.map((engine, index) => html`
        <option value=${engine.name} ?selected=${index === selected} ?disabled=${engine.error !== null}>${engine.name}</option>`)}
      </select>`;
    return html`
      <form class="order" @submit=${(/** @type {SubmitEvent} */ event) => this.#begin(event)}>
        <label>Engine ${choices('first', 0)}</label>
        <label>against ${choices('second', 1)}</label>
        <label>Games <input name="games" type="number" min="2" max="1000" step="2" value="10" required></label>
        <label>Seconds a move <input name="seconds" type="number" min="0.01" max="60" step="any" value="0.2" required></label>
        <button class="first" type="submit">Begin</button>
      </form>`;
  }

  /** @param {Match} match */
  #controls(match) {
    return html`
      <div class="buttons">
        <button type="button" ?disabled=${match.phase === 'finishing'} @click=${() => this.#act({ do: 'finish' })}>
          Finish this game, then stop</button>
        <button type="button" @click=${() => this.#act({ do: 'stop' })}>Stop now</button>
      </div>`;
  }

  /** @param {Match} match */
  #score(match) {
    const { wins, draws, losses, pairs } = match.score;
    const played = wins + draws + losses;
    const points = wins + draws / 2;
    const state = match.phase === 'ended' ? `ended after ${played}` : match.phase === 'finishing'
      ? `last game, ${played + 1}` : `game ${played + 1}`;
    return html`
      <p class="status" role="status">${match.first} against ${match.second}: ${state} of ${match.games}.</p>
      ${match.notice ? html`<p class="notice">${match.notice}</p>` : nothing}
      <p class="score">${points} : ${played - points}</p>
      <p>${wins} won, ${draws} drawn, ${losses} lost${match.rated
        ? html`; Elo ${signed(match.rated.elo)} ± ${match.rated.error.toFixed(0)}` : nothing}</p>
      <p class="small">Pairs of games with 0, ½, 1, 1½ and 2 points: ${pairs.join(', ')}. ${match.rated
        ? 'The error is that of a 95 % interval.' : 'Elo needs two pairs that differ.'}</p>
      <p class="small">${match.board && match.phase !== 'ended'
        ? `${match.board.opening}, move ${Math.floor((match.board.ply + 1) / 2)}${match.board.last ? `: ${match.board.last.san}` : ''}`
        : nothing}</p>
      ${match.finished.length > 0 ? html`
        <table class="results">
          <thead><tr><th>White</th><th>Black</th><th>Opening</th><th>Result</th></tr></thead>
          <tbody>${[...match.finished].reverse().map((game) => html`
            <tr title=${game.text}><td>${game.white}</td><td>${game.black}</td><td>${game.opening}</td><td>${game.result}</td></tr>`)}
          </tbody>
        </table>
        <div class="buttons"><button type="button" @click=${() => location.assign('/api/match/pgn')}>Save PGN</button></div>`
        : nothing}`;
  }
}
