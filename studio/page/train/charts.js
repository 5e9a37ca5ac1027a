/**
 * The charts, their curves, and their drawing.
 *
 * @import {Curves, RlDetails} from '../types.js'
 */
import { OPPONENTS } from './rl.js';

/** @typedef {{title: string, unit: string, curves: [string, string][]}} ChartPlan keys and labels of curves */
/** @typedef {{name: string, curves: Curves}} NamedRun */
/** @typedef {'step' | 'time_s' | 'samples'} Axis what the charts are drawn against */
/** @typedef {{axis: Axis, logX: boolean, logY: boolean}} ChartSettings */
/** @typedef {{x: number, verdict: string}} Gate an iteration whose network was promoted or vetoed */

/** Distinct in light and dark, also for most of the colour-blind (Okabe and Ito 2008). */
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#cc79a7', '#56b4e9', '#8c8c00', '#7f7f7f'];

/** In pixels, without the legend. */
const HEIGHT = 220;

/** By the last part of a curve's name: title, unit. */
const CHARTS = /** @type {const} */ ([
  ['policy_loss', 'Policy loss', 'nat'],
  ['wdl_loss', 'WDL loss', 'nat'],
  ['top1', 'First move right', 'share'],
  ['top5', 'Among the first five', 'share'],
  ['lr', 'Learning rate', ''],
  ['samples_per_s', 'Samples per second', ''],
  ['kl', 'KL from the first network', 'nat'],
  ['buffer', 'Positions in the buffer', ''],
  ['positions_per_h', 'Positions of self-play an hour', ''],
  ['evaluations_per_s', 'Evaluations per second', ''],
  ['arena_score', 'Score in the arena', '%'],
  ['arena_elo', 'Elo by iteration', ''],
]);

/** Gates that the words of a chart name; a long run has hundreds. */
const SPOKEN_GATES = 3;

/** Pointing at a chart points at the same place of all. */
const SYNC = { key: 'runs', scales: /** @type {[string, null]} */ (['x', null]) };

/** The name of the curve of a KL bound. @param {string} which */
export function boundKey(which) {
  return `bound ${which}`;
}

/**
 * The curves of several runs, with the run's index in their names.
 *
 * @param {NamedRun[]} runs
 * @returns {Curves}
 */
export function merged(runs) {
  return Object.fromEntries(runs.flatMap(({ curves }, index) =>
    Object.entries(curves).map(([name, curve]) => [`${index} ${name}`, curve])));
}

/** Of which part of the data a curve is: `sources.paths`, `validation.phases.endgame`. @param {string} path */
function wordsOf(path) {
  return path.split('.').filter((part) => part !== 'phases').join(', ').replace(/^sources, /, 'source ').replaceAll('_', ' ');
}

/**
 * The charts that have curves: training before validation before sources, run after run.
 *
 * @param {NamedRun[]} runs
 * @returns {ChartPlan[]}
 */
export function plan(runs) {
  return CHARTS.flatMap(([key, title, unit]) => {
    const found = runs.flatMap(({ name: run, curves }, index) => {
      const names = Object.keys(curves).filter((name) => name === key || name.endsWith(`.${key}`));
      const order = (/** @type {string} */ name) => (name === key ? 0 : name === `validation.${key}` ? 1 : 2);
      names.sort((a, b) => order(a) - order(b) || a.localeCompare(b));
      const bounds = key === 'kl' ? ['warn', 'alarm'].map(boundKey).filter((name) => name in curves) : [];
      const label = (/** @type {string} */ name) => {
        const own = name.startsWith('bound ') ? name.slice(6) : name === key ? 'training'
          : wordsOf(name.slice(0, -key.length - 1));
        return runs.length > 1 ? `${run}: ${own}` : own;
      };
      return [...names, ...bounds].map((name) => /** @type {[string, string]} */ ([`${index} ${name}`, label(name)]));
    });
    // Too many curves are cut, so the runs' training curves come first.
    if (runs.length > 1) found.sort((a, b) => Number(a[0].includes('.')) - Number(b[0].includes('.')));
    return found.length === 0 ? [] : [{ title, unit, curves: found.slice(0, COLOURS.length) }];
  });
}

/**
 * The arena of an `rl` run as curves: the score against each opponent, and the networks' Elo.
 *
 * @param {RlDetails} rl
 * @returns {Curves}
 */
export function arenaCurves(rl) {
  /** @type {Curves} */
  const curves = {};
  for (const { iteration, rows } of rl.iterations) {
    for (const { against, score } of rows) {
      const curve = curves[`${OPPONENTS[against] ?? against}.arena_score`] ??= [[], []];
      curve[0].push(iteration);
      curve[1].push(score);
    }
  }
  const rated = rl.ratings.filter(({ name }) => /^(start|\d+)$/.test(name))
    .map(({ name, elo }) => ({ at: name === 'start' ? 0 : Number(name), elo })).sort((a, b) => a.at - b.at);
  if (rated.length > 0) curves['networks.arena_elo'] = [rated.map(({ at }) => at), rated.map(({ elo }) => elo)];
  return curves;
}

/** @param {RlDetails} rl @returns {Gate[]} */
export function gatesOf(rl) {
  return rl.iterations.filter(({ verdict }) => verdict !== 'kept').map(({ iteration, verdict }) => ({ x: iteration, verdict }));
}

/**
 * The axis that was chosen, or steps if one of the runs does not report it.
 *
 * @param {NamedRun[]} runs
 * @param {Axis} chosen
 * @returns {Axis}
 */
export function axisOf(runs, chosen) {
  return runs.every(({ curves }) => curves[chosen]?.[1].some((value) => value !== null)) ? chosen : 'step';
}

/**
 * Where a step lies on the axis, which the curve of that name tells; steps outside it take its nearest end.
 *
 * @param {Curves} curves
 * @param {Axis} axis
 * @returns {(step: number) => number}
 */
export function placeOn(curves, axis) {
  if (axis === 'step') return (step) => step;
  const known = curves[axis];
  const [steps, values] = known ? [known[0].filter((_, i) => known[1][i] !== null), known[1].filter((y) => y !== null)] : [[], []];
  const unit = axis === 'time_s' ? 3600 : 1;
  return (step) => {
    const after = steps.findIndex((other) => other >= step);
    if (after <= 0) return (values[after === 0 ? 0 : values.length - 1] ?? 0) / unit;
    const share = (step - steps[after - 1]) / (steps[after] - steps[after - 1]);
    return (values[after - 1] + share * (values[after] - values[after - 1])) / unit;
  };
}

/**
 * The curves as they are drawn: at their places on the axis, and without what a logarithm cannot show.
 *
 * @param {Curves} curves
 * @param {(step: number) => number} place
 * @param {{logX: boolean, logY: boolean}} settings
 * @returns {Curves}
 */
export function drawn(curves, place, { logX, logY }) {
  return Object.fromEntries(Object.entries(curves).map(([name, [steps, y]]) => {
    const points = steps.map((step, i) => /** @type {[number, number | null]} */ ([place(step), y[i]]))
      .filter(([x]) => !logX || x > 0);
    const shown = (/** @type {number | null} */ value) => (logY && value !== null && value <= 0 ? null : value);
    return [name, [points.map(([x]) => x), points.map(([, value]) => shown(value))]];
  }));
}

/** uPlot is a plain script. @returns {Promise<typeof import('uplot')>} */
export function loadPlot() {
  const loaded = /** @type {any} */ (window).uPlot;
  if (loaded) return Promise.resolve(loaded);
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = 'vendor/uPlot.iife.min.js';
    script.onload = () => resolve(/** @type {any} */ (window).uPlot);
    script.onerror = reject;
    document.head.append(script);
  });
}

/** The last measured value. @param {[number[], (number | null)[]]} curve */
function last([, y]) {
  return y.findLast((value) => value !== null);
}

/** @param {number | null | undefined} value */
function short(value) {
  if (value === null || value === undefined) return '–';
  if (Math.abs(value) >= 1_000_000) return `${Number((value / 1_000_000).toPrecision(4))}M`;
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(4)));
}

/** By verdict. @type {Record<string, string>} */
const GATES = { promoted: '#009e73', vetoed: '#d55e00' };

/** @param {Gate[]} gates */
function gateLines(gates) {
  return (/** @type {import('uplot')} */ plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.setLineDash([4, 4]);
    for (const { x, verdict } of gates) {
      const left = plot.valToPos(x, 'x', true);
      if (left < bbox.left || left > bbox.left + bbox.width) continue;
      ctx.strokeStyle = GATES[verdict] ?? '#7f7f7f';
      ctx.beginPath();
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
}

/**
 * The ends of the axis that all charts share; null without curves.
 *
 * @param {Curves} curves
 * @returns {[number, number] | null}
 */
export function extentOf(curves) {
  const ends = Object.values(curves).filter(([x]) => x.length > 0).map(([x]) => [x[0], x[x.length - 1]]);
  return ends.length === 0 ? null : [Math.min(...ends.map(([low]) => low)), Math.max(...ends.map(([, high]) => high))];
}

/** @typedef {{curves: Curves, smoothed: Curves | null, gates: Gate[], x: string, settings: ChartSettings}} Drawing */
/** @typedef {{ends: [number, number] | null}} Extent of the axis, as it is now */

/**
 * What a chart shows, in words.
 *
 * @param {ChartPlan} chart
 * @param {Drawing} drawing
 */
export function chartWords(chart, { curves, smoothed, gates }) {
  const shown = smoothed ?? curves;
  const words = chart.curves.map(([name, label]) => `${label} ${short(last(shown[name] ?? curves[name]))}`).join(', ');
  const passed = gates.slice(-SPOKEN_GATES).map(({ x, verdict }) => `${verdict} at ${short(x)}`).join(', ');
  const all = gates.length > SPOKEN_GATES ? `${gates.length} gates, the last ${passed}` : passed;
  return `${chart.title}: now ${words}${all ? `; ${all}` : ''}`;
}

/** The charts of a page: each keeps its plot, and the place that is pointed at, while only its data changes. */
export class ChartBoard {
  /** By the figure. @type {Map<HTMLElement, {plot: import('uplot'), form: string}>} */
  #plots = new Map();
  /** @type {Extent} */
  #extent = { ends: null };

  /** Forgets figures that are not on the page any more. @param {HTMLElement[]} elements */
  keep(elements) {
    for (const [element, { plot }] of this.#plots) {
      if (elements.includes(element)) continue;
      plot.destroy();
      this.#plots.delete(element);
    }
  }

  /**
   * @param {typeof import('uplot')} Plot
   * @param {HTMLElement} element
   * @param {ChartPlan} chart
   * @param {Drawing} drawing
   */
  draw(Plot, element, chart, drawing) {
    const { curves, smoothed } = drawing;
    this.#extent.ends = extentOf(curves);
    const raw = chart.curves.map(([name]) => curves[name]);
    const strong = smoothed ? chart.curves.map(([name]) => smoothed[name] ?? curves[name]) : [];
    const data = Plot.join(/** @type {import('uplot').AlignedData[]} */ ([...raw, ...strong]));
    const style = getComputedStyle(element);
    // A plot that differs in anything but its data is another plot.
    const form = JSON.stringify([chart, drawing.x, drawing.settings, drawing.gates, smoothed !== null, element.clientWidth,
      style.color, style.borderColor, raw.map(([x]) => x.length < 40)]);
    let held = this.#plots.get(element);
    if (held?.form === form) {
      held.plot.setData(data);
    } else {
      held?.plot.destroy();
      held = { form, plot: new Plot(plotOptions(element, chart, drawing, this.#extent), data, element) };
      this.#plots.set(element, held);
    }
    const canvas = held.plot.root.querySelector('canvas');
    canvas?.setAttribute('aria-label', chartWords(chart, drawing));
    canvas?.setAttribute('role', 'img');
  }
}

/**
 * @param {HTMLElement} element
 * @param {ChartPlan} chart
 * @param {Drawing} drawing
 * @param {Extent} extent
 * @returns {import('uplot').Options}
 */
function plotOptions(element, chart, { curves, smoothed, gates, x, settings }, extent) {
  const style = getComputedStyle(element);
  const line = style.borderColor;
  const axis = { stroke: style.color, grid: { stroke: line, width: 0.5 }, ticks: { stroke: line, width: 0.5 } };
  const values = (/** @type {unknown} */ _, /** @type {(number | null)[]} */ splits) =>
    splits.map((value) => (value === null ? '' : short(value)));
  /** All charts have the same axis until one is zoomed. @param {import('uplot')} plot @param {number} low @param {number} high */
  const range = (plot, low, high) => {
    const [steps] = plot.data;
    const isWhole = low === steps[0] && high === steps[steps.length - 1];
    return /** @type {[number, number]} */ (isWhole && extent.ends ? extent.ends : [low, high]);
  };
  /** @param {boolean} isRaw below a smoothed curve */
  const series = (isRaw) => chart.curves.map(([name, label], index) => ({
    label,
    class: isRaw ? 'raw' : 'shown',
    stroke: isRaw ? `${COLOURS[index]}55` : COLOURS[index],
    width: isRaw ? 1 : 1.5,
    // Nulls are gaps. Where only other curves have a point, the line goes on.
    spanGaps: false,
    points: { show: !isRaw && curves[name][0].length < 40 },
    value: (/** @type {unknown} */ _, /** @type {number | null} */ value) => short(value),
  }));
  return {
    width: element.clientWidth - 16,
    height: HEIGHT,
    cursor: { sync: SYNC },
    scales: {
      x: { time: false, range, ...(settings.logX ? { distr: 3 } : {}) },
      y: settings.logY ? { distr: 3 } : {},
    },
    axes: [{ ...axis, values }, { ...axis, size: 62, values }],
    series: [
      { label: x, value: (/** @type {unknown} */ _, /** @type {number | null} */ value) => short(value) },
      ...series(smoothed !== null),
      ...(smoothed ? series(false) : []),
    ],
    hooks: { draw: [gateLines(gates)] },
  };
}
