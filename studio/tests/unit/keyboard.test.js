import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.document = { querySelector: () => null };
globalThis.HTMLInputElement = class {};
const { press } = await import('../../page/play/keyboard.js');

test('a key that is held down walks on, or acts once', () => {
  const done = [];
  const actions = Object.fromEntries(['ArrowLeft', 'h', 'z', 'PageUp'].map((key) => [key, () => done.push(key)]));
  let scrolled = 0;
  for (const key of Object.keys(actions)) {
    for (const repeat of [false, true, true]) {
      scrolled += 1;
      press({ key, repeat, target: { tagName: 'BODY' }, preventDefault: () => { scrolled -= 1; } }, actions, () => false);
    }
  }
  assert.deepEqual(done, ['ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'h', 'z', 'PageUp']);
  assert.equal(scrolled, 0);
});
