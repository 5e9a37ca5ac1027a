import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boardSvg } from '../../page/play/board_image.js';
import { EMPTY, START, castlingChoices, epSquares, fenOf, fitting, setUpOf } from '../../page/play/setup_fen.js';

test('a position is read from a FEN and written back', () => {
  for (const fen of [START, EMPTY, '4k3/8/8/8/4p3/8/8/4K3 b - - 3 40', 'bbqnnrkr/8/8/8/8/8/8/RNBQKBNR w HAhf - 0 1']) {
    assert.equal(fenOf(setUpOf(fen)), fen);
  }
  assert.equal(fenOf(setUpOf('4k3/8/8/8/8/8/8/4K3')), '4k3/8/8/8/8/8/8/4K3 w - - 0 1');
});

test('castling and en passant are offered where the pieces stand for it', () => {
  assert.deepEqual(castlingChoices(setUpOf('4k2r/8/8/8/8/8/8/R3K3 w - - 0 1')), ['Q', 'k']);
  const passed = setUpOf('4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1');
  assert.deepEqual([epSquares(passed), fitting(passed).ep], [['d6'], 'd6']);
  assert.deepEqual(epSquares({ ...passed, turn: 'b' }), []);
  assert.equal(fitting(setUpOf('4k3/8/8/8/8/8/8/4K3 w KQ d6 0 1')).ep, '-');
  assert.equal(fitting(setUpOf('4k3/8/8/8/8/8/8/4K2R w KQ - 0 1')).castling, 'K');
});

test('the image has the pieces and drawings where the board has them', () => {
  const blue = boardSvg('4k3/8/8/8/8/8/8/4K3 w - - 0 1', 'white', [], () => '', ['#dee3e6', '#8ca2ad']);
  assert.equal(blue.match(/#8ca2ad/g)?.length, 32, 'the squares have the colours of the board on the page');
  const svg = boardSvg('4k3/8/8/8/8/8/8/4K3 w - - 0 1', 'black', ['Ge1e2', 'Rd5'], (color, role) => `${color}-${role}`);
  assert.match(svg, /<image x="180" y="0" width="60" height="60" href="white-king"\/>/);
  assert.match(svg, /<image x="180" y="420" [^>]*href="black-king"\/>/);
  assert.match(svg, /<line x1="210" y1="30" x2="210" y2="90" stroke="#15781b"/);
  assert.match(svg, /<circle cx="270" cy="270"/);
});
