import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockShows } from '../../page/play/clock.js';
import { emptyPage } from './page.js';

emptyPage();
const { awaited, newGameAction } = await import('../../page/play/new_game.js');
const { levelWords } = await import('../../page/play/levels.js');
const { hintArrows, hintWords, mayHint } = await import('../../page/play/hint.js');

const engines = [
  { name: 'Philidor', levels: true, elo: [800, 2450] },
  { name: 'Stockfish', levels: false, elo: [1320, 3190] },
  { name: 'Minimax', levels: false, elo: null },
];
const seat = (form) => newGameAction({ side: 'white', ...form }, engines).black;

test('an engine plays at a level, at a rating or at full strength', () => {
  assert.deepEqual(seat({ engine: 'Philidor', level: 'beginner', elo: '900' }), { kind: 'engine', name: 'Philidor', level: 'beginner' });
  assert.deepEqual(seat({ engine: 'Philidor', level: 'full', elo: '900' }), { kind: 'engine', name: 'Philidor' });
  assert.deepEqual(seat({ engine: 'Philidor', level: 'rating', elo: '900' }), { kind: 'engine', name: 'Philidor', elo: 900 });
  assert.deepEqual(seat({ engine: 'Stockfish', level: 'beginner', elo: '1400' }), { kind: 'engine', name: 'Stockfish', elo: 1400 });
  assert.deepEqual(seat({ engine: 'Minimax', level: 'beginner', elo: '1400' }), { kind: 'engine', name: 'Minimax' });
  assert.match(levelWords({ words: 'sees short combinations' }, 'club'), /^Sees short combinations/);
});

test('a remembered strength waits for an engine that has not said how it can play', () => {
  const name = (form, known) => awaited({ engine: 'Philidor', ...form }, [{ name: 'Philidor', known }])?.name;
  assert.deepEqual([{ level: 'beginner' }, { elo: '1500' }].map((form) => name(form, false)), ['Philidor', 'Philidor']);
  assert.equal(name({ level: 'beginner' }, true), undefined);
  assert.deepEqual([{}, { level: 'full' }, { level: 'beginner', side: 'both' }].map((form) => name(form, false)), [undefined, undefined, undefined]);
});

test('a clock has an increment and a delay, during which it stands still', () => {
  const { clock } = newGameAction({ engine: 'Minimax', timed: 'on', minutes: '3', increment: '2', delay: '5' }, engines);
  assert.deepEqual(clock, { base_s: 180, increment_s: 2, delay_s: 5 });
  const game = { clock: { white_ms: 60_000, black_ms: 60_000, running: 'white', delay_ms: 5000 } };
  assert.deepEqual([4000, 6000].map((since) => clockShows(game, 'white', since)), ['1:00', '0:59']);
});

test('a hint names the piece, then the move, and may be asked for by the one to move', () => {
  const game = (hint, more = {}) => ({ hint, end: null, turn: 'white', white: { kind: 'person' }, black: { kind: 'engine' }, engines, ...more });
  const piece = { thinking: false, piece: 'knight', square: 'g1', uci: null, san: null };
  const whole = { ...piece, uci: 'g1f3', san: 'Nf3' };
  assert.deepEqual([null, piece, whole, { thinking: true }].map((hint) => mayHint(game(hint))), [true, true, false, false]);
  assert.equal(mayHint(game(null, { turn: 'black' })), false);
  assert.deepEqual([piece, whole].map((hint) => hintWords(game(hint))), ['Hint: move the knight on g1.', 'Hint: knight f3.']);
  assert.deepEqual([null, piece, whole].map((hint) => hintArrows(game(hint)).map(({ uci }) => uci)), [[], ['g1'], ['g1f3']]);
});
