import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Stream } from '../../page/stream.js';

function shared() {
  const sources = [];
  const posted = [];
  const stream = new Stream(() => {
    const source = { close() {} };
    sources.push(source);
    return source;
  }, (path, body) => posted.push([path, body.boards]));
  return { stream, sources, posted, send: (message) => sources.at(-1).onmessage({ data: JSON.stringify(message) }) };
}

function tab() {
  const heard = [];
  return { heard, receive: (message) => heard.push(message), connection: (connected) => heard.push(connected) };
}

test('all tabs share one connection, and a later one hears what the others know', () => {
  const { stream, sources, send } = shared();
  const [first, second] = [tab(), tab()];
  stream.add(first);
  sources[0].onopen();
  send({ game: { ply: 1 }, match: null });
  send({ game: { ply: 2 } });
  stream.add(second);
  assert.equal(sources.length, 1);
  assert.deepEqual(second.heard, [true, { game: { ply: 2 }, match: null }]);
  stream.remove(first);
  send({ game: { ply: 3 } });
  assert.deepEqual([first.heard.length, second.heard.at(-1)], [3, { game: { ply: 3 } }]);
});

test('the server hears of all boards in view, and a board that another tab shows comes at once', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { stream, sources, posted, send } = shared();
  const [first, second] = [tab(), tab()];
  stream.add(first);
  stream.add(second);
  sources[0].onopen();
  stream.view(first, ['match/0']);
  assert.deepEqual(posted, [['/api/view', []]], 'changes that follow are collected');
  mock.timers.tick(100);
  assert.deepEqual(posted.at(-1), ['/api/view', ['match/0']]);
  send({ boards: { 'match/0': { ply: 5 } } });
  stream.view(second, ['match/0', 'match/1']);
  assert.deepEqual(second.heard.at(-1), { boards: { 'match/0': { ply: 5 } } });
  mock.timers.tick(100);
  assert.deepEqual(posted.at(-1), ['/api/view', ['match/0', 'match/1']]);
  stream.remove(second);
  stream.view(first, []);
  mock.timers.tick(100);
  assert.deepEqual(posted.at(-1), ['/api/view', []]);
  // Nobody showed it meanwhile, so what was known of it may be old.
  stream.view(first, ['match/0']);
  assert.equal(first.heard.filter((message) => message.boards).length, 1);
});

test('a stream that ends is opened again', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { stream, sources } = shared();
  const first = tab();
  stream.add(first);
  sources[0].onerror();
  mock.timers.tick(1000);
  sources[1].onopen();
  assert.deepEqual(first.heard, [false, true]);
});
