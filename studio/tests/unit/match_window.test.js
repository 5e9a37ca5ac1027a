import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { evaluations, moveText, recordText, timeText } = await import('../../page/watch/minds.js');
const { clocks } = await import('../../page/watch/window.js');
const { MatchTree } = await import('../../page/watch/tree.js');

const move = (san) => ({ san, uci: 'e2e4', fen: '', check: false });
const record = (cp, more = {}) => ({ score: { cp }, wdl: null, depth: 9, nodes: 1234, ms: 512, ...more });
const GAME = {
  game: 0,
  start: '6k1/8/8/8/8/8/8/R3K3 b - - 0 12',
  moves: [move('Kg7'), move('Ra7+'), move('Kg6'), move('Ra6+')],
  records: [null, record(0), record(0, { wdl: [100, 200, 700] }), record(0, { score: { mate: 3 } })],
};

test('each side has its own curve, and moves of the opening have no evaluation', () => {
  assert.deepEqual(evaluations(GAME, true), [[2, 50], [4, 100]]);
  assert.deepEqual(evaluations(GAME, false), [[3, 20]]);
});

test('moves are numbered from the start position, and told with what was reported of them', () => {
  assert.deepEqual([0, 1].map((index) => moveText(GAME, index)), ['12… Kg7', '13. Ra7+']);
  assert.equal(recordText(GAME, 0), 'Start');
  assert.equal(recordText(GAME, 1), '12… Kg7: opening');
  assert.equal(recordText(GAME, 4), '14. Ra6+: #3, depth 9, 1,234 nodes, 512 ms');
  assert.deepEqual([999, 1500, 12_340].map(timeText), ['999 ms', '1.50 s', '12.3 s']);
});

test('the clock of the side that thinks runs, and stands when the game is over', () => {
  const board = { left_ms: [60_000, 30_000], end: null };
  const minds = { minds: [{ thinking: true, ms: 5000 }, { thinking: false, ms: 9000 }] };
  assert.deepEqual(clocks(board, minds), ['0:55', '0:30']);
  assert.deepEqual(clocks({ ...board, end: 'Draw.' }, minds), ['1:00', '0:30']);
  assert.deepEqual(clocks({ left_ms: null, end: null }, minds), ['', '']);
});

test('a tree is asked about the position that was searched last, and forgets another', async () => {
  const asked = [];
  let answer;
  const tree = new MatchTree((moves) => new Promise((resolve) => {
    asked.push(moves);
    answer = resolve;
  }), () => {});
  await tree.refresh();
  assert.deepEqual(asked, [], 'nothing was searched yet');
  tree.follow('a');
  const reading = tree.refresh();
  tree.follow('b');
  answer({ value: { moves: [], held: true, children: [{ move: 'e2e4', san: 'e4', visits: 1, prior: 1, q: 0 }] } });
  await reading;
  assert.ok(!JSON.stringify(tree.view('A').values).includes('e2e4'), 'the answer was about another position');
  tree.refresh();
  assert.deepEqual(asked, [[], []]);
});
