import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { VerdictPanel, byVerdict, distanceWords, isEndgame, mayTell } = await import('../../page/play/verdicts.js');

const move = (san, verdict, dtz) => ({ uci: san, san, verdict, dtz });

test('tables are asked about positions with few men and without castling', () => {
  assert.ok(isEndgame('8/8/8/8/8/4k3/4p3/4K2R w - - 0 1'));
  assert.ok(!isEndgame('8/8/8/8/8/4k3/4p3/4K2R w K - 0 1'));
  assert.ok(!isEndgame('rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1'));
});

test('moves are grouped by verdict, with their distance in moves', () => {
  const moves = [move('Ra8#', 'win', 1), move('Ra2', 'win', 7), move('Ra7', 'draw', 0), move('Kd6', 'draw', 40), move('Kf6', 'loss', -4)];
  assert.deepEqual(byVerdict(moves).map(([verdict, found]) => [verdict, found.length]), [['win', 2], ['draw', 2], ['loss', 1]]);
  assert.deepEqual(moves.map(distanceWords), ['mate', '4', '', 'won but for the fifty-move rule', '2']);
});

test('in a running game against an engine the tables are silent, unless the evaluation is on', () => {
  const game = (more) => ({ end: null, analysis: false, white: { kind: 'person' }, black: { kind: 'engine' }, ...more });
  assert.equal(mayTell(game({}), true), false);
  assert.ok([mayTell(game({}), false), mayTell(game({ analysis: true }), true), mayTell(game({ end: {} }), true),
    mayTell(game({ black: { kind: 'person' } }), true)].every(Boolean));
});

test('each position is asked about once, and a late answer to another is not shown', async () => {
  const asked = [];
  const answers = [];
  const panel = new VerdictPanel((fen) => {
    asked.push(fen);
    return new Promise((resolve) => answers.push(resolve));
  }, () => {});
  const on = { play: () => {}, point: () => {} };
  const [first, second] = ['8/8/8/8/8/4k3/4p3/4K2R w - - 0 1', '8/8/8/8/8/4k3/4p3/4K2R b - - 0 1'];
  for (const fen of [first, first, second]) panel.view(fen, on);
  assert.deepEqual(asked, [first, second]);
  answers[1]({ verdict: 'loss', moves: [] });
  await new Promise(setImmediate);
  answers[0]({ verdict: 'win', moves: [] });
  await new Promise(setImmediate);
  assert.equal(panel.view(second, on).values.flat().includes('loses'), true);
});
