import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MoveTree, nagText, rowsOf } from '../../page/play/move_tree.js';

/** A tree from `id parent san`. */
function treeOf(...lines) {
  const nodes = lines.map((line) => {
    const [id, parent, san = '', ...comment] = line.split(' ');
    return { id: Number(id), parent: Number(parent), san, uci: '', fen: '', check: false, comment: comment.join(' ') };
  });
  return new MoveTree([{ id: 0, parent: 0, san: '', uci: '', fen: '', check: false }, ...nodes]);
}

// 1. e4 (1. d4 d5 (1... Nf6 2. c4)) (1. c4) 1... e5 {open} 2. Nf3
const tree = treeOf('1 0 e4', '2 0 d4', '3 0 c4', '4 1 e5 open', '5 4 Nf3', '6 2 d5', '7 2 Nf6', '8 7 c4');

/** Rows in one line of text. */
function text(rows) {
  const ofPart = (part) => ('comment' in part ? `{${part.comment}}` : 'line' in part ? `(${part.line.map(ofPart).join(' ')})`
    : `${part.label}${part.node.san}`);
  return rows.map((row) => ('notes' in row ? row.notes.map(ofPart).join(' ')
    : `${row.number}: ${row.white?.san ?? '…'} ${row.black?.san ?? ''}`.trim()));
}

test('a tree knows lines, paths and other variations', () => {
  assert.deepEqual(tree.path(8).map(({ san }) => san), ['d4', 'Nf6', 'c4']);
  assert.deepEqual(tree.after(0).map(({ san }) => san), ['e4', 'e5', 'Nf3']);
  assert.deepEqual([tree.mainPly(5), tree.mainPly(8), tree.mainPly(0), tree.isMain(4), tree.isMain(6)], [3, 0, 0, true, false]);
  assert.deepEqual([tree.otherLine(8, -1), tree.otherLine(6, 1), tree.otherLine(1, -1), tree.otherLine(3, -1)], [6, 7, null, 2]);
  assert.equal(tree.otherLine(5, 1), 2, 'from anywhere in a line');
  assert.equal(tree.numbered(8, 0), '2. c4');
  assert.equal(tree.numbered(7, 0), '1... Nf6');
});

test('rows are interrupted by comments and variations, with the numbers that a reader needs', () => {
  assert.deepEqual(text(rowsOf(tree, 0)), [
    '1: e4', '(1.d4 d5 (1...Nf6 2.c4)) (1.c4)', '1: … e5', '{open}', '2: Nf3',
  ]);
  assert.deepEqual(text(rowsOf(treeOf('1 0 Kd7', '2 1 e4', '3 1 e3'), 39)), ['20: … Kd7', '21: e4', '(21.e3)']);
  assert.deepEqual(rowsOf(treeOf(), 0), []);
});

test('annotations have signs and words, unknown ones their number', () => {
  assert.deepEqual(nagText([1, 14, 250]), ['!⩲$250', 'good move, White is slightly better, annotation 250']);
});
