import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { Deeds } = await import('../../page/play/deeds.js');

let game;
let looking;
let asked;
let answer;
let gone;
let deeds;
beforeEach(() => {
  game = { id: 3, moves: ['e4'], end: null, undo: null };
  looking = { isLast: true, node: 7, moves: (own) => asked.push(`own: ${own}`) };
  [asked, gone, answer] = [[], null, null];
  const place = { game: () => game, looking: () => looking, go: (node) => { gone = node; }, clear: () => {}, changed: () => {} };
  deeds = new Deeds(place, {
    act: async (action, room) => {
      asked.push([room, action]);
      return answer;
    },
    addVariation: async (board, node, text) => {
      asked.push([board, node, text]);
      return answer ? { error: answer } : { value: { node: 9 } };
    },
  });
});

test('a move is played in the last position of a running game, and added elsewhere', async () => {
  assert.ok(await deeds.send('e5'));
  assert.deepEqual(asked, ['own: true', ['play/3', { do: 'move', text: 'e5', ply: 1 }]]);
  asked.length = 0;
  looking.isLast = false;
  assert.ok(await deeds.send('c5'));
  assert.deepEqual([asked, gone], [[[3, 7, 'c5']], 9]);
  asked.length = 0;
  [looking.isLast, game.end] = [true, { result: '1-0' }];
  await deeds.send('c5');
  assert.deepEqual(asked, [[3, 7, 'c5']]);
});

test('a refused move is told, and is not taken for one that this tab has made', async () => {
  answer = 'e5 is not a legal move';
  assert.ok(!await deeds.send('e5'));
  assert.equal(asked.at(-1), 'own: false');
  assert.equal(deeds.error, answer);
});

test('an error is told only on the board where it happened', async () => {
  answer = 'no';
  const acting = deeds.act({ do: 'resign' });
  game = { ...game, id: 4 };
  await acting;
  assert.equal(deeds.error, null);
});

test('any action disarms resigning, and there is nothing to undo without a change', async () => {
  deeds.resign(true);
  deeds.undo();
  assert.ok(deeds.resigning);
  game.undo = 'draw at 1. e4';
  deeds.undo();
  assert.ok(!deeds.resigning);
  assert.deepEqual(asked, [['play/3', { do: 'undo' }]]);
});

test('what was told is shown once', () => {
  deeds.tell('The PGN is copied.', false);
  assert.equal(deeds.told, 'The PGN is copied.');
  deeds.untell();
  assert.equal(deeds.told, '');
});
