/**
 * The review of the game on the board: progress, the players' accuracy, White's win probability as a slider, and the remark
 * on the shown move.
 *
 * @import {GameView, Review, ReviewedPlayer} from '../types.js'
 */
import { recall, remember } from '../memory.js';
import { html, nothing } from '../vendor/lit-html.js';
import { curveSlider } from './curve.js';

/** Choices of nodes per position. */
const NODES = [2_000, 20_000, 100_000];

/** Nodes of the first review. */
export const DEFAULT_NODES = 20_000;

/** Classes of the marks in the list of moves. @type {Record<string, string>} */
const CLASSES = { '!!': 'brilliant', '!': 'good', '?!': 'inaccuracy', '?': 'mistake', '??': 'blunder' };

/** The review if it belongs to this game. @param {GameView | null} game @param {Review | null} review */
export function reviewOf(game, review) {
  return game && review && review.key === game.key ? review : null;
}

/**
 * Marks of the moves by their index.
 *
 * @param {Review | null} review
 * @returns {Map<number, {mark: string, name: string, className: string}>}
 */
export function marksOf(review) {
  /** @type {Map<number, {mark: string, name: string, className: string}>} */
  const marks = new Map();
  for (const { ply, mark, name } of review?.moves ?? []) {
    if (mark && name) marks.set(ply, { mark, name, className: CLASSES[mark] });
  }
  return marks;
}

/** Evaluations after the moves by their index, as in a file. @param {Review | null} review @returns {Map<number, string>} */
export function evalsOf(review) {
  return new Map((review?.moves ?? []).flatMap(({ ply, eval: text }) => (text ? [/** @type {[number, string]} */ ([ply, text])] : [])));
}

/** @param {number} seconds */
function left(seconds) {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}

/** White's win probability by ply; the start counts as the first position known. @param {Review} review */
function curve(review) {
  const points = review.moves.map((move) => /** @type {[number, number]} */ ([move.ply + 1, move.white]));
  if (review.white !== null) points.unshift([0, review.white]);
  return points;
}

/** @param {GameView} game @param {Review} review @param {number} ply */
function positionWords(game, review, ply) {
  const known = curve(review).find(([at]) => at === ply);
  const where = ply === 0 ? 'Start' : `Move ${Math.floor((game.first_ply + ply - 1) / 2) + 1}, ${game.moves[ply - 1]?.san ?? ''}`;
  return known ? `${where}: White ${Math.round(known[1])} %` : where;
}

/**
 * @param {GameView} game
 * @param {Review | null} review
 * @param {number} ply of the main line
 * @param {boolean} isMain whether the position on the board is in the main line
 * @param {object} actions
 * @param {(nodes: number) => void} actions.begin
 * @param {() => void} actions.stop
 * @param {(ply: number) => void} actions.go
 * @param {(uci: string | null) => void} actions.point
 * @param {() => void} actions.keep writes the review into the game
 */
export function reviewPanel(game, review, ply, isMain, { begin, stop, go, point, keep }) {
  return html`
    <section class="review" aria-label="Review">
      ${review?.running ? html`
        <div class="reviewing">
          <progress aria-label="Positions reviewed" max=${review.total} value=${review.done}></progress>
          <span class="small">${review.done} of ${review.total}${review.seconds_left === null ? nothing : `, ${left(review.seconds_left)} left`}</span>
          <button type="button" @click=${stop}>Stop</button>
        </div>` : html`
        <form class="buttons" @submit=${(/** @type {SubmitEvent} */ event) => {
          event.preventDefault();
          const nodes = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('nodes'));
          remember('review', { nodes });
          begin(Number(nodes));
        }}>
          <button type="submit" ?disabled=${game.moves.length === 0 || game.engines.length === 0}>Review this game</button>
          <label class="inline"><span class="unseen">Nodes for each position</span>
            <select name="nodes">${NODES.map((nodes) => html`
              <option value=${nodes} ?selected=${nodes === Number(recall('review').nodes ?? DEFAULT_NODES)}>${nodes.toLocaleString('en')} nodes</option>`)}
            </select></label>
        </form>`}
      ${review ? found(game, review, ply, isMain, { go, point, keep }) : nothing}
    </section>`;
}

/**
 * @param {GameView} game
 * @param {Review} review
 * @param {number} ply
 * @param {boolean} isMain
 * @param {{go: (ply: number) => void, point: (uci: string | null) => void, keep: () => void}} on
 */
function found(game, review, ply, isMain, { go, point, keep }) {
  const last = game.moves.length;
  const judged = isMain ? review.moves.find((move) => move.ply === ply - 1) : undefined;
  return html`
    ${review.notice ? html`<p class="notice">${review.notice}</p>` : nothing}
    ${curveSlider([curve(review)], { last, ply, label: "White's win probability by move", words: positionWords(game, review, ply), go })}
    <p class="remark">${judged?.remark ? html`<b class=${CLASSES[judged.mark ?? ''] ?? ''}>${judged.mark}</b> ${judged.remark}`
      : isMain ? positionWords(game, review, ply) : 'A variation has no review.'}
      ${judged?.best ? html`<button type="button" class="link" @mouseenter=${() => point(judged.best_uci[0])}
        @mouseleave=${() => point(null)} @focus=${() => point(judged.best_uci[0])} @blur=${() => point(null)}
        @click=${() => go(ply - 1)}>${judged.best}</button>` : nothing}</p>
    ${judged?.reason ? html`<p class="reason">${judged.reason}</p>` : nothing}
    ${review.players ? html`
      <table class="results">
        <thead><tr><th><span class="unseen">Player</span></th><th>Accuracy</th><th>?!</th><th>?</th><th>??</th></tr></thead>
        <tbody>${/** @type {const} */ (['white', 'black']).map((side, index) =>
          player(game[side].label, /** @type {[ReviewedPlayer, ReviewedPlayer]} */ (review.players)[index]))}</tbody>
      </table>` : nothing}
    ${review.running ? nothing : html`
      <div class="buttons">
        <button type="button" @click=${keep}>Keep in the game</button>
        <button type="button" @click=${() => location.assign('/api/review/pgn')}>Save reviewed PGN</button>
        <button type="button" @click=${() => location.assign('/api/review/page')}>Save as page</button>
      </div>`}
    <p class="small">By ${review.judge}, ${review.nodes.toLocaleString('en')} nodes a position.</p>`;
}

/** @param {string} name @param {ReviewedPlayer} player */
function player(name, player) {
  const accuracy = player.accuracy === null ? '–' : `${player.accuracy.toFixed(0)} %`;
  return html`<tr><th scope="row">${name}</th><td>${accuracy}</td>${player.errors.map((count) => html`<td>${count}</td>`)}</tr>`;
}
