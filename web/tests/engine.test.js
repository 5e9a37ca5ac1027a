/** The package of scripts/web.sh in Node.js, beside the native program. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';

import { program } from '../../studio/tests/browser/harness.js';
import { Philidor } from '../../target/web/npm/index.js';

const POSITIONS = [
  ['', ['e2e4', 'e7e5', 'g1f3']],
  ['r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1', []],
  ['8/8/8/1P2k2p/1K2q1p1/6PP/8/2r5 w - - 1 50', []],
  // Only tables know that White wins.
  ['8/8/8/4k3/8/8/8/KBN5 w - - 0 1', []],
];

/** What the native program answers, up to its move. */
async function native(...commands) {
  const child = spawn(program('philidor', 'PHILIDOR'), { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.write(`${commands.join('\n')}\n`);
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.startsWith('bestmove')) child.stdin.end('quit\n');
  }
  return lines;
}

/** Lines without what depends on the speed. */
const timeless = (line) => line.replace(/ (nps|time) \d+/g, '');

for (const threads of [false, true]) describe(threads ? 'with threads' : 'without threads', () => {
  let philidor;
  before(() => {
    philidor = new Philidor({ threads });
    return philidor.ready;
  });
  after(() => philidor.terminate());

  test('the same visits find the same as the native program', async () => {
    for (const [fen, moves] of POSITIONS) {
      const setUp = `position ${fen ? `fen ${fen}` : 'startpos'}${moves.length ? ` moves ${moves.join(' ')}` : ''}`;
      const expected = await native('setoption name Threads value 1', setUp, 'go nodes 3000');
      const lines = [];
      philidor.onLine = (line) => lines.push(line);
      philidor.send('ucinewgame');
      const { bestmove } = await philidor.go({ fen, moves, nodes: 3000 });
      // How often lines come depends on the speed, the last ones do not.
      assert.deepEqual(lines.slice(-2).map(timeless), expected.slice(-2).map(timeless));
      assert.equal(bestmove, expected.at(-1).split(' ')[1]);
    }
  });

  test('a search without a limit ends when it is stopped, or another begins', async () => {
    const seen = [];
    const first = philidor.go({}, (info) => seen.push(info));
    while (seen.length < 2) await philidor.describe();
    const second = philidor.go({ fen: POSITIONS[1][0], nodes: 500 });
    const [{ bestmove }, { infos }] = await Promise.all([first, second]);
    assert.equal(bestmove, seen.at(-1).pv[0]);
    assert.equal(infos[0].nodes, 500);
    const third = philidor.go();
    philidor.stop();
    assert.match((await third).bestmove, /^[a-h][1-8][a-h][1-8]$/);
  });

  test('the first search has all its time', async () => {
    const fresh = new Philidor({ threads });
    await fresh.ready;
    const { infos } = await fresh.go({ movetime: 300 });
    assert.ok(infos[0].nodes > 1000, `${infos[0].nodes} visits`);
    fresh.terminate();
    await assert.rejects(fresh.go(), /terminated/);
  });

  test('what ends the engine rejects what waits for it', async () => {
    const other = new Philidor({ threads });
    await other.ready;
    other.send('setoption name WeightsFile value other.onnx');
    await assert.rejects(other.go({ nodes: 1 }), /no such file/);
    other.terminate();
    const unready = new Philidor({ threads });
    unready.terminate();
    await assert.rejects(unready.ready, /terminated/);
  });

  test('searches of both kinds keep their answers', async () => {
    philidor.send('position startpos moves e2e4');
    philidor.send('go infinite');
    const { bestmove } = await philidor.go({ fen: '4k3/8/8/8/8/8/8/4K2R w K - 0 1', nodes: 50 });
    assert.match(bestmove, /^(e1|h1)/);
    philidor.onLine = () => { philidor.onLine = () => {}; };
    assert.ok((await philidor.go({ nodes: 50 })).bestmove);
  });

  test('a movetime is kept', async () => {
    const start = performance.now();
    const { infos } = await philidor.go({ movetime: 200 });
    assert.ok(performance.now() - start >= 190 && infos[0].time < 2000, `${infos[0].time} ms`);
  });

  test('a refused position does not stop the search that follows it', async () => {
    const refused = assert.rejects(philidor.go({ moves: ['e2e5'] }), /illegal move/);
    const { infos } = await philidor.go({ moves: ['b2b3', 'a7a6'], nodes: 5000 });
    await refused;
    assert.equal(infos[0].nodes, 5000);
  });

  test('positions are described, and wrong ones refused', async () => {
    const start = await philidor.describe({ moves: ['e2e4', 'e7e5'] });
    assert.deepEqual([start.turn, start.san, start.legal.length, start.result], ['white', ['e4', 'e5'], 29, null]);
    const mate = await philidor.describe({ moves: ['f2f3', 'e7e5', 'g2g4', 'd8h4'] });
    assert.deepEqual([mate.san.at(-1), mate.check, mate.legal, mate.result], ['Qh4#', true, [], '0-1']);
    await assert.rejects(philidor.describe({ fen: '8/8/8/8/8/8/8/8 w - - 0 1' }), /impossible position/);
    await assert.rejects(philidor.describe({ moves: ['e2e5'] }), /illegal move: e2e5/);
    await assert.rejects(philidor.go({ moves: ['e2e5'] }), /illegal move: e2e5/);
    await assert.rejects(philidor.go({ movetime: -5 }), RangeError);
    assert.equal((await philidor.go({ fen: '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1', nodes: 1 })).bestmove, null);
  });

  test('other networks are refused, because there are no files', async () => {
    const lines = [];
    philidor.onLine = (line) => lines.push(line);
    philidor.send('setoption name WeightsFile value other.onnx');
    philidor.send('setoption name WeightsFile value <embedded>');
    philidor.send('isready');
    while (!lines.includes('readyok')) await philidor.describe();
    assert.match(lines[0], /^info string network other.onnx: no such file/);
  });
});
