/**
 * One game of a match on a big board, with all that its engines think: while it is played, or replayed afterwards.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {Key} from '@lichess-org/chessground/types'
 * @import {LiveBoard, MatchMoves, Minds, Replay} from '../types.js'
 */
import { MatchClocks } from '../play/clock.js';
import { SearchTree } from '../play/tree.js';
import { matchTree, replayGame, view } from '../server.js';
import { Chessground } from '../vendor/chessground.min.js';
import { html, nothing } from '../vendor/lit-html.js';
import { curveView, mindView, recordText } from './minds.js';

/** The thoughts of engines whose match is suspended: none of them thinks any more. @param {Minds} minds @returns {Minds} */
export function halted({ game, minds: [white, black] }) {
  return { game, minds: [{ ...white, thinking: false }, { ...black, thinking: false }] };
}

export class MatchWindow {
  /** @type {number | null} */
  #lane = null;
  /** @type {Replay | null} */
  #replay = null;
  /** @type {LiveBoard | null} */
  #board = null;
  /** What came last of the boards and clocks of the wall, which the server sends once. @type {Map<string, any>} */
  #latest = new Map();
  /** @type {MatchMoves | null} */
  #moves = null;
  /** @type {Minds | null} */
  #minds = null;
  /** The position that is shown; `null` follows the game. @type {number | null} */
  #ply = null;
  #clocks = new MatchClocks(() => this.#drawClocks());
  #isWatched = false;
  /** When the connection was lost, by `performance.now()`. @type {number | null} */
  #lostAt = null;
  /** @type {Api | null} */
  #ground = null;
  /** @type {Element | null} */
  #element = null;
  #changed;
  #trees = [true, false].map((white) => new SearchTree((moves) => matchTree(this.#lane ?? 0, white, moves), () => this.#changed()));

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  get lane() {
    return this.#lane;
  }

  get isOpen() {
    return this.#lane !== null || this.#replay !== null;
  }

  #topics() {
    return ['', '/minds', '/moves', '/clock'].map((part) => `match/${this.#lane}${part}`);
  }

  /** Shows the game of a lane; `null` closes the window. @param {number | null} lane */
  open(lane) {
    this.#replay = null;
    this.#ply = null;
    if (lane === this.#lane) return this.#changed();
    this.watch(false);
    this.#lane = lane;
    [this.#board, this.#moves, this.#minds] = [this.#latest.get(`match/${lane}`) ?? null, null, null];
    this.#clocks.stop();
    const clock = this.#latest.get(`match/${lane}/clock`);
    if (clock) this.#clocks.receive(clock.clock, clock.since);
    if (this.#lostAt !== null) this.#clocks.stand(this.#lostAt);
    this.watch(true);
    this.#changed();
  }

  /** The server has gone: no clock runs on, also not those of boards that are opened later. */
  stand() {
    this.#lostAt = performance.now();
    this.#clocks.stand();
    this.#drawClocks();
  }

  /** Another match has come. */
  forget() {
    this.#latest.clear();
    this.open(null);
  }

  /** Only what is in view is sent. @param {boolean} isShown */
  watch(isShown) {
    if (this.#lane !== null) this.#topics().forEach((topic) => view(topic, isShown));
    this.#isWatched = isShown;
    this.#followTrees();
  }

  /** @param {number} game from 0 @returns {Promise<string | null>} the error */
  async replay(game) {
    const answer = await replayGame(game);
    if ('error' in answer) return answer.error;
    this.#replay = answer.value;
    this.#ply = null;
    this.#followTrees();
    this.#changed();
    return null;
  }

  /** @param {Record<string, any>} boards */
  receive(boards) {
    this.#lostAt = null;
    for (const [name, board] of Object.entries(boards)) {
      if (/^match\/\d+$/.test(name)) this.#latest.set(name, board);
      else if (/^match\/\d+\/clock$/.test(name)) this.#latest.set(name, { clock: board, since: performance.now() });
    }
    if (this.#lane === null) return;
    const [board, minds, moves, clock] = this.#topics().map((topic) => boards[topic]);
    if (clock) this.#clocks.receive(clock);
    if (!board && !minds && !moves) return this.#drawClocks();
    this.#board = board ?? this.#board;
    this.#minds = minds ?? this.#minds;
    // Another game has begun.
    if (moves && moves.game !== this.#moves?.game) this.#ply = null;
    this.#moves = moves ?? this.#moves;
    this.#followTrees();
    this.#changed();
  }

  /** Trees of positions that are not shown are not read. */
  #followTrees() {
    const isShown = this.#isWatched && this.#lane !== null && !this.#replay;
    this.#trees.forEach((tree, side) => {
      const fen = this.#minds?.minds[side].fen;
      // Engines of two boards may have searched the same position.
      tree.follow(isShown && fen ? `${this.#lane} ${fen}` : '', true);
    });
  }

  /** What keys do. @returns {Record<string, () => void>} */
  get keys() {
    const last = (this.#replay ?? this.#moves)?.moves.length ?? 0;
    const ply = this.#ply ?? last;
    return {
      ArrowLeft: () => this.#go(ply - 1),
      ArrowRight: () => this.#go(ply + 1),
      Home: () => this.#go(0),
      End: () => this.#go(last),
    };
  }

  /** @param {number} ply */
  #go(ply) {
    const last = (this.#replay ?? this.#moves)?.moves.length ?? 0;
    this.#ply = ply >= last ? null : Math.max(0, ply);
    this.#changed();
  }

  /** @param {boolean} isRunning the match is */
  view(isRunning) {
    const game = this.#replay ?? this.#moves;
    if (!isRunning) this.#clocks.stand();
    const minds = this.#minds && (isRunning ? this.#minds : halted(this.#minds));
    const showsTrees = this.#trees[0].isOpen;
    const board = this.#replay ? null : this.#board;
    if (!game) return html`<section class="window" aria-label="Game"><p class="small">This board has no game now.</p></section>`;
    const ply = this.#ply ?? game.moves.length;
    const names = this.#replay ? [this.#replay.white, this.#replay.black] : [board?.white ?? '', board?.black ?? ''];
    const player = (/** @type {number} */ side) => html`
      <div class="player"><span class="name"><span class="disc ${side === 0 ? 'white' : 'black'}"></span> ${names[side]}</span>
        ${board?.left_ms ? html`<span class="clock" data-side=${side}></span>` : nothing}</div>`;
    const step = (/** @type {string} */ label, /** @type {string} */ sign, /** @type {number} */ to) => html`
      <button type="button" aria-label=${label} ?disabled=${to < 0 || to > game.moves.length || to === ply} @click=${() => this.#go(to)}>${sign}</button>`;
    const title = this.#replay ? `Game ${game.game + 1}: ${this.#replay.opening}. ${this.#replay.result}` : board?.title ?? '';
    return html`
      <section class="window" aria-label="Game ${game.game + 1}">
        <div class="stage">
          ${player(1)}
          <div class="square"><div class="board" data-window></div></div>
          ${player(0)}
        </div>
        <div class="side">
          <p class="status">${title}${board?.end ? `. ${board.end}` : ''}</p>
          ${curveView(game, ply, (to) => this.#go(to))}
          <p class="small reported">${recordText(game, ply)}</p>
          <div class="buttons" role="group" aria-label="Replay">
            ${step('To the start', '«', 0)}${step('One move back', '‹', ply - 1)}${step('One move on', '›', ply + 1)}
            ${step('To the end', '»', game.moves.length)}
            ${this.#replay ? html`<button type="button" @click=${() => this.open(this.#lane)}>${
              this.#lane === null ? 'Back to all boards' : `Back to board ${this.#lane + 1}`}</button>` : nothing}
            ${this.#replay ? nothing : html`<button type="button" aria-pressed=${showsTrees ? 'true' : 'false'}
              @click=${() => this.#trees.forEach((tree) => tree.toggle())}>Search trees</button>`}
          </div>
          ${minds && !this.#replay ? html`
            <div class="minds">${minds.minds.map((mind, side) => mindView(mind, side === 0 ? 'white' : 'black'))}</div>
            ${showsTrees ? html`<div class="minds">${minds.minds.map(({ name }, side) =>
              this.#trees[side].view(`Search tree of ${name}`))}</div>` : nothing}` : nothing}
        </div>
      </section>`;
  }

  /** Only the words of the clocks, which change often. */
  #drawClocks() {
    const board = this.#replay ? null : this.#board;
    if (!board) return;
    const texts = this.#clocks.texts(board);
    this.#element?.closest('.stage')?.querySelectorAll('[data-side]').forEach((element) => {
      element.textContent = texts[Number(element.getAttribute('data-side'))];
    });
  }

  /** Shows the position, after the page is drawn. @param {Element} root */
  drawBoard(root) {
    const element = root.querySelector('[data-window]');
    if (!(element instanceof HTMLElement)) return;
    if (element !== this.#element) {
      this.#element = element;
      this.#ground = Chessground(element, { viewOnly: true, animation: { duration: 120 } });
    }
    this.#drawClocks();
    const game = this.#replay ?? this.#moves;
    if (!game) return;
    const ply = this.#ply ?? game.moves.length;
    const move = game.moves[ply - 1];
    const fen = move?.fen ?? game.start;
    this.#ground?.set({
      fen,
      turnColor: fen.split(' ')[1] === 'w' ? 'white' : 'black',
      check: move?.check ?? false,
      lastMove: move ? /** @type {Key[]} */ ([move.uci.slice(0, 2), move.uci.slice(2, 4)]) : undefined,
    });
  }
}
