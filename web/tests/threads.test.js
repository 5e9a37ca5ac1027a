/** The package of scripts/web.sh in Node.js: several threads, their ends and their failures. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Philidor } from '../../target/web/npm/index.js';

const PACKAGE = fileURLToPath(new URL('../../target/web/npm', import.meta.url));

let philidor;
before(async () => {
  philidor = new Philidor();
  await philidor.ready;
});
after(() => philidor.terminate());

function setThreads(count) {
  philidor.send(`setoption name Threads value ${count}`);
  philidor.send('ucinewgame');
}

test('the option says how many threads there can be', async () => {
  const told = new Promise((resolve) => {
    philidor.onLine = (text) => text.startsWith('option name Threads') && resolve(text);
  });
  philidor.send('uci');
  assert.equal(await told, 'option name Threads type spin default 1 min 1 max 16');
  assert.equal(philidor.hasThreads, true);

  const alone = new Philidor({ threads: false });
  await alone.ready;
  assert.equal(alone.hasThreads, false);
  const refused = new Promise((resolve) => { alone.onLine = resolve; });
  alone.send('setoption name Threads value 4');
  assert.match(await refused, /Threads cannot be 4: set to 1, because there are no threads here/);
  alone.terminate();
});

test('several threads make exactly the visits, and find a mate', async () => {
  for (const count of [2, 5, 3]) {
    setThreads(count);
    const { bestmove, infos } = await philidor.go({ moves: ['e2e4', 'e7e5'], nodes: 4000 });
    assert.equal(infos[0].nodes, 4000, `${count} threads`);
    assert.match(bestmove, /^[a-h][1-8][a-h][1-8]$/);
    const mate = await philidor.go({ fen: '3qr2k/pbpp2pp/1p5N/3Q2b1/2P1P3/P7/1PP2PPP/R4RK1 w - - 0 1', nodes: 20_000 });
    assert.deepEqual([mate.bestmove, mate.infos[0].mate], ['d5g8', 2], `${count} threads`);
  }
});

test('one thread again finds what one thread alone finds', async () => {
  const search = { moves: ['d2d4', 'd7d5', 'c2c4'], nodes: 3000 };
  const timeless = ({ nps, time, ...info }) => info;
  const alone = new Philidor({ threads: false });
  const expected = await alone.go(search);
  alone.terminate();
  setThreads(4);
  await philidor.go({ nodes: 500 });
  setThreads(1);
  const found = await philidor.go(search);
  assert.deepEqual(found.infos.map(timeless), expected.infos.map(timeless));
  assert.deepEqual([found.bestmove, found.ponder], [expected.bestmove, expected.ponder]);
});

test('threads stop, go on with another search, and ponder', async () => {
  setThreads(3);
  const seen = [];
  const first = philidor.go({}, (info) => seen.push(info));
  while (seen.length < 2) await philidor.describe();
  const second = philidor.go({ moves: ['e2e4'] });
  assert.equal((await first).bestmove, seen.at(-1).pv[0]);
  philidor.stop();
  assert.match((await second).bestmove, /^[a-h][78][a-h][56]$/);

  const written = [];
  philidor.onLine = (text) => written.push(text);
  const come = async (start) => { while (!written.some((text) => text.startsWith(start))) await philidor.describe(); };
  philidor.send('position startpos moves e2e4 e7e5');
  philidor.send('go ponder nodes 50');
  await come('info depth');
  philidor.send('isready');
  await come('readyok');
  assert.ok(!written.some((text) => text.startsWith('bestmove')));
  philidor.send('ponderhit');
  await come('bestmove');
});

test('a classical player, which needs a thread, plays', async () => {
  philidor.send('setoption name Player value alphabeta');
  const { bestmove } = await philidor.go({ fen: '7k/8/6K1/8/8/8/8/5Q2 w - - 0 1', depth: 2 });
  philidor.send('setoption name Player value none');
  assert.equal(bestmove, 'f1f8');
});

test('quit ends the threads, and a program that has terminated the engine ends', async () => {
  const other = new Philidor();
  other.send('setoption name Threads value 3');
  other.send('go infinite');
  other.send('quit');
  await assert.rejects(async () => { for (;;) await other.describe(); }, /the engine has quit/);
  other.terminate();

  const folder = mkdtempSync(join(tmpdir(), 'philidor-web-'));
  const script = join(folder, 'script.mjs');
  writeFileSync(script, `import { Philidor } from ${JSON.stringify(join(PACKAGE, 'index.js'))};
    const philidor = new Philidor();
    philidor.send('setoption name Threads value 4');
    const search = philidor.go({}, () => philidor.terminate());
    await search.catch((error) => console.log(error.message));`);
  const said = execFileSync(process.execPath, [script], { encoding: 'utf8', timeout: 60_000 });
  rmSync(folder, { recursive: true });
  assert.equal(said, 'the engine was terminated\n');
});

test('a thread that fails, or cannot be loaded, fails the engine', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'philidor-web-'));
  try {
    const broken = async (name, file, change) => {
      const copy = join(folder, name);
      cpSync(PACKAGE, copy, { recursive: true });
      writeFileSync(join(copy, file), change(readFileSync(join(copy, file), 'utf8')));
      const { Philidor: Broken } = await import(join(copy, 'index.js'));
      return new Broken();
    };
    const failing = await broken('failing', 'host.js', (text) => text.replace(
      'post(line)',
      '{ if (line.includes(" nodes 77")) throw new Error("out of order"); post(line); }',
    ));
    await failing.ready;
    failing.send('setoption name Threads value 2');
    await assert.rejects(failing.go({ nodes: 77 }), /a thread of the engine failed: Error: out of order/);
    await assert.rejects(failing.go({ nodes: 1 }), /out of order/);
    failing.terminate();

    const unloaded = await broken('unloaded', 'thread.js', (text) => text.replace('await init', 'await missing'));
    await assert.rejects(unloaded.ready, /a thread of the engine failed: ReferenceError/);
    unloaded.terminate();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
