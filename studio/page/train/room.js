/**
 * The room of training runs.
 *
 * @import {Curves, LiveBoard, Run, RunDetails} from '../types.js'
 * @import {NamedRun} from './charts.js'
 */
import { BoardGrid } from '../boards.js';
import { act, curves as getCurves, runDetails } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { calibration } from './calibration.js';
import { runCard } from './card.js';
import { boundKey, drawChart, loadPlot, merged, plan } from './charts.js';
import { rlDetails } from './rl.js';

/** Per curve: about one per pixel. */
const POINTS = 500;

/** Between two readings of the curves. */
const REFRESH_MS = 2000;

const QUESTIONS = {
  pause: {
    title: 'Pause this run?',
    text: 'The trainer finishes its present step, writes a checkpoint and ends. Nothing is lost; going on continues from there.',
    yes: 'Pause it',
  },
  resume: {
    title: 'Go on with this run?',
    text: 'philidor-trainer is started again with --resume, and ends when the paused run would have ended. Its output goes '
      + 'to studio.log in the run\'s folder. Make sure that no other trainer works in this folder.',
    yes: 'Go on',
  },
};

export class TrainRoom {
  #root;
  /** @type {Run[]} */
  #runs = [];
  /** @type {number} */
  #chosen = 0;
  /** Further runs with curves. @type {Set<number>} */
  #compared = new Set();
  /** Curves of the chosen and the compared runs. @type {NamedRun[]} */
  #curves = [];
  /** @type {RunDetails | null} */
  #details = null;
  /** The command that waits for confirmation. @type {{run: Run, command: 'pause' | 'resume'} | null} */
  #question = null;
  /** @type {string | null} */
  #error = null;
  #isShown = false;
  #isReading = false;
  /** The runs and their state when the curves were read. */
  #read = '';
  /** @type {BoardGrid | null} */
  #grid = null;

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

  /** @param {Record<string, LiveBoard>} boards */
  receiveBoards(boards) {
    if (this.#isShown) this.#grid?.receive(boards);
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.#isShown = isShown;
    if (!isShown) this.#grid?.show([]);
    this.#draw();
    this.#read = '';
    this.#refresh();
  }

  /** @param {number} id */
  #choose(id) {
    this.#chosen = id;
    this.#curves = [];
    this.#details = null;
    this.#draw();
    this.#refresh();
  }

  /** @param {number} id @param {boolean} isCompared */
  #compare(id, isCompared) {
    if (isCompared) this.#compared.add(id);
    else this.#compared.delete(id);
    this.#draw();
    this.#refresh();
  }

  /** @param {Run} run @param {'pause' | 'keep' | 'resume'} command */
  async #act(run, command) {
    this.#error = await act({ do: command }, `runs/${run.id}`);
    this.#question = null;
    this.#draw();
  }

  /** Reads the curves if they have grown. */
  async #refresh() {
    const run = this.#runs[this.#chosen];
    if (!run || !this.#isShown || this.#isReading) return;
    const wanted = [run, ...this.#runs.filter((other) => this.#compared.has(other.id) && other.id !== run.id)];
    const state = wanted.map(({ id, lines, stage }) => `${id} ${lines} ${stage}`).join();
    if (state === this.#read) return;
    this.#isReading = true;
    const [details, ...curves] = await Promise.all([runDetails(run.id), ...wanted.map(({ id }) => getCurves(id, POINTS))]);
    this.#isReading = false;
    if (this.#chosen !== run.id || curves.some((read) => !read)) return;
    this.#details = details;
    this.#curves = wanted.map(({ name }, index) => ({ name, curves: this.#withBounds(/** @type {Curves} */ (curves[index]), index) }));
    this.#read = state;
    this.#draw();
    await this.#drawCharts();
  }

  /** Adds the bounds of the KL divergence as curves. @param {Curves} curves @param {number} index @returns {Curves} */
  #withBounds(curves, index) {
    const rl = this.#details?.rl;
    const kl = curves.kl?.[0];
    if (!rl || !kl || index > 0) return curves;
    const ends = [kl[0], kl[kl.length - 1]];
    /** @type {Curves} */
    const bounds = {};
    for (const [which, bound] of Object.entries({ warn: rl.kl_warn, alarm: rl.kl_alarm })) {
      // A huge bound stands for none.
      if (bound !== null && bound < 1000) bounds[boundKey(which)] = [ends, [bound, bound]];
    }
    return { ...curves, ...bounds };
  }

  async #drawCharts() {
    if (this.#curves.length === 0 || !this.#isShown) return;
    const x = this.#runs[this.#chosen]?.kind === 'rl' ? 'iteration' : 'step';
    const Plot = await loadPlot();
    const curves = merged(this.#curves);
    for (const chart of plan(this.#curves)) {
      const element = this.#root.querySelector(`[data-chart="${chart.title}"]`);
      if (element instanceof HTMLElement) drawChart(Plot, element, chart, curves, x);
    }
  }

  #draw() {
    if (!this.#isShown) return;
    const help = html`<p>No training run is followed. Start the studio with <code>--run</code> and the run's folder, as in
      <code>philidor-studio --run runs/first</code>.</p>`;
    const boards = this.#runs[this.#chosen]?.boards ?? [];
    render(html`
      <h2>Training runs</h2>
      ${this.#runs.length === 0 ? help : nothing}
      <p class="error" role="alert">${this.#error ?? nothing}</p>
      <div class="runs">${this.#runs.map((run) => runCard(run, run.id === this.#chosen, this.#compared.has(run.id), {
        choose: (id) => this.#choose(id),
        compare: (id, isCompared) => this.#compare(id, isCompared),
        act: (of, command) => {
          if (command === 'keep') this.#act(of, command);
          else this.#question = { run: of, command };
          this.#draw();
        },
      }))}</div>
      <div class="charts">
        ${plan(this.#curves).map((chart) => html`
          <figure class="chart" data-chart=${chart.title}>
            <figcaption><h3>${chart.title}${chart.unit ? `, ${chart.unit}` : nothing}</h3></figcaption>
          </figure>`)}
      </div>
      ${boards.length > 0 ? html`<h3>Games that are being played now</h3>` : nothing}
      <div class="grid" id="run-boards"></div>
      ${this.#details?.rl ? rlDetails(this.#details.rl) : nothing}
      ${this.#details?.reliability ? calibration(this.#details.reliability) : nothing}
      ${this.#question ? this.#confirmation(this.#question) : nothing}`, this.#root);
    const grid = this.#root.querySelector('#run-boards');
    if (!this.#grid && grid instanceof HTMLElement) this.#grid = new BoardGrid(grid);
    this.#grid?.show(boards);
    const dialog = this.#root.querySelector('dialog');
    if (dialog && !dialog.open) dialog.showModal();
  }

  /** @param {{run: Run, command: 'pause' | 'resume'}} question */
  #confirmation({ run, command }) {
    const { title, text, yes } = QUESTIONS[command];
    const close = () => {
      this.#question = null;
      this.#draw();
    };
    return html`
      <dialog aria-labelledby="run-question" @close=${close}>
        <h2 id="run-question">${title}</h2>
        <p>${run.name}: ${text}</p>
        <div class="buttons">
          <button class="first" type="button" @click=${() => this.#act(run, command)}>${yes}</button>
          <button type="button" @click=${close}>Cancel</button>
        </div>
      </dialog>`;
  }
}
