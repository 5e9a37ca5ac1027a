import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { ChartBoard, arenaCurves, axisOf, chartWords, drawn, gatesOf, placeOn, plan } = await import('../../page/train/charts.js');

const row = (against, score) => ({ against, games: [1, 0, 0], score, elo: '' });
const RL = {
  iterations: [
    { iteration: 5, verdict: 'promoted', worse: null, rows: [row('best', 60), row('older', 70)] },
    { iteration: 10, verdict: 'kept', worse: null, rows: [row('best', 50)] },
    { iteration: 15, verdict: 'vetoed', worse: 'endgames', rows: [row('best', 30)] },
  ],
  ratings: [
    { name: '00010', elo: 80, error: 5, games: 9 }, { name: 'start', elo: 0, error: 0, games: 9 }, { name: 'random', elo: -700, error: 9, games: 9 },
  ],
};

test('the arena becomes curves by iteration, and its gates stand on the same axis', () => {
  const curves = arenaCurves(RL);
  assert.deepEqual(curves['best network so far.arena_score'], [[5, 10, 15], [60, 50, 30]]);
  assert.deepEqual(curves['older networks.arena_score'], [[5], [70]]);
  assert.deepEqual(curves['networks.arena_elo'], [[0, 10], [0, 80]]);
  assert.deepEqual(gatesOf(RL), [{ x: 5, verdict: 'promoted' }, { x: 15, verdict: 'vetoed' }]);
  const [score, elo] = plan([{ name: 'loop', curves }]);
  assert.deepEqual(score.curves, [['0 best network so far.arena_score', 'best network so far'], ['0 older networks.arena_score', 'older networks']]);
  assert.equal(elo.title, 'Elo by iteration');
  const named = { '0 networks.arena_elo': curves['networks.arena_elo'] };
  assert.equal(chartWords(elo, { curves: named, smoothed: null, gates: gatesOf(RL) }),
    'Elo by iteration: now networks 80; promoted at 5, vetoed at 15');
  const many = Array.from({ length: 40 }, (_, x) => ({ x, verdict: 'promoted' }));
  assert.equal(chartWords(elo, { curves: named, smoothed: null, gates: many }),
    'Elo by iteration: now networks 80; 40 gates, the last promoted at 37, promoted at 38, promoted at 39');
});

test('a step has its place on the axis of hours, between two reports too', () => {
  const place = placeOn({ time_s: [[10, 20, 30], [3600, null, 10_800]] }, 'time_s');
  assert.deepEqual([10, 20, 30, 5, 99].map(place), [1, 2, 3, 1, 3]);
  assert.equal(placeOn({}, 'step')(7), 7);
  assert.equal(placeOn({}, 'samples')(7), 0);
});

test('runs are drawn against steps if one of them does not report the axis', () => {
  const train = { name: 'train', curves: { samples: [[1], [100]], time_s: [[1], [5]] } };
  const rl = { name: 'rl', curves: { time_s: [[1, 2], [null, 60]] } };
  assert.deepEqual(['step', 'samples', 'time_s'].map((axis) => axisOf([train, rl], axis)), ['step', 'step', 'time_s']);
  assert.equal(axisOf([train], 'samples'), 'samples');
  assert.equal(axisOf([{ name: 'new', curves: { time_s: [[1], [null]] } }], 'time_s'), 'step');
});

test('what a logarithm cannot show is a gap, and what lies left of its axis is left out', () => {
  const curves = { lr: [[0, 1, 2, 3], [0.1, 0, null, 0.3]] };
  const shown = (settings) => drawn(curves, (step) => 2 * step, settings).lr;
  assert.deepEqual(shown({ logX: false, logY: false }), [[0, 2, 4, 6], [0.1, 0, null, 0.3]]);
  assert.deepEqual(shown({ logX: true, logY: true }), [[2, 4, 6], [null, null, 0.3]]);
});

/** A plot that notes what happens to it. */
class FakePlot {
  static made = [];
  static join(tables) { return tables; }
  constructor(options, data, element) {
    Object.assign(this, { options, data, element, sets: 0, isGone: false, root: { querySelector: () => null } });
    FakePlot.made.push(this);
  }
  setData() { this.sets += 1; }
  destroy() { this.isGone = true; }
}

test('a growing curve keeps its plot; other settings and smoothing make another; one that leaves the page ends', () => {
  globalThis.getComputedStyle = () => ({ color: 'black', borderColor: 'grey' });
  const element = { clientWidth: 400 };
  const board = new ChartBoard();
  const settings = { axis: 'step', logX: false, logY: false };
  const chart = { title: 'Learning rate', unit: '', curves: [['0 lr', 'training']] };
  const draw = (points, more = {}) => {
    const curves = { '0 lr': [Array.from({ length: points }, (_, x) => x), Array(points).fill(1)] };
    board.draw(FakePlot, element, chart, { curves, smoothed: null, gates: [], x: 'step', settings, ...more });
  };
  draw(50);
  draw(60);
  assert.deepEqual(FakePlot.made.map(({ sets, isGone }) => [sets, isGone]), [[1, false]]);
  assert.deepEqual(FakePlot.made[0].options.cursor.sync.key, 'runs');
  // The axis is that of all charts, until a part of it is chosen.
  const { range } = FakePlot.made[0].options.scales.x;
  const shown = { data: [[5, 10, 40]] };
  assert.deepEqual([range(shown, 5, 40), range(shown, 10, 20)], [[0, 59], [10, 20]]);
  draw(60, { settings: { ...settings, logY: true } });
  assert.equal(FakePlot.made[1].options.scales.y.distr, 3);
  draw(60, { smoothed: { '0 lr': [[0, 1], [1, 1]] } });
  // The smoothed curve stands over the measured one, which the legend leaves out.
  assert.deepEqual(FakePlot.made[2].options.series.map(({ class: name }) => name), [undefined, 'raw', 'shown']);
  assert.deepEqual(FakePlot.made.map(({ isGone }) => isGone), [true, true, false]);
  board.keep([]);
  assert.ok(FakePlot.made[2].isGone);
});

test('curves are named in words, not by keys', () => {
  const names = ['policy_loss', 'validation.policy_loss', 'validation.phases.endgame.policy_loss', 'sources.self_play.policy_loss'];
  const [chart] = plan([{ name: 'run', curves: Object.fromEntries(names.map((name) => [name, [[1], [2]]])) }]);
  assert.deepEqual(chart.curves.map(([, label]) => label).sort(), ['source self play', 'training', 'validation', 'validation, endgame']);
});
