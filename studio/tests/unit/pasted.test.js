import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastedPgn } from '../../page/play/pasted.js';

test('a pasted FEN becomes a game without moves, all else is read as PGN', () => {
  const fen = 'r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3';
  assert.equal(pastedPgn(`  ${fen}\n`), `[SetUp "1"]\n[FEN "${fen}"]\n\n*\n`);
  assert.equal(pastedPgn('4k3/8/8/8/8/8/8/4K3 w - -').split('"')[3], '4k3/8/8/8/8/8/8/4K3 w - -');
  assert.equal(pastedPgn(' 1. e4 e5 * '), '1. e4 e5 *');
  assert.equal(pastedPgn(' \n'), '');
});
