/**
 * Score, Elo, pairs, SPRT and last games of a match.
 *
 * @import {FinishedGame, Standing} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** @param {Standing} standing of the first engine */
export function standingView({ games: [wins, draws, losses], pairs, elo, sprt }) {
  const played = wins + draws + losses;
  const points = wins + draws / 2;
  return html`
    <p class="score">${points} : ${played - points}</p>
    <p>${wins} won, ${draws} drawn, ${losses} lost${elo ? html`; Elo ${elo.replace('-', '−')}` : nothing}</p>
    ${sprt ? html`
      <p class="llr"><meter min=${sprt.lower} max=${sprt.upper} value=${Math.min(sprt.upper, Math.max(sprt.lower, sprt.llr))}
          aria-label="Log-likelihood ratio"></meter>
        LLR ${sprt.llr.toFixed(2).replace('-', '−')} between ${sprt.lower.toFixed(2).replace('-', '−')} and ${sprt.upper.toFixed(2)}</p>`
      : nothing}
    <p class="small">Pairs of games with 0, ½, 1, 1½ and 2 points: ${pairs.join(', ')}. ${elo
      ? 'The error is that of a 95 % interval.' : played === 0 ? 'Elo needs games.'
        : pairs.reduce((sum, count) => sum + count) < 2 ? 'Elo and its error need pairs that differ, so at least two.'
          : 'All of them ended alike: Elo and its error need results that differ.'}</p>`;
}

/** @param {FinishedGame[]} finished @param {(game: number) => void} [replay] */
export function finishedGames(finished, replay) {
  if (finished.length === 0) return nothing;
  return html`
    <table class="results">
      <thead><tr><th>White</th><th>Black</th><th>Opening</th><th>Result</th>${replay ? html`<th><span class="unseen">Replay</span></th>` : nothing}</tr></thead>
      <tbody>${[...finished].reverse().map((game) => html`
        <tr title=${game.text}><td>${game.white}</td><td>${game.black}</td><td>${game.opening}</td><td>${game.result}</td>
          ${replay ? html`<td><button type="button" class="link" aria-label="Replay game ${game.number + 1}"
            @click=${() => replay(game.number)}>Replay</button></td>` : nothing}</tr>`)}
      </tbody>
    </table>`;
}
