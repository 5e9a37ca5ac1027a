/**
 * The room in which one watches training runs.
 *
 * @import {Curves, Run} from '../types.js'
 */
import { curves as getCurves } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { drawChart, loadPlot, plan } from './charts.js';

/** Points of a curve: about as many as a chart has pixels. */
const POINTS = 500;

/** Milliseconds between two readings of the curves. */
const REFRESH_MS = 2000;

/** @param {number} seconds */
function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number | null} value */
function number(value) {
  return value === null ? '–' : value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(4)));
}

export class TrainRoom {
  #root;
  /** @type {Run[]} */
  #runs = [];
  /** @type {number} */
  #chosen = 0;
  /** @type {Curves | null} */
  #curves = null;
  #isShown = false;
  #isReading = false;
  /** What the curves on the page were read of. */
  #read = '';

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    setInterval(() => this.#refresh(), REFRESH_MS);
    addEventListener('resize', () => this.#drawCharts());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#drawCharts());
  }

  /** @param {Run[]} runs */
  receive(runs) {
    this.#runs = runs;
    this.#draw();
    if (this.#read === '') this.#refresh();
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.#isShown = isShown;
    this.#draw();
    this.#read = '';
    this.#refresh();
  }

  /** @param {number} id */
  #choose(id) {
    this.#chosen = id;
    this.#curves = null;
    this.#draw();
    this.#refresh();
  }

  /** Reads the curves of the chosen run, if they have grown. */
  async #refresh() {
    const run = this.#runs[this.#chosen];
    const state = `${run?.id} ${run?.lines}`;
    if (!run || !this.#isShown || this.#isReading || state === this.#read) return;
    this.#isReading = true;
    const curves = await getCurves(run.id, POINTS);
    this.#isReading = false;
    if (!curves || this.#chosen !== run.id) return;
    this.#curves = curves;
    this.#read = state;
    this.#draw();
    await this.#drawCharts();
  }

  async #drawCharts() {
    const curves = this.#curves;
    if (!curves || !this.#isShown) return;
    const x = this.#runs[this.#chosen]?.kind === 'rl' ? 'iteration' : 'step';
    const Plot = await loadPlot();
    for (const chart of plan(curves)) {
      const element = this.#root.querySelector(`[data-chart="${chart.title}"]`);
      if (element instanceof HTMLElement) drawChart(Plot, element, chart, curves, x);
    }
  }

  #draw() {
    if (!this.#isShown) return;
    const help = html`<p>No training run is followed. Start the studio with <code>--run</code> and the run's folder, as in
      <code>philidor-studio --run runs/first</code>.</p>`;
    render(html`
      <h2>Training runs</h2>
      ${this.#runs.length === 0 ? help : nothing}
      <div class="runs">${this.#runs.map((run) => this.#run(run))}</div>
      <div class="charts">
        ${this.#curves ? plan(this.#curves).map((chart) => html`
          <figure class="chart" data-chart=${chart.title}>
            <figcaption><h3>${chart.title}${chart.unit ? `, ${chart.unit}` : nothing}</h3></figcaption>
          </figure>`) : nothing}
      </div>`, this.#root);
  }

  /** @param {Run} run */
  #run(run) {
    const isRl = run.kind === 'rl';
    const age = run.modified_s === null ? null : Math.max(0, Date.now() / 1000 - run.modified_s);
    /** @param {string} name @param {string} value */
    const row = (name, value) => html`<dt>${name}</dt><dd>${value}</dd>`;
    return html`
      <section class="run" aria-label="Run ${run.name}">
        <h3>${run.name}</h3>
        ${run.problem ? html`<p>${run.problem}</p>` : html`
          <dl>
            ${row(isRl ? 'Iterations' : 'Steps', number(run.done))}
            ${run.samples === null ? nothing : row('Samples', run.total_samples
              ? `${number(run.samples)} of ${number(run.total_samples)}` : number(run.samples))}
            ${run.samples_per_s === null ? nothing : row('Samples per second', number(run.samples_per_s))}
            ${run.lr === null ? nothing : row('Learning rate', number(run.lr))}
            ${run.time_s === null ? nothing : row('Time', duration(run.time_s))}
            ${run.seconds_left === null ? nothing : row('Time left', run.seconds_left < 1 ? 'done' : duration(run.seconds_left))}
            ${age === null ? nothing : row('Last report', `${duration(age)} ago`)}
          </dl>
          ${run.samples !== null && run.total_samples ? html`
            <progress aria-label="Progress of ${run.name}" max=${run.total_samples} value=${run.samples}></progress>` : nothing}
          ${run.damaged > 0 ? html`<p class="small">${run.damaged} damaged lines of metrics.jsonl were left out.</p>` : nothing}`}
        <button type="button" aria-pressed=${run.id === this.#chosen ? 'true' : 'false'}
          @click=${() => this.#choose(run.id)}>Show its curves</button>
      </section>`;
  }
}
