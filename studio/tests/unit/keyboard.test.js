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

test('Escape empties the move field and leaves it', () => {
  const field = new HTMLInputElement();
  let isLeft = false;
  Object.assign(field, { id: 'typed', tagName: 'INPUT', value: 'Nf', blur: () => { isLeft = true; } });
  const done = [];
  const actions = { Escape: () => done.push('Escape'), h: () => done.push('h') };
  for (const key of ['h', 'Escape']) press({ key, target: field, preventDefault: () => {} }, actions, () => false);
  assert.deepEqual([field.value, isLeft, done], ['', true, ['Escape']]);
});
