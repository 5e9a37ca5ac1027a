/**
 * The room of training runs.
 *
 * @import {Values} from '../memory.js'
 * @import {Curves, LiveBoard, Load, Run, RunDetails} from '../types.js'
 * @import {Axis, NamedRun} from './charts.js'
 */
import { BoardGrid } from '../boards.js';
import { recall, remember, valuesOf } from '../memory.js';
import { act, curves as getCurves, machineLoad, runDetails } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { calibration } from './calibration.js';
import { runCard } from './card.js';
import { ChartBoard, arenaCurves, axisOf, boundKey, drawn, gatesOf, loadPlot, merged, placeOn, plan } from './charts.js';
import { loadView } from './load.js';
import { rlDetails } from './rl.js';
import { StartForm } from './start.js';

/** Per curve: about one per pixel. */
const POINTS = 500;

/** Between two readings of the curves. */
const REFRESH_MS = 2000;

/** Time constants of the smoothing, as shares of the run. */
const SMOOTHINGS = [0, 0.005, 0.01, 0.02, 0.05, 0.1];

/** Names of the axes; a step of `rl` is an iteration. @type {Record<Axis, string>} */
const AXES = { step: 'step', time_s: 'hours', samples: 'samples' };

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
  cancel: {
    title: 'Cancel this run?',
    text: 'If its trainer runs, it ends as for a pause. The run is marked as cancelled, and its files stay; going on takes the mark away.',
    yes: 'Cancel the run',
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
  /** The same, smoothed. @type {NamedRun[] | null} */
  #smoothed = null;
  #charts = new ChartBoard();
  /** How the charts are drawn. @type {Values} */
  #settings = recall('charts');
  /** @type {RunDetails | null} */
  #details = null;
  /** @type {Load | null} */
  #load = null;
  /** The command that waits for confirmation. @type {{run: Run, command: 'pause' | 'resume' | 'cancel'} | null} */
  #question = null;
  /** @type {string | null} */
  #error = null;
  #isShown = false;
  #isReading = false;
  /** The runs and their state when the curves were read. */
  #read = '';
  /** @type {BoardGrid | null} */
  #grid = null;
  #start = new StartForm(() => this.#draw(), (run) => this.#choose(run));

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    setInterval(() => {
      this.#refresh();
      this.#measure();
    }, REFRESH_MS);
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
    this.#measure();
  }

  async #measure() {
    if (!this.#isShown || document.hidden) return;
    this.#load = await machineLoad();
    this.#draw();
  }

  /** @param {number} id */
  #choose(id) {
    this.#chosen = id;
    this.#curves = [];
    this.#smoothed = null;
    this.#details = null;
    this.#draw();
    this.#refresh();
  }

  /** @param {HTMLFormElement} form */
  #set(form) {
    this.#settings = valuesOf(form, this.#settings);
    remember('charts', this.#settings);
    this.#draw();
    this.#drawCharts();
    this.#refresh();
  }

  get #smoothing() {
    return SMOOTHINGS.find((share) => String(share) === this.#settings.smoothing) ?? 0;
  }

  /** @returns {Axis} */
  get #axis() {
    return this.#settings.axis === 'time_s' || this.#settings.axis === 'samples' ? this.#settings.axis : 'step';
  }

  /** @param {number} id @param {boolean} isCompared */
  #compare(id, isCompared) {
    if (isCompared) this.#compared.add(id);
    else this.#compared.delete(id);
    this.#draw();
    this.#refresh();
  }

  /** @param {Run} run @param {'pause' | 'keep' | 'resume' | 'cancel'} command */
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
    const smoothing = this.#smoothing;
    const state = wanted.map(({ id, lines, stage }) => `${id} ${lines} ${stage}`).join() + smoothing;
    if (state === this.#read) return;
    this.#isReading = true;
    const curvesOf = (/** @type {number} */ share) => Promise.all(wanted.map(({ id }) => getCurves(id, POINTS, share)));
    const [details, curves, smoothed] = await Promise.all([runDetails(run.id), curvesOf(0), smoothing > 0 ? curvesOf(smoothing) : null]);
    this.#isReading = false;
    if (this.#chosen !== run.id || curves.some((read) => !read)) return;
    this.#details = details;
    const named = (/** @type {(Curves | null)[]} */ read) => wanted.map(({ name }, index) => ({ name, curves: read[index] ?? {} }));
    this.#curves = named(curves.map((read, index) => this.#withOwn(read ?? {}, index)));
    this.#smoothed = smoothed && named(smoothed);
    this.#read = state;
    this.#draw();
    await this.#drawCharts();
  }

  /** Adds the arena, and the bounds of the KL divergence, as curves of the chosen run. @param {Curves} curves @param {number} index @returns {Curves} */
  #withOwn(curves, index) {
    const rl = this.#details?.rl;
    if (!rl || index > 0) return curves;
    const kl = curves.kl?.[0] ?? [];
    const ends = [kl[0], kl[kl.length - 1]];
    /** @type {Curves} */
    const bounds = {};
    for (const [which, bound] of Object.entries({ warn: rl.kl_warn, alarm: rl.kl_alarm })) {
      // A huge bound stands for none.
      if (kl.length > 0 && bound !== null && bound < 1000) bounds[boundKey(which)] = [ends, [bound, bound]];
    }
    return { ...curves, ...bounds, ...arenaCurves(rl) };
  }

  async #drawCharts() {
    if (this.#curves.length === 0 || !this.#isShown) return;
    const isRl = this.#runs[this.#chosen]?.kind === 'rl';
    const Plot = await loadPlot();
    const axis = axisOf(this.#curves, this.#axis);
    const settings = { axis, logX: Boolean(this.#settings.log_x), logY: Boolean(this.#settings.log_y) };
    const ready = (/** @type {NamedRun[]} */ runs) => merged(runs.map(({ name, curves }, index) => (
      { name, curves: drawn(curves, placeOn(this.#curves[index].curves, axis), settings) })));
    const rl = this.#details?.rl;
    const place = placeOn(this.#curves[0].curves, axis);
    const drawing = {
      curves: ready(this.#curves),
      smoothed: this.#smoothed && ready(this.#smoothed),
      gates: rl ? gatesOf(rl).map(({ x, verdict }) => ({ x: place(x), verdict })) : [],
      x: axis === 'step' && isRl ? 'iteration' : AXES[axis],
      settings,
    };
    const elements = /** @type {HTMLElement[]} */ ([...this.#root.querySelectorAll('.chart')]);
    this.#charts.keep(elements);
    for (const chart of plan(this.#curves)) {
      const element = elements.find((figure) => figure.dataset.chart === chart.title);
      if (element) this.#charts.draw(Plot, element, chart, drawing);
    }
  }

  #draw() {
    if (!this.#isShown) return;
    const help = html`<p>There is no training run yet. The studio follows the runs that it is started with, as in
      <code>philidor-studio --run runs/first</code>, and those in its folder for runs, where the page starts new ones:
      <code>philidor-studio --runs runs</code>.</p>`;
    const boards = this.#runs[this.#chosen]?.boards ?? [];
    render(html`
      <h2>Training runs</h2>
      ${this.#load ? loadView(this.#load) : html`<p class="small load">This machine: …</p>`}
      ${this.#runs.length === 0 ? help : nothing}
      ${this.#start.view()}
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
      ${this.#curves.length > 0 ? this.#chartSettings() : nothing}
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

  #chartSettings() {
    const settings = this.#settings;
    const isKnown = (/** @type {string} */ axis) => axisOf(this.#curves, /** @type {Axis} */ (axis)) === axis;
    const percent = (/** @type {number} */ share) => `over ${100 * share} % of the run`;
    return html`
      <form class="buttons settings" aria-label="Charts" @change=${(/** @type {Event} */ event) =>
        this.#set(/** @type {HTMLFormElement} */ (event.currentTarget))}>
        <label class="inline">Smoothing
          <select name="smoothing">${SMOOTHINGS.map((share) => html`
            <option value=${share} ?selected=${share === this.#smoothing}>${share === 0 ? 'none' : percent(share)}</option>`)}</select></label>
        <label class="inline">Against
          <select name="axis">${Object.entries(AXES).map(([axis, name]) => html`
            <option value=${axis} ?selected=${axis === this.#axis}>${axis === 'step' ? 'steps' : name}${isKnown(axis) ? nothing : ' (not reported)'}</option>`)}</select></label>
        <label class="inline"><input type="checkbox" name="log_x" .checked=${Boolean(settings.log_x)}> logarithmic across</label>
        <label class="inline"><input type="checkbox" name="log_y" .checked=${Boolean(settings.log_y)}> logarithmic values</label>
      </form>`;
  }

  /** @param {{run: Run, command: 'pause' | 'resume' | 'cancel'}} question */
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
          <button type="button" @click=${close}>Back</button>
        </div>
      </dialog>`;
  }
}
