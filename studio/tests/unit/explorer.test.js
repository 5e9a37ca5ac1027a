import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { ExplorerPanel, shares, sourceWords } = await import('../../page/play/explorer.js');

const move = (white, draws, black) => ({ uci: 'e2e4', san: 'e4', games: white + draws + black, white, draws, black, book: null });

test('shares of results sum to a hundred, and games without a result have none', () => {
  assert.deepEqual([move(1, 1, 1), move(2, 0, 1), move(0, 1, 1), move(0, 0, 0)].map(shares), [[33, 33, 34], [67, 0, 33], [0, 50, 50], null]);
  assert.equal(sourceWords({ games: 1, has_book: true, moves: [move(1, 0, 0)] }, ''), '1 game of the library and of loaded PGNs, and the book');
  assert.equal(sourceWords({ games: 7, has_book: true, moves: [] }, '2000'),
    'This position is in none of the 7 games with a mean rating of 2000 or more of the library and of loaded PGNs, nor in the book');
  assert.equal(sourceWords({ games: 0, has_book: false, moves: [] }, ''), '0 games of the library and of loaded PGNs');
});

test('a position is asked about once while it is open, and again when there are other games', async () => {
  const asked = [];
  const panel = new ExplorerPanel(async (fen) => {
    asked.push(fen);
    return { moves: [move(1, 0, 0)], games: 1, has_book: false };
  }, () => {});
  const on = { play: () => {}, point: () => {} };
  panel.view('a', '1', on);
  assert.deepEqual(asked, []);
  panel.toggle();
  for (const [fen, games] of [['a', '1'], ['a', '1'], ['b', '1'], ['b', '2']]) panel.view(fen, games, on);
  await new Promise(setImmediate);
  assert.deepEqual(asked, ['a', 'b', 'b']);
});

test('an open explorer sees games that come while the position stays', async () => {
  let games = 1;
  let drawn = 0;
  const panel = new ExplorerPanel(async () => ({ moves: [move(games, 0, 0)], games, has_book: false }), () => { drawn += 1; });
  await panel.refresh();
  assert.equal(drawn, 0, 'it is closed');
  panel.isOpen = true;
  panel.view('a', '1', { play: () => {}, point: () => {} });
  await new Promise(setImmediate);
  assert.equal(drawn, 1);
  await panel.refresh();
  assert.equal(drawn, 1, 'nothing is new');
  games = 2;
  await panel.refresh();
  assert.equal(drawn, 2);
});

test('an explorer that awaits an answer does not ask again by itself', async () => {
  let asked = 0;
  let answer = () => {};
  const panel = new ExplorerPanel(() => {
    asked += 1;
    return new Promise((resolve) => { answer = () => resolve(null); });
  }, () => {});
  panel.isOpen = true;
  panel.view('a', '1', { play: () => {}, point: () => {} });
  await panel.refresh();
  assert.equal(asked, 1);
  answer();
  await new Promise(setImmediate);
  panel.refresh();
  assert.equal(asked, 2);
});
