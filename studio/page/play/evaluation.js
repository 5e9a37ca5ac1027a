/**
 * The evaluation: a bar beside the board, the best lines, and the root statistics.
 *
 * @import {AnalystSettings, MoveThought, Score, ThoughtLine, Thoughts} from '../types.js'
 * @import {Arrow} from './board.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { shownSan } from './settings.js';

/** Moves whose priors are drawn as arrows. */
const ARROWS = 6;

/** @param {Score} score */
export function scoreText(score) {
  if ('mate' in score) return score.mate < 0 ? `−#${-score.mate}` : `#${score.mate}`;
  const pawns = (Math.abs(score.cp) / 100).toFixed(2);
  return score.cp < 0 ? `−${pawns}` : `+${pawns}`;
}

/** An evaluation of a file, such as `0.31` or `#-3`. @param {string} text */
export function recordedScore(text) {
  const mate = /^#([+-]?\d+)/.exec(text);
  if (mate) return scoreText({ mate: Number(mate[1]) });
  const pawns = Number.parseFloat(text);
  return Number.isNaN(pawns) ? text : scoreText({ cp: Math.round(100 * pawns) });
}

/**
 * White's expected result from 0 to 100.
 *
 * @param {{score: Score, wdl: [number, number, number] | null}} line
 */
export function expected({ score, wdl }) {
  if (wdl) return (wdl[0] + wdl[1] / 2) / 10;
  if ('mate' in score) return score.mate > 0 ? 100 : 0;
  // Lichess's curve for engines without WDL.
  return 100 / (1 + Math.exp(-0.00368208 * score.cp));
}

/** @param {number} perMille */
function percent(perMille) {
  return `${Math.round(perMille / 10)} %`;
}

/** Visits in a few characters. @param {number} count */
export function visitsText(count) {
  if (count < 10_000) return count.toLocaleString('en');
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** A prior. @param {number} share */
export function priorText(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** A mean result. @param {number} q */
export function qText(q) {
  return `${q < 0 ? '−' : '+'}${Math.abs(q).toFixed(2)}`;
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
 * The evaluation, if it is that of this position.
 *
 * @param {Thoughts | null} thoughts
 * @param {number} node
 * @returns {Thoughts | null}
 */
export function evaluationAt(thoughts, node) {
  return thoughts?.node === node ? thoughts : null;
}

/**
 * The heat of each square, 1 to 5, by the sum of the priors of the moves to it.
 *
 * @param {MoveThought[]} moves
 * @returns {Map<string, number>}
 */
export function heatOf(moves) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { uci, prior } of moves) sums.set(uci.slice(2, 4), (sums.get(uci.slice(2, 4)) ?? 0) + prior);
  const levels = [0.005, 0.03, 0.1, 0.25, 0.5];
  const level = (/** @type {number} */ share) => levels.filter((bound) => share >= bound).length;
  return new Map([...sums].map(([square, share]) => /** @type {[string, number]} */ ([square, level(share)]))
    .filter(([, hot]) => hot > 0));
}

/**
 * The moves with the highest priors as arrows whose width shows the prior.
 *
 * @param {MoveThought[]} moves
 * @returns {Arrow[]}
 */
export function priorArrows(moves) {
  const best = [...moves].sort((a, b) => b.prior - a.prior).slice(0, ARROWS);
  return best.filter((move) => move.prior >= 0.01)
    .map((move) => ({ uci: move.uci, brush: 'paleBlue', width: 3 + 12 * move.prior }));
}

/**
 * The first moves of the lines of each engine as arrows: the best is broader, the second engine's are red.
 *
 * @param {(Thoughts | null)[]} engines
 * @returns {Arrow[]}
 */
export function lineArrows(engines) {
  return engines.slice(0, 2).flatMap((thoughts, number) => (thoughts?.lines ?? []).slice(0, ARROWS).map((line, rank) => (
    { uci: line.uci[0], brush: number === 0 ? 'paleGreen' : 'paleRed', width: rank === 0 ? 12 : 6 })));
}

/**
 * What the other side threatens.
 *
 * @param {Thoughts | null} threat
 * @param {boolean} isOn
 */
export function threatLine(threat, isOn) {
  if (!isOn) return nothing;
  const line = threat?.lines[0];
  return html`<p class="threat" role="status">Threat: ${line ? html`<b>${shownSan(line.san[0])}</b> ${scoreText(line.score)}`
    : threat?.done === false ? '…' : 'none can be shown here'}</p>`;
}

/** @param {number} nodes */
export function nodesText(nodes) {
  return `${nodes.toLocaleString('en')} ${nodes === 1 ? 'node' : 'nodes'}`;
}

/** @param {AnalystSettings} settings @param {Thoughts | null} thoughts @param {boolean} isHeld the lines are */
function progressText({ paused }, thoughts, isHeld) {
  const best = thoughts?.lines[0];
  const state = paused ? 'stopped' : thoughts?.done ? 'done' : isHeld ? 'held' : '';
  return [best ? `depth ${best.depth}, ${nodesText(best.nodes)}` : '', state].filter(Boolean).join(', ');
}

/**
 * The lines of an engine.
 *
 * @param {Thoughts | null} latest the evaluation of the position on the board
 * @param {Thoughts | null} held the one whose lines stand still
 * @param {object} state
 * @param {string} state.name of the engine
 * @param {AnalystSettings} state.settings
 * @param {boolean} state.isOneOfTwo
 * @param {boolean} state.isFinal there is nothing to evaluate
 * @param {boolean} state.waits other boards are analysed
 * @param {boolean} state.isElsewhere another tab has another position analysed
 * @param {object} on
 * @param {(line: ThoughtLine | null) => void} on.follow shows a line on the board
 * @param {(line: ThoughtLine, index: number) => void} on.look shows the position after a move of a line
 * @param {(isHeld: boolean) => void} on.hold lets the lines stand still, or not
 * @param {(moves: string[]) => void} on.play adds the line's moves up to here
 * @param {() => void} on.analyse has this position analysed
 * @param {() => void} on.pause stops the search, or goes on
 * @param {() => void} on.setUp
 */
export function evaluationLines(latest, held, { name, settings, isOneOfTwo, isFinal, waits, isElsewhere }, { follow, look, hold, play, analyse, pause, setUp }) {
  const now = held ?? latest;
  const lines = now?.lines ?? [];
  const best = lines[0];
  const wdl = best?.wdl;
  const numbers = (/** @type {ThoughtLine} */ line) => now?.moves.find((move) => move.uci === line.uci[0]);
  return html`
    <section class="evaluation" aria-label="Evaluation of ${name}">
      <p class="wdl">${isOneOfTwo ? html`<b>${name}</b> ` : nothing}${wdl
        ? html`White ${percent(wdl[0])}, draw ${percent(wdl[1])}, Black ${percent(wdl[2])}`
        : best ? nothing : isFinal ? 'The game is over here: there is nothing to evaluate.' : isElsewhere
          ? html`Another tab looks at another position.
            <button type="button" class="link" @click=${analyse}>Analyse this one</button>`
          : waits ? 'Four other boards are analysed. This one waits until that ends on one of them.'
          : settings.paused ? 'Stopped.' : 'Thinking …'}</p>
      <ol @pointermove=${(/** @type {PointerEvent} */ { pointerType }) => hold(pointerType === 'mouse')} @pointerleave=${() => hold(false)}>
        ${lines.map((line) => {
          const known = numbers(line);
          return html`
            <li tabindex="0" @mouseenter=${() => follow(line)} @mouseleave=${() => follow(null)}
                @focus=${() => follow(line)} @blur=${() => follow(null)}
                @keydown=${(/** @type {KeyboardEvent} */ event) => event.key === 'Enter' && play(line.uci.slice(0, 1))}>
              <b>${scoreText(line.score)}</b> <span class="npq">${known
                ? html`<abbr title="visits">N</abbr> ${visitsText(known.visits)}
                  <abbr title="prior">P</abbr> ${priorText(known.prior)}
                  <abbr title="mean result for the side to move">Q</abbr> ${qText(known.q)}` : nothing}</span>
              ${line.san.map((san, index) => html`<span class="line-move"
                @mouseenter=${() => look(line, index)} @click=${() => play(line.uci.slice(0, index + 1))}>${shownSan(san)}</span> `)}
            </li>`;
        })}
      </ol>
      <p class="small engine"><span>${name}: ${progressText(settings, latest, held !== null)}</span>
        <span><button type="button" class="link" aria-label="${settings.paused ? 'Go on with' : 'Stop'} ${name}" ?disabled=${!settings.paused && latest?.done}
          @click=${pause}>${settings.paused ? 'Go on' : 'Stop'}</button>
        <button type="button" class="link" aria-label="Set up ${name}" @click=${setUp}>Set up …</button></span></p>
    </section>`;
}
