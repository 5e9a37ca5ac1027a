import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { OpenBoards, boardIn } = await import('../../page/play/open_boards.js');

/** The boards as a tab of a browser sees them, which showed `last` before. */
function tab(last = null) {
  const shown = [];
  const boards = new OpenBoards({ show: (board) => shown.push(board), last: () => last, changed() {} });
  return { boards, shown };
}

const list = (...numbers) => numbers.map((board) => ({ board, white: 'You', black: `Engine ${board}`, moves: 3, state: 'your_move', result: null, name: `game ${board}` }));

test('the address names a board', () => {
  assert.deepEqual(['#play/12', '#play', '#play/', '#play/x', '#watch', ''].map(boardIn), [12, null, null, null, null, null]);
});

test('a tab shows the board of its address, or else the last one', () => {
  const named = tab(1);
  named.boards.enter(2);
  named.boards.receive(list(1, 2, 3));
  assert.deepEqual(named.shown, [2]);
  const again = tab(1);
  again.boards.receive(list(1, 2, 3));
  again.boards.enter(null);
  assert.deepEqual(again.shown, [1]);
  const fresh = tab();
  fresh.boards.enter(null);
  fresh.boards.receive(list(1, 2, 3));
  fresh.boards.enter(null);
  assert.deepEqual(fresh.shown, [3], 'this browser has shown none: the newest');
  const gone = tab(7);
  gone.boards.receive(list(1, 2));
  gone.boards.enter(null);
  assert.deepEqual(gone.shown, [2]);
});

test('a board that was opened here is shown before the list has it', () => {
  const { boards, shown } = tab();
  boards.receive(list(1));
  boards.enter(1);
  boards.open(2);
  boards.receive(list(1));
  boards.enter(2);
  boards.receive(list(1, 2));
  assert.deepEqual([shown, boards.here], [[1, 2], 2]);
  boards.receive(list(1, 2, 3));
  boards.open(3);
  boards.receive(list(1, 2));
  assert.equal(boards.here, 2, 'it was in the list already, and is closed now');
  assert.deepEqual([boards.withGame('game 2'), boards.withGame('other')], [2, null]);
});

test('when a board is closed, its tabs go on with another one', () => {
  const { boards, shown } = tab();
  boards.receive(list(1, 2));
  boards.enter(1);
  boards.receive(list(2));
  assert.deepEqual([shown, boards.here], [[1, 2], 2]);
  boards.enter(1);
  assert.equal(boards.here, 2, 'a bookmark of a closed board');
});
