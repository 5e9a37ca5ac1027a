import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeenBoards } from '../../page/play/seen_boards.js';

test('the server sends one board at a time', () => {
  const sent = new Set();
  const boards = new SeenBoards((name, isInView) => (isInView ? sent.add(name) : sent.delete(name)));
  boards.send(1);
  boards.send(1);
  assert.deepEqual([...sent], ['play/1', 'thoughts/1']);
  boards.send(2);
  assert.deepEqual([...sent], ['play/2', 'thoughts/2']);
});

test('the server is told whether somebody may be looking', () => {
  const sent = new Set();
  const boards = new SeenBoards((name, isInView) => (isInView ? sent.add(name) : sent.delete(name)));
  boards.send(1);
  boards.see(true);
  assert.deepEqual([...sent], ['play/1', 'thoughts/1', 'eyes/1']);
  boards.send(2);
  assert.deepEqual([...sent].sort(), ['eyes/2', 'play/2', 'thoughts/2']);
  boards.see(false);
  boards.send(3);
  assert.deepEqual([...sent], ['play/3', 'thoughts/3']);
});

test('boards that are closed are forgotten', () => {
  const boards = new SeenBoards(() => {});
  for (const id of [1, 2, 3]) boards.keep({ game: { id }, received: id, looking: {} });
  boards.forgetOthers(new Set([2, 3]));
  boards.forget(3);
  assert.deepEqual([1, 2, 3].map((id) => boards.at(id)?.received), [undefined, 2, undefined]);
});
