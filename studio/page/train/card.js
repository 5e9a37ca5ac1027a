/**
 * A run's card: its progress and its buttons.
 *
 * @import {Run} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';

/** By the key in the run's state. @type {Record<string, string>} */
const STAGES = { play: 'Self-play', train: 'Training', arena: 'Arena' };

/** @param {string} stage as in "play, iteration 3" */
function stageText(stage) {
  const [key, ...rest] = stage.split(', ');
  return [STAGES[key] ?? key, ...rest].join(', ');
}

/** @param {number} seconds */
export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** @param {number | null} value */
export function number(value) {
  return value === null ? '–' : value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(4)));
}

/**
 * @typedef {object} CardActions
 * @property {(id: number) => void} choose
 * @property {(id: number, compared: boolean) => void} compare
 * @property {(run: Run, command: 'pause' | 'keep' | 'resume' | 'cancel') => void} act
 */

/**
 * @param {Run} run
 * @param {boolean} isChosen
 * @param {boolean} isCompared
 * @param {CardActions} on
 */
export function runCard(run, isChosen, isCompared, on) {
  const isRl = run.kind === 'rl';
  const age = run.modified_s === null ? null : Math.max(0, Date.now() / 1000 - run.modified_s);
  /** @param {string} name @param {unknown} value */
  const row = (name, value) => html`<dt>${name}</dt><dd>${value}</dd>`;
  /** @param {string} name @param {number | null} value */
  const known = (name, value) => (value === null ? nothing : row(name, number(value)));
  return html`
    <section class="run" aria-label="Run ${run.name}">
      <h3>${run.name}</h3>
      ${run.failure ? html`<p class="notice">The trainer has failed: ${run.failure}</p>` : nothing}
      ${run.problem ? html`<p>${run.problem}</p>` : html`
        <dl>
          ${row(isRl ? 'Iterations' : 'Steps', number(run.done))}
          ${run.stage ? row('Now', stageText(run.stage)) : nothing}
          ${run.samples === null ? nothing : row('Samples', run.total_samples
            ? `${number(run.samples)} of ${number(run.total_samples)}` : number(run.samples))}
          ${known('Samples per second', run.samples_per_s)}
          ${known('Positions an hour', run.positions_per_h)}
          ${known('Positions in the buffer', run.buffer)}
          ${known('Learning rate', run.lr)}
          ${run.kl === null ? nothing : row('KL', html`${number(run.kl)}${run.kl_state
            ? html` <b class=${run.kl_state}>${run.kl_state}</b>` : nothing}`)}
          ${run.time_s === null ? nothing : row('Time', duration(run.time_s))}
          ${run.finished ? row('State', 'finished') : run.cancelled ? row('State', 'cancelled') : run.stopped ? row('State', 'paused or ended') : run.quiet ? row('State', 'paused or ended: no reports') : nothing}
          ${run.finished || run.cancelled || run.seconds_left === null ? nothing
            : row(run.quiet ? 'Left when it goes on' : 'Time left', run.seconds_left < 1 ? 'done' : duration(run.seconds_left))}
          ${age === null ? nothing : row('Last report', `${duration(age)} ago`)}
        </dl>
        ${run.samples !== null && run.total_samples ? html`
          <progress aria-label="Progress of ${run.name}" max=${run.total_samples} value=${run.samples}></progress>` : nothing}
        ${run.read < 1 ? html`<p class="small">Reading: ${Math.floor(100 * run.read)} %.</p>` : nothing}
        ${run.damaged > 0 ? html`<p class="small">${run.damaged} damaged lines of metrics.jsonl were left out.</p>` : nothing}
        ${run.control === 'stopping' && !run.cancelled && !run.finished ? html`<p class="small">Asked to stop: the trainer ends after its present step, and
          removes the file “stop” from the run's folder.</p>` : nothing}`}
      <div class="buttons">
        <button type="button" aria-pressed=${isChosen ? 'true' : 'false'} @click=${() => on.choose(run.id)}>Show its curves</button>
        <label class="inline"><input type="checkbox" ?checked=${isCompared}
          @change=${(/** @type {Event} */ event) => on.compare(run.id, /** @type {HTMLInputElement} */ (event.target).checked)}>
          compare</label>
        ${run.problem && run.control === 'free' && run.boards.length === 0 ? nothing : html`
          ${run.control === 'stopping'
            ? html`<button type="button" @click=${() => on.act(run, 'keep')}>Do not stop</button>`
            : html`<button type="button" ?disabled=${run.finished || run.stopped} @click=${() => on.act(run, 'pause')}>Pause …</button>
              <button type="button" ?disabled=${!run.can_resume || run.control === 'started'} @click=${() => on.act(run, 'resume')}>Go on …</button>
              ${run.finished || run.cancelled ? nothing : html`<button type="button" @click=${() => on.act(run, 'cancel')}>Cancel …</button>`}`}
          <a class="file" href="/api/runs/${run.id}/metrics" download>Download</a>`}
      </div>
    </section>`;
}
