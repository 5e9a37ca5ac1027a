/**
 * The evaluation, when it is asked for: a bar beside the board and the best lines.
 *
 * @import {GameView, Score, Thoughts} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** @param {Score} score */
export function scoreText(score) {
  if ('mate' in score) return score.mate < 0 ? `−#${-score.mate}` : `#${score.mate}`;
  const pawns = (Math.abs(score.cp) / 100).toFixed(2);
  return score.cp < 0 ? `−${pawns}` : `+${pawns}`;
}

/**
 * White's expected result from 0 to 100.
 *
 * @param {Thoughts['lines'][0]} line
 */
function expected({ score, wdl }) {
  if (wdl) return (wdl[0] + wdl[1] / 2) / 10;
  if ('mate' in score) return score.mate > 0 ? 100 : 0;
  // Of an engine without win, draw and loss: the curve of lichess.
  return 100 / (1 + Math.exp(-0.00368208 * score.cp));
}

/** @param {number} perMille */
function percent(perMille) {
  return `${Math.round(perMille / 10)} %`;
}

/**
 * The bar: White's share from the bottom, or from the top if the board is turned.
 *
 * @param {Thoughts | null} thoughts
 * @param {boolean} turned
 */
export function evaluationBar(thoughts, turned) {
  const best = thoughts?.lines[0];
  const white = best ? expected(best) : 50;
  const label = best ? `Evaluation ${scoreText(best.score)} for White` : 'No evaluation yet';
  return html`
    <svg class="bar" viewBox="0 0 10 100" preserveAspectRatio="none" role="img" aria-label=${label}>
      <rect class="black" width="10" height="100"></rect>
      <rect class="white" width="10" y=${turned ? 0 : 100 - white} height=${white}></rect>
    </svg>`;
}

/**
 * @param {GameView} game
 * @param {Thoughts | null} thoughts
 * @param {(uci: string | null) => void} point
 */
export function evaluationLines(game, thoughts, point) {
  const lines = thoughts && thoughts.ply === game.moves.length ? thoughts.lines : [];
  const best = lines[0];
  const wdl = best?.wdl;
  return html`
    <section class="evaluation" aria-label="Evaluation">
      <p class="wdl">${wdl
        ? html`White ${percent(wdl[0])}, draw ${percent(wdl[1])}, Black ${percent(wdl[2])}`
        : best ? nothing : 'Thinking …'}</p>
      <ol>
        ${lines.map((line) => html`
          <li tabindex="0" @mouseenter=${() => point(line.uci[0])} @mouseleave=${() => point(null)}
              @focus=${() => point(line.uci[0])} @blur=${() => point(null)}>
            <b>${scoreText(line.score)}</b> ${line.san.join(' ')}
          </li>`)}
      </ol>
      <p class="small">${best ? `depth ${best.depth}, ${best.nodes.toLocaleString('en')} nodes` : nothing}</p>
    </section>`;
}
