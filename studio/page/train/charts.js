/**
 * The charts, their curves, and their drawing.
 *
 * @import {Curves} from '../types.js'
 */

/** @typedef {{title: string, unit: string, curves: [string, string][]}} ChartPlan keys and labels of curves */
/** @typedef {{name: string, curves: Curves}} NamedRun */

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
]);

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
          : name.slice(0, -key.length - 1).replace(/^sources\./, '');
        return runs.length > 1 ? `${run}: ${own}` : own;
      };
      return [...names, ...bounds].map((name) => /** @type {[string, string]} */ ([`${index} ${name}`, label(name)]));
    });
    // Too many curves are cut, so the runs' training curves come first.
    if (runs.length > 1) found.sort((a, b) => Number(a[0].includes('.')) - Number(b[0].includes('.')));
    return found.length === 0 ? [] : [{ title, unit, curves: found.slice(0, COLOURS.length) }];
  });
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

/**
 * Replaces an earlier chart of the element.
 *
 * @param {typeof import('uplot')} Plot
 * @param {HTMLElement} element
 * @param {ChartPlan} chart
 * @param {Curves} curves
 * @param {string} x label of the x axis
 */
export function drawChart(Plot, element, chart, curves, x) {
  const style = getComputedStyle(element);
  const ink = style.color;
  const line = style.borderColor;
  const tables = chart.curves.map(([name]) => /** @type {import('uplot').AlignedData} */ (curves[name]));
  const axis = { stroke: ink, grid: { stroke: line, width: 0.5 }, ticks: { stroke: line, width: 0.5 } };
  const values = (/** @type {unknown} */ _, /** @type {number[]} */ splits) => splits.map(short);
  const options = {
    width: element.clientWidth - 16,
    height: HEIGHT,
    scales: { x: { time: false } },
    axes: [{ ...axis, values }, { ...axis, size: 62, values }],
    series: [
      { label: x },
      ...chart.curves.map(([name, label], index) => ({
        label,
        stroke: COLOURS[index],
        width: 1.5,
        // Nulls are gaps. Where only other curves have a point, the line goes on.
        spanGaps: false,
        points: { show: curves[name][0].length < 40 },
        value: (/** @type {unknown} */ _, /** @type {number | null} */ value) => short(value),
      })),
    ],
  };
  element.querySelector('.uplot')?.remove();
  const plot = new Plot(options, Plot.join(tables), element);
  const words = chart.curves.map(([name, label]) => `${label} ${short(last(curves[name]))}`).join(', ');
  plot.root.querySelector('canvas')?.setAttribute('aria-label', `${chart.title}: now ${words}`);
  plot.root.querySelector('canvas')?.setAttribute('role', 'img');
}
