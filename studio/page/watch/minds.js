/**
 * What the two engines of a game think, side by side, and the curve of both evaluations.
 *
 * @import {MatchMoves, Mind} from '../types.js'
 */
import { curveSlider } from '../play/curve.js';
import { expected, nodesText, priorText, qText, scoreText, visitsText } from '../play/evaluation.js';
import { html, nothing } from '../vendor/lit-html.js';

/** Moves with N, P and Q. */
const SHOWN = 6;

/** @param {number} ms */
export function timeText(ms) {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** @param {[number, number, number]} wdl White's wins, draws, Black's wins */
function wdlText([white, draw, black]) {
  return `White ${Math.round(white / 10)} %, draw ${Math.round(draw / 10)} %, Black ${Math.round(black / 10)} %`;
}

/** @param {Mind} mind @param {'white' | 'black'} side */
export function mindView(mind, side) {
  const best = mind.lines[0];
  return html`
    <section class="mind" aria-label="${side === 'white' ? 'White' : 'Black'}: ${mind.name}">
      <h3><span class="disc ${side}"></span> ${mind.name}${mind.thinking ? html` <span class="small">thinks</span>` : nothing}</h3>
      <p class="score">${best ? scoreText(best.score) : '–'}</p>
      <p class="small">${best?.wdl ? wdlText(best.wdl) : best ? 'No WDL' : 'No search yet'}</p>
      <p class="small">${best ? `depth ${best.depth}, ${nodesText(best.nodes)}, ${mind.nps.toLocaleString('en')} a second` : nothing}</p>
      <p class="small">${timeText(mind.ms)} for this move, ${timeText(mind.mean_ms)} a move on average</p>
      <p class="line">${best ? best.san.slice(0, 12).join(' ') : nothing}</p>
      ${mind.moves.length > 0 ? html`
        <table class="results npq">
          <thead><tr><th>Move</th><th><abbr title="visits">N</abbr></th><th><abbr title="prior">P</abbr></th>
            <th><abbr title="mean result for the side to move">Q</abbr></th></tr></thead>
          <tbody>${mind.moves.slice(0, SHOWN).map((move) => html`
            <tr><td>${move.san}</td><td>${visitsText(move.visits)}</td><td>${priorText(move.prior)}</td><td>${qText(move.q)}</td></tr>`)}</tbody>
        </table>` : nothing}
    </section>`;
}

/** Whether White made the move with this index. @param {MatchMoves} game @param {number} index */
export function isWhites({ start }, index) {
  return (start.split(' ')[1] === 'w') === (index % 2 === 0);
}

/**
 * The evaluations of one side's engine: its plies, and White's expected points there.
 *
 * @param {MatchMoves} game
 * @param {boolean} ofWhite
 * @returns {[number, number][]}
 */
export function evaluations(game, ofWhite) {
  return game.records.flatMap((record, index) => {
    if (!record?.score || isWhites(game, index) !== ofWhite) return [];
    return [/** @type {[number, number]} */ ([index + 1, expected({ score: record.score, wdl: record.wdl })])];
  });
}

/** Number and move, as in `12… Nf6`. @param {MatchMoves} game @param {number} index */
export function moveText(game, index) {
  const words = game.start.split(' ');
  const plies = 2 * (Number(words[5]) - 1) + (words[1] === 'b' ? 1 : 0) + index;
  return `${Math.floor(plies / 2) + 1}${plies % 2 === 0 ? '.' : '…'} ${game.moves[index].san}`;
}

/** What was reported of a move. @param {MatchMoves} game @param {number} ply after the move */
export function recordText(game, ply) {
  if (ply === 0) return 'Start';
  const record = game.records[ply - 1];
  if (!record) return `${moveText(game, ply - 1)}: opening`;
  const parts = [record.score ? scoreText(record.score) : '', record.depth ? `depth ${record.depth}` : '',
    record.nodes ? nodesText(record.nodes) : '', timeText(record.ms)];
  return `${moveText(game, ply - 1)}: ${parts.filter(Boolean).join(', ')}`;
}

/**
 * @param {MatchMoves} game
 * @param {number} ply that is shown
 * @param {(ply: number) => void} go
 */
export function curveView(game, ply, go) {
  const lines = [evaluations(game, true), evaluations(game, false)];
  return html`
    ${curveSlider(lines, { last: game.moves.length, ply, label: 'Moves of the game', words: recordText(game, ply), go })}
    <p class="small">White's chances: the full line by the engine of White, the broken one by that of Black.</p>`;
}
