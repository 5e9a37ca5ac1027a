import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drawing } from '../../page/play/drawing.js';

/** A page that notes when it is drawn; `during` is done once while it is. */
function drawn(during = () => {}) {
  const frames = [];
  const done = [];
  let isFirst = true;
  const drawing = new Drawing({
    render: () => {
      done.push('render');
      const [act, wasFirst] = [during, isFirst];
      isFirst = false;
      if (wasFirst) act(drawing);
    },
    finish: () => done.push('finish'),
  }, (draw) => frames.push(draw));
  return { drawing, frames, done };
}

test('what comes until the next frame is drawn once', () => {
  const { drawing, frames, done } = drawn();
  drawing.soon();
  drawing.soon();
  assert.deepEqual([frames.length, done], [1, []]);
  frames.pop()();
  assert.deepEqual(done, ['render', 'finish']);
  drawing.soon();
  assert.equal(frames.length, 1);
});

test('what was drawn at once is not drawn again in the next frame', () => {
  const { drawing, frames, done } = drawn();
  drawing.soon();
  drawing.now();
  frames.pop()();
  assert.deepEqual(done, ['render', 'finish']);
});

test('what changes during a drawing is drawn after it, and the page is finished once', () => {
  const { drawing, done } = drawn((self) => self.now());
  drawing.now();
  assert.deepEqual(done, ['render', 'render', 'finish']);
});

test('a drawing that fails does not stop later ones', () => {
  const { drawing, done } = drawn(() => { throw new Error('broken'); });
  assert.throws(() => drawing.now(), /broken/);
  drawing.now();
  assert.deepEqual(done, ['render', 'render', 'finish']);
});
