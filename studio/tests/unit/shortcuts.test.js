import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MoveTree } from '../../page/play/move_tree.js';
import { emptyPage } from './page.js';

emptyPage();
const { shortcuts } = await import('../../page/play/shortcuts.js');

/** 1. e4 e5 (1... c5) 2. Nf3, by number. */
const tree = new MoveTree([[0, null, ''], [1, 0, 'e4'], [2, 1, 'e5'], [3, 1, 'c5'], [4, 2, 'Nf3']]
  .map(([id, parent, san]) => ({ id, parent, san })));

test('arrows, Home and End walk the tree from the position that is looked at', () => {
  const to = (node, key) => {
    let gone;
    shortcuts({ tree, node }, { go: (where) => { gone = where; } })[key]();
    return gone;
  };
  assert.deepEqual(['ArrowLeft', 'ArrowRight', 'Home', 'End'].map((key) => to(2, key)), [1, 4, 0, 4]);
  assert.deepEqual([to(2, 'ArrowDown'), to(3, 'ArrowUp')], [3, 2]);
  assert.equal(to(4, 'ArrowRight'), undefined);
});

test('the keys of changes change the move that is looked at', () => {
  const edits = [];
  const keys = shortcuts({ tree, node: 3 }, { edit: (node, change) => edits.push([node, change]) });
  for (const key of ['PageUp', 'PageDown', 'm', 'Delete']) keys[key]();
  assert.deepEqual(edits, [[3, 'promote'], [3, 'demote'], [3, 'make_main'], [3, 'delete']]);
});
