import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { evaluations, moveText, recordText, timeText } = await import('../../page/watch/minds.js');
const { halted } = await import('../../page/watch/window.js');
const { MatchClocks } = await import('../../page/play/clock.js');
const { isAnotherMatch } = await import('../../page/watch/room.js');
const { SearchTree } = await import('../../page/play/tree.js');

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

test('the clock of the side that thinks runs between messages, and stands when the game is over or suspended', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  const board = { left_ms: [60_000, 30_000], end: null };
  let drawn = 0;
  const clocks = new MatchClocks(() => { drawn += 1; });
  assert.deepEqual(clocks.texts(board), ['1:00', '0:30'], 'nothing is known of a search');
  clocks.receive({ left_ms: [60_000, 30_000], running: 0, ms: 5000 });
  assert.deepEqual(clocks.texts(board), ['0:55', '0:30']);
  now += 2000;
  t.mock.timers.tick(2000);
  assert.deepEqual([clocks.texts(board), drawn], [['0:53', '0:30'], 20]);
  assert.deepEqual(clocks.texts({ ...board, end: 'Draw.' }), ['1:00', '0:30']);
  assert.deepEqual(clocks.texts({ ...board, left_ms: null }), ['', '']);
  clocks.receive({ left_ms: [60_000, 30_000], running: null, ms: 0 });
  now += 2000;
  t.mock.timers.tick(2000);
  assert.deepEqual([clocks.texts(board), drawn], [['1:00', '0:30'], 20], 'the match is suspended');
});

test('a clock that is looked at later has run on, and stands when the match is suspended or the server has gone', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 5000;
  t.mock.method(performance, 'now', () => now);
  const board = { left_ms: [60_000, 30_000], end: null };
  let drawn = 0;
  const clocks = new MatchClocks(() => { drawn += 1; });
  clocks.receive({ left_ms: [60_000, 30_000], running: 1, ms: 1000 }, 3000);
  assert.deepEqual(clocks.texts(board), ['1:00', '0:27']);
  clocks.stand();
  now += 4000;
  t.mock.timers.tick(4000);
  assert.deepEqual([clocks.texts(board), drawn], [['1:00', '0:27'], 0]);
  clocks.receive({ left_ms: [60_000, 27_000], running: 1, ms: 0 });
  now += 1000;
  assert.deepEqual(clocks.texts(board), ['1:00', '0:26'], 'it goes on with the next message');
  clocks.stop();
});

test('the thoughts of a suspended match are thought no more', () => {
  const mind = (thinking) => ({ thinking, ms: 5000 });
  assert.deepEqual(halted({ game: 3, minds: [mind(true), mind(false)] }), { game: 3, minds: [mind(false), mind(false)] });
});

test('a match that was begun or opened is another one, also of the same order, and one that goes on is not', () => {
  const match = (phase, edition = 1, second = 'B') => ({ phase, edition, order: { first: 'A', second } });
  assert.ok(isAnotherMatch(match('ended'), match('playing', 2)));
  assert.ok(isAnotherMatch(match('ended'), match('ended', 2)), 'an earlier match of the same order');
  assert.ok(isAnotherMatch(match('suspended'), match('playing', 1, 'C')));
  assert.ok(!isAnotherMatch(match('suspended'), match('playing')));
  assert.ok(!isAnotherMatch(match('playing'), match('ended')));
  assert.ok(!isAnotherMatch(undefined, match('playing')));
});

test('a tree is asked about the position that was searched last, and forgets another', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const asked = [];
  let answer;
  let changed;
  const tree = new SearchTree((moves) => new Promise((resolve) => {
    asked.push(moves);
    answer = resolve;
  }), () => changed?.());
  const children = (uci) => ({ value: { moves: [], held: true, children: [{ move: uci, san: uci, visits: 1, prior: 1, q: 0, proof: null }] } });
  const answers = (value) => new Promise((resolve) => {
    changed = resolve;
    answer(value);
  });
  const shown = () => JSON.stringify(tree.view('Search tree of A').values);
  tree.toggle();
  assert.deepEqual(asked, [], 'nothing was searched yet');
  tree.follow('a', true);
  tree.follow('b', true);
  await answers(children('e2e4'));
  assert.ok(!shown().includes('e2e4'), 'the answer was about another position');
  assert.deepEqual(asked, [[], []]);
  await answers(children('d2d4'));
  assert.ok(shown().includes('d2d4'));
  // Another board, where the same position was searched.
  tree.follow('', true);
  assert.ok(!shown().includes('d2d4'));
});

test('no clock runs on after the server has gone, also not of a board that is opened then', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 5000;
  t.mock.method(performance, 'now', () => now);
  const board = { left_ms: [60_000, 30_000], end: null };
  const clocks = new MatchClocks(() => {});
  now = 9000;
  clocks.receive({ left_ms: [60_000, 30_000], running: 0, ms: 1000 }, 5000);
  clocks.stand(7000);
  now = 20_000;
  assert.deepEqual(clocks.texts(board), ['0:57', '0:30'], 'it ran from 5 s to 7 s');
});
