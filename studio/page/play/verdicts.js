/**
 * What the endgame tables know of the position on the board: the result of every legal move.
 *
 * @import {GameView, MoveVerdict, Verdict, Verdicts} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { shownSan } from './settings.js';

/** Most men of a Syzygy table. */
const MOST_MEN = 7;

/** @type {Record<Verdict, string>} */
const WORDS = { win: 'wins', draw: 'draws', loss: 'loses' };

/** Whether tables may know a position: few men, no castling. @param {string} fen */
export function isEndgame(fen) {
  const [board, , castling] = fen.split(' ');
  return castling === '-' && (board.match(/[a-z]/gi)?.length ?? 0) <= MOST_MEN;
}

/** The distance of a move in words: moves until the next capture, pawn move or mate. @param {MoveVerdict} move */
export function distanceWords({ verdict, dtz, san }) {
  if (san.endsWith('#')) return 'mate';
  if (dtz === 0) return '';
  const moves = Math.ceil(Math.abs(dtz) / 2);
  if (verdict === 'draw') return dtz > 0 ? 'won but for the fifty-move rule' : 'lost but for the fifty-move rule';
  return `${moves}`;
}

/**
 * The moves by verdict, the best first.
 *
 * @param {MoveVerdict[]} moves
 * @returns {[Verdict, MoveVerdict[]][]}
 */
export function byVerdict(moves) {
  const groups = /** @type {Verdict[]} */ (['win', 'draw', 'loss']).map((verdict) =>
    /** @type {[Verdict, MoveVerdict[]]} */ ([verdict, moves.filter((move) => move.verdict === verdict)]));
  return groups.filter(([, found]) => found.length > 0);
}

/**
 * Whether the tables may be shown: in a running game against an engine they would play for the person, so there they
 * belong to the evaluation, which a person switches on.
 *
 * @param {GameView} game
 * @param {boolean} isLast the game's last position is on the board
 */
export function mayTell(game, isLast) {
  const isPlayed = isLast && !game.end && [game.white, game.black].some((seat) => seat.kind === 'engine');
  return !isPlayed || game.analysis;
}

export class VerdictPanel {
  #ask;
  #changed;
  /** The position that was asked for last. */
  #fen = '';
  /** @type {Verdicts | null} */
  #known = null;

  /**
   * @param {(fen: string) => Promise<Verdicts | null>} ask
   * @param {() => void} changed
   */
  constructor(ask, changed) {
    this.#ask = ask;
    this.#changed = changed;
  }

  /** Asks for another position. @param {string} fen */
  async #follow(fen) {
    if (fen === this.#fen) return;
    [this.#fen, this.#known] = [fen, null];
    if (!isEndgame(fen)) return;
    const known = await this.#ask(fen);
    if (this.#fen !== fen) return;
    this.#known = known;
    this.#changed();
  }

  /**
   * @param {string | null} fen of the position on the board; `null` shows nothing
   * @param {{play: (uci: string) => void, point: (uci: string | null) => void}} on
   */
  view(fen, { play, point }) {
    this.#follow(fen ?? '');
    const known = this.#known;
    if (!fen || !known) return nothing;
    const side = fen.split(' ')[1] === 'w' ? 'White' : 'Black';
    return html`
      <section class="verdicts" aria-label="Endgame tables">
        <p>Tables: ${side} <b class=${known.verdict}>${WORDS[known.verdict]}</b></p>
        ${byVerdict(known.moves).map(([verdict, moves]) => html`
          <div class="group"><span class="name ${verdict}">${verdict}</span>
            <span class="found">${moves.map((move) => {
              const distance = distanceWords(move);
              const isNumber = /^\d/.test(distance);
              return html`<button type="button" class="link" title=${isNumber ? `Moves to the next capture, pawn move or mate: ${distance}` : distance || nothing}
                @click=${() => play(move.uci)} @mouseenter=${() => point(move.uci)} @mouseleave=${() => point(null)}
                @focus=${() => point(move.uci)} @blur=${() => point(null)}>${shownSan(move.san)}<span
                  class="unseen"> ${verdict} </span><span class=${isNumber ? 'distance' : 'unseen'}>${distance}</span></button> `;
            })}</span></div>`)}
      </section>`;
  }
}
