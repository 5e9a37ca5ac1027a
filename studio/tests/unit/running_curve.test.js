import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { MoveTree } = await import('../../page/play/move_tree.js');
const { runningPoints } = await import('../../page/play/running_curve.js');

const node = (id, parent) => ({ id, parent, san: `m${id}`, uci: '', fen: '', check: false });

test("the curve has the main line's positions with a value, from White's view", () => {
  // 0 – 1 – 2 – 4, with variation 3.
  const tree = new MoveTree([node(0, 0), node(1, 0), node(2, 1), node(3, 1), node(4, 2)]);
  const values = {
    0: { score: { cp: 0 }, wdl: [200, 600, 200] }, 1: { score: { cp: 90 }, wdl: [400, 500, 100] },
    3: { score: { cp: 0 }, wdl: null }, 4: { score: { mate: -2 }, wdl: null },
  };
  assert.deepEqual(runningPoints(tree, values), [[0, 50], [1, 65], [3, 0]]);
  assert.deepEqual(runningPoints(tree, {}), []);
});
