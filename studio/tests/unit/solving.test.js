import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { ratingsOf } = await import('../../page/puzzles/ratings.js');
const { opinionWords } = await import('../../page/puzzles/result.js');
const { Solving } = await import('../../page/puzzles/solving.js');

const FILE = { source: 'file', name: 'a.csv', count: 3, rated: true, edition: '1', notice: null };
const REVIEW = { source: 'review', name: 'mistakes', count: 0, rated: false, edition: 'k', notice: null };
const played = (san, fen) => ({ uci: san, san, fen, check: false });
const opinion = { engine: 'Philidor', san: 'Rh8+', prior: 0.125, place: 2, legal: 30, first_san: 'Ne3', first_prior: 0.6, wdl: [100, 200, 700] };

/** A server whose puzzles are solved by "a", then "b". */
function desk(sources = [REVIEW, FILE]) {
  const asked = [];
  const value = (given) => Promise.resolve({ value: given });
  return {
    asked,
    sources: async () => sources,
    show: (id) => {
      asked.push(['show', id.number]);
      return value({ title: `Puzzle ${id.number}`, fen: `start ${id.number}`, last: 'd4d5', last_san: 'Qd5', check: false, side: 'white', legal: [] });
    },
    attempt: (id, text) => {
      asked.push(['try', id.step, text]);
      if (text === 'x') return Promise.resolve({ error: 'x is not a legal move' });
      if (text !== ['a', '', 'b'][id.step]) return value({ right: false, solved: false, san: text, word: `${text} is not it`, moves: [], step: id.step, legal: [] });
      const solved = text === 'b';
      return value({ right: true, solved, san: text, word: 'Right.', moves: solved ? [played(text, text)] : [played(text, text), played('Kxh8', text)], step: id.step + 2, legal: [], afterwards: solved ? 'fork' : '' });
    },
    next: (id, to, low, high) => {
      asked.push(['next', id.number, to, low, high]);
      return to === 'back' ? Promise.resolve({ error: 'There is none' }) : value({ number: 2 });
    },
    solution: (id) => value({ moves: [played('b', `end from ${id.step}`)], line: '1. a b', afterwards: 'fork' }),
    opinion: () => value(opinion),
  };
}

async function begun(number = 0) {
  const server = desk();
  const solving = new Solving(server, () => {});
  await solving.refresh(() => number);
  return { solving, asked: server.asked };
}

test('a collection with puzzles is begun where it was left, and stays when it is read again', async () => {
  const { solving, asked } = await begun(1);
  assert.deepEqual([solving.source, solving.number, solving.shown.fen], [FILE, 1, 'start 1']);
  await solving.refresh(() => 0);
  await solving.go('on');
  await solving.go('on');
  assert.deepEqual(asked, [['show', 1], ['show', 2]], 'there is none after the last');
});

test('a file that was loaded begins with its first puzzle, which is said once', async () => {
  const { solving, asked } = await begun(1);
  const said = solving.newsNumber;
  await solving.begin();
  assert.deepEqual([solving.source, solving.number, solving.newsNumber - said], [FILE, 0, 1]);
  assert.deepEqual(asked, [['show', 1], ['show', 0]]);
});

test('wrong moves are refused with a word, right ones lead on to the end, and the network is asked last', async () => {
  const { solving, asked } = await begun();
  assert.equal(await solving.move('c'), false);
  assert.deepEqual([solving.word, solving.isWrong, solving.shown.fen], ['c is not it', true, 'start 0']);
  await solving.move('x');
  assert.equal(solving.error, 'x is not a legal move');
  assert.equal(await solving.move('a'), true);
  assert.deepEqual([solving.isOver, solving.opinion, solving.error], [false, null, null]);
  await solving.move('b');
  assert.deepEqual([solving.isOver, solving.afterwards, solving.opinion, solving.shown.fen], [true, 'fork', opinion, 'b']);
  assert.deepEqual(solving.tally, { alone: 0, helped: 1 });
  assert.equal(await solving.move('b'), false, 'nothing is left to find');
  assert.deepEqual(asked.filter(([what]) => what === 'try').map(([, ...more]) => more), [[0, 'c'], [0, 'x'], [0, 'a'], [2, 'b']]);
});

test('the answer is shown from where the solver is, and the next puzzle begins anew', async () => {
  const { solving } = await begun();
  await solving.move('a');
  await solving.give();
  assert.deepEqual([solving.line, solving.shown.fen, solving.isHelped], ['1. a b', 'end from 2', true]);
  await solving.go('on');
  assert.deepEqual([solving.line, solving.isOver, solving.opinion, solving.isHelped, solving.number], ['', false, null, false, 1]);
  await solving.move('a');
  await solving.move('b');
  assert.deepEqual(solving.tally, { alone: 1, helped: 1 });
});

test('an answer to an earlier puzzle is not shown', async () => {
  const server = desk();
  const answers = [];
  server.opinion = () => new Promise((resolve) => answers.push(resolve));
  const solving = new Solving(server, () => {});
  await solving.refresh(() => 0);
  const given = solving.give();
  await new Promise(setImmediate);
  await solving.go('on');
  answers[0]({ value: opinion });
  await given;
  assert.equal(solving.opinion, null);
});

test('what the network thinks is told in words', () => {
  assert.equal(opinionWords(opinion), "Without a search, Philidor's network gives Rh8+ a prior of 13 %, number 2 of 30 moves; "
    + 'it would look at Ne3 first (60 %). It values the position at 10 % win, 20 % draw, 70 % loss for the solver.');
  assert.match(opinionWords({ ...opinion, place: 1, wdl: null }), /the first of 30 moves\.$/);
});

test('only puzzles of the wanted ratings are gone to', async () => {
  const { solving, asked } = await begun();
  await solving.want(ratingsOf('1600', ''));
  assert.equal(solving.number, 2);
  await solving.go('back');
  assert.deepEqual([solving.number, solving.error], [2, 'There is none']);
  assert.deepEqual(asked.filter(([what]) => what === 'next'), [['next', 0, 'here', 1600, 9999], ['next', 2, 'back', 1600, 9999]]);
  await solving.want(ratingsOf('', ' '));
  await solving.go('back');
  assert.equal(solving.number, 1);
});

test('a screen reader says the puzzle, the answer to each move, and the same words again', async () => {
  const { solving } = await begun();
  const heard = [solving.news];
  for (const move of ['c', 'c', 'a', 'b']) {
    await solving.move(move);
    heard.push(solving.news);
  }
  assert.deepEqual(heard, ['Puzzle 0. Black has played queen d5. White to move: find the best move.', 'Wrong: c is not it. Look again.',
    'Wrong: c is not it. Look again.', 'Right: a. Black answers king takes h8. Go on.', 'Right: b. Solved. fork.']);
  assert.equal(solving.newsNumber, 5);
  assert.deepEqual(solving.found, ['a', 'Kxh8', 'b']);
  await solving.choose(FILE, 1);
  await solving.give();
  assert.equal(solving.news, 'The answer: b. fork.');
});
