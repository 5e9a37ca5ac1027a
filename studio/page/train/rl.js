/**
 * An `rl` run beyond its curves: ratings, arena tables, vetoes.
 *
 * @import {ArenaRow, RatedNetwork, RlDetails} from '../types.js'
 */
import { html, nothing, svg } from '../vendor/lit-html.js';

/** Networks in the plot. */
const PLOTTED = 40;

/** Iterations in the table. */
const LISTED = 60;

/** A network's name in words. @param {string} name `start`, or the number of an iteration */
function networkName(name) {
  if (name === 'start') return 'first network';
  return /^\d+$/.test(name) ? `iteration ${Number(name)}` : name;
}

/** @type {Record<string, string>} */
export const OPPONENTS = { best: 'best network so far', older: 'older networks', start: 'first network' };

/** @param {number} value with a sign */
function signed(value) {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(0)}`;
}

/**
 * Elo of every network with its 95 % interval, in the order of the iterations.
 *
 * @param {RatedNetwork[]} ratings
 */
function ratingsPlot(ratings) {
  const networks = ratings.filter(({ name }) => /^(start|\d+)$/.test(name))
    .sort((a, b) => (a.name === 'start' ? -1 : b.name === 'start' ? 1 : Number(a.name) - Number(b.name))).slice(-PLOTTED);
  if (networks.length === 0) return nothing;
  const low = Math.min(...networks.map(({ elo, error }) => elo - error));
  const high = Math.max(...networks.map(({ elo, error }) => elo + error));
  const span = Math.max(1, high - low);
  const y = (/** @type {number} */ elo) => 10 + 160 * (1 - (elo - low) / span);
  const x = (/** @type {number} */ index) => 50 + 540 * (index + 0.5) / networks.length;
  const words = networks.map(({ name, elo, error }) => `${networkName(name)} ${signed(elo)} ± ${error.toFixed(0)}`).join(', ');
  return html`
    <svg class="ratings" viewBox="0 0 600 200" role="img" aria-label="Elo: ${words}">
      <line x1="50" x2="595" y1=${y(0)} y2=${y(0)} class="half"></line>
      <text x="44" y=${y(high) + 4} text-anchor="end">${signed(high)}</text>
      <text x="44" y=${y(low) + 4} text-anchor="end">${signed(low)}</text>
      ${networks.map(({ name, elo, error }, index) => svg`
        <g><title>${networkName(name)}: ${signed(elo)} ± ${error.toFixed(0)}</title>
          <line x1=${x(index)} x2=${x(index)} y1=${y(elo - error)} y2=${y(elo + error)}></line>
          <circle cx=${x(index)} cy=${y(elo)} r="4"></circle>
          ${networks.length <= 20 || index % 5 === 0 ? svg`<text x=${x(index)} y="195" text-anchor="middle">${name.replace(/^0+/, '')}</text>` : nothing}
        </g>`)}
    </svg>`;
}

/** @param {ArenaRow} row */
function matchWords({ against, games: [wins, draws, losses], score, elo }) {
  return html`<td>${OPPONENTS[against] ?? networkName(against)}</td><td>${wins} won, ${draws} drawn, ${losses} lost</td><td>${score.toFixed(0)} %</td><td>${elo}</td>`;
}

/** @param {RlDetails} rl */
export function rlDetails(rl) {
  const rated = [...rl.ratings].sort((a, b) => b.elo - a.elo);
  const measures = rl.escalation?.level ? rl.escalation : null;
  return html`
    <section class="rl" aria-label="Networks">
      <h3>Elo of the networks</h3>
      <p class="small">Best so far: ${networkName(rl.best)}; in training: ${networkName(rl.current)}. The intervals are 95 %, and the first network is 0.</p>
      ${ratingsPlot(rl.ratings)}
      ${measures ? html`<p class="notice">After ${measures.streak ?? 0} vetoes in a row, measures of level ${measures.level} are in
        force for ${measures.left ?? 0} iterations; learning rate × ${(measures.lr_factor ?? 1).toFixed(2)}.</p>` : nothing}
      ${rl.playing.length > 0 ? html`
        <h3>Being played</h3>
        <table class="results"><tbody>${rl.playing.map((row) => html`<tr>${matchWords(row)}</tr>`)}</tbody></table>` : nothing}
      <details>
        <summary>Ratings</summary>
        <table class="results">
          <thead><tr><th>Player</th><th>Elo</th><th>Games</th></tr></thead>
          <tbody>${rated.map(({ name, elo, error, games }) => html`
            <tr><td>${networkName(name)}</td><td>${signed(elo)} ± ${error.toFixed(0)}</td><td>${games}</td></tr>`)}</tbody>
        </table>
      </details>
      ${rl.vetoes.length > 0 ? html`
        <h3>Vetoes</h3>
        <ul>${[...rl.vetoes].reverse().map(([iteration, worse]) => html`<li>Iteration ${iteration}: worse in ${worse}.</li>`)}</ul>` : nothing}
      <details ?open=${rl.iterations.length > 0}>
        <summary>Arena</summary>
        <div class="scrolled" tabindex="0" role="region" aria-label="Arena results">
          <table class="results arena">
            <thead><tr><th>Iteration</th><th>Verdict</th><th>Against</th><th>Games</th><th>Score</th><th>Elo</th></tr></thead>
            <tbody>${rl.iterations.slice(-LISTED).reverse().map(({ iteration, verdict, rows }) => rows.map((row, index) => html`
              <tr>${index === 0 ? html`<th scope="rowgroup" rowspan=${rows.length}>${iteration}</th>
                <td rowspan=${rows.length} class=${verdict}>${verdict}</td>` : nothing}${matchWords(row)}</tr>`))}</tbody>
          </table>
        </div>
      </details>
    </section>`;
}
