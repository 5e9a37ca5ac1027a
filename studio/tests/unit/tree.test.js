import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { qClass } = await import('../../page/play/tree.js');

test('a mean result has its colour by its sign and size, without visits none', () => {
  const classes = [-1, -0.5, -0.49, -0.2, -0.05, -0.04, 0, 0.04, 0.05, 0.2, 0.5, 1].map((q) => qClass({ visits: 1, q }));
  assert.deepEqual(classes, [
    'q against-3', 'q against-3', 'q against-2', 'q against-2', 'q against-1', '', '', '', 'q for-1', 'q for-2', 'q for-3', 'q for-3',
  ]);
  assert.equal(qClass({ visits: 0, q: 1 }), '');
});
