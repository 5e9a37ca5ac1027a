import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedClock, recordedText } from '../../page/play/clock.js';
import { Drawings, shapesOf, toggled, wordsOf } from '../../page/play/drawings.js';
import { MoveTree, losesNotes } from '../../page/play/move_tree.js';

test('drawings are written as a file has them, and read back', () => {
  const words = ['Ge2e4', 'Rd5', 'Yg1f3', 'Bh8'];
  assert.deepEqual(wordsOf(shapesOf(words)), words);
  assert.deepEqual(shapesOf(['Rd5']), [{ orig: 'd5', brush: 'red' }]);
  assert.deepEqual(wordsOf([{ orig: 'a1', brush: 'paleBlue' }]), [], 'what the page itself draws is not kept');
});

test('drawing again erases, and another colour replaces', () => {
  assert.deepEqual(toggled(['Rd5'], 'Ge2e4'), ['Rd5', 'Ge2e4']);
  assert.deepEqual(toggled(['Rd5', 'Ge2e4'], 'Ge2e4'), ['Rd5']);
  assert.deepEqual(toggled(['Rd5', 'Ge2e4'], 'Be2e4'), ['Rd5', 'Be2e4']);
  assert.deepEqual(toggled(['Ge2e4'], 'Ge2'), ['Ge2e4', 'Ge2'], 'a square is no arrow');
});

test('a drawing is shown until the server has it, or refuses it', async () => {
  let answer = () => {};
  const drawings = new Drawings(() => new Promise((resolve) => { answer = resolve; }));
  const drawing = drawings.draw(3, ['Rd5', 'Ge2e4']);
  assert.deepEqual(drawings.at({ id: 3, shapes: ['Rd5'] }), ['Rd5', 'Ge2e4']);
  answer(true);
  await drawing;
  assert.deepEqual(drawings.at({ id: 3, shapes: ['Rd5'] }), ['Rd5', 'Ge2e4'], 'its message is on the way');
  assert.deepEqual(drawings.at({ id: 3, shapes: ['Ge2e4', 'Rd5'] }), ['Ge2e4', 'Rd5']);
  assert.deepEqual(drawings.at({ id: 3 }), [], 'another tab may erase it then');
  const refused = drawings.draw(3, ['Rd5']);
  answer(false);
  await refused;
  assert.deepEqual(drawings.at({ id: 3 }), []);
});

/** A tree of nodes `[id, parent, more]`. */
function treeOf(...nodes) {
  return new MoveTree([[0, 0], ...nodes].map(([id, parent, more]) => ({ id, parent, san: `m${id}`, ...more })));
}

test('taking back asks only where more than the moves would go', () => {
  assert.equal(losesNotes(treeOf([1, 0], [2, 1]), 2, 2), false);
  assert.equal(losesNotes(treeOf([1, 0], [2, 1], [3, 1]), 2, 2), true, 'a variation');
  assert.equal(losesNotes(treeOf([1, 0], [2, 1, { comment: 'why' }]), 2, 2), true);
  assert.equal(losesNotes(treeOf([1, 0, { comment: 'why' }], [2, 1]), 2, 1), false, 'it stays');
});

test('the clock of a position is each side’s last one', () => {
  const path = [{ clock: '0:10:00' }, {}, { clock: '0:09:00' }];
  assert.deepEqual([recordedClock(path, 0, 'white'), recordedClock(path, 0, 'black')], ['9:00', null]);
  assert.deepEqual(['1:02:03', '0:10:04.8', '0:00:07.3', 'soon'].map(recordedText), ['1:02:03', '10:04', '0:07.3', 'soon']);
  assert.equal(recordedClock(path, 1, 'black'), '9:00', 'Black began');
});
