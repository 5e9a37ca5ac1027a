import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Looking } from '../../page/play/looking.js';

/** A game whose main line has `plies` moves with the nodes 1, 2, …; further nodes are `[id, parent]`. */
function game(plies, { revision = plies, number = 1, end = null, more = [] } = {}) {
  const node = (id, parent) => ({ id, parent, san: `m${id}`, uci: '', fen: '', check: false });
  const line = Array.from({ length: plies + 1 }, (_, id) => node(id, Math.max(0, id - 1)));
  return { number, revision, at: plies, end, legal: [], is_final: false, opening: null,
    tree: [...line, ...more.map(([id, parent]) => node(id, parent))] };
}

function looking() {
  const asked = [];
  const answers = [];
  const place = new Looking((node) => {
    asked.push(node);
    return new Promise((resolve) => {
      answers.push(() => resolve({ value: { node: node ?? 0, legal: [{ uci: 'a2a3', san: 'a3' }], is_final: false, opening: null } }));
    });
  }, () => {});
  const answer = async () => {
    answers.shift()();
    await new Promise(setImmediate);
  };
  return { place, asked, answer };
}

test('a running game takes the board along, unless it is told not to', async () => {
  const { place, answer } = looking();
  place.receive(game(3));
  await answer();
  place.go(1);
  assert.deepEqual([place.node, place.isLast, place.follows], [1, false, true]);
  place.receive(game(4));
  assert.deepEqual([place.node, place.isLast], [4, true]);
  place.follow(false);
  place.receive(game(5));
  assert.equal(place.node, 4, 'the board stays');
  place.go(5);
  place.moves(true);
  place.receive(game(6));
  assert.equal(place.node, 6, 'but not behind its own move');
  place.receive(game(2, { number: 2, end: {} }));
  assert.deepEqual([place.node, place.follows], [2, false], 'another game begins anew');
});

test('an edit elsewhere moves nothing, and what is deleted is looked at no longer', () => {
  const { place } = looking();
  place.receive(game(3, { more: [[10, 1], [11, 10]] }));
  place.go(11);
  place.receive(game(3, { more: [[10, 1], [11, 10], [12, 0]] }));
  assert.equal(place.node, 11);
  place.receive(game(3, { more: [[12, 0]] }));
  assert.equal(place.node, 1);
});

test('an added move is shown as soon as the server sends it', () => {
  const { place } = looking();
  place.receive(game(2));
  place.go(1);
  place.go(9);
  assert.equal(place.node, 1);
  place.receive(game(2, { more: [[9, 1]] }));
  assert.equal(place.node, 9);
});

test('of positions that are passed quickly only the last is asked for', async () => {
  const { place, asked, answer } = looking();
  place.receive(game(5));
  await answer();
  for (const node of [4, 3, 2, 1]) place.go(node);
  await answer();
  assert.deepEqual(asked, [null, 4, 1]);
  assert.deepEqual(place.legal, [], 'the answer was about another position');
  await answer();
  assert.equal(place.legal.length, 1);
});
