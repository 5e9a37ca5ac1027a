import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { movesText } = await import('../../page/play/game_list.js');

test('a game has as many moves as it has begun', () => {
  assert.deepEqual([0, 1, 2, 3, 80].map(movesText), ['0 moves', '1 move', '1 move', '2 moves', '40 moves']);
});
