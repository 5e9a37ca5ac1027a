/** The page of scripts/web.sh in a browser. */
import assert from 'node:assert/strict';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';

import { chess960 } from '../page/chess960.js';
import { PATIENCE_MS, accessible, launch, openTab } from '../../studio/tests/browser/harness.js';

const PAGE = fileURLToPath(new URL('../../target/web/page', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

const ISOLATING = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/**
 * What the host of the page sends and has, what it changes in its files, or waits for before it sends them or their second
 * half, and whether it compresses them; and what the page may report.
 */
let headers, missing, changes, delays, halves, isCompressing, expected;
function restore() {
  headers = ISOLATING;
  missing = '';
  changes = {};
  delays = {};
  halves = {};
  isCompressing = false;
  expected = /^$/;
}
let server, browser, page;
before(async () => {
  server = createServer(async (request, response) => {
    const path = request.url === '/' ? '/index.html' : new URL(request.url, 'http://page').pathname;
    response.setHeaders(new Map(Object.entries({ ...headers, 'Content-Type': TYPES[extname(path)] ?? 'text/plain' })));
    await delays[path];
    if (changes[path]) return response.end(changes[path](readFileSync(PAGE + path, 'utf8')));
    const file = createReadStream(PAGE + path + (path === missing ? '.missing' : ''));
    file.on('error', () => response.writeHead(404).end());
    if (isCompressing) {
      response.setHeader('Content-Encoding', 'gzip');
      return file.pipe(createGzip({ level: 1 })).pipe(response);
    }
    if (!halves[path]) return file.pipe(response);
    const content = readFileSync(PAGE + path);
    response.setHeader('Content-Length', content.length);
    response.write(content.subarray(0, content.length / 2));
    await halves[path];
    response.end(content.subarray(content.length / 2));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  browser = await launch();
});
after(async () => {
  await browser.close();
  server.close();
});
const open = async () => openTab(browser, `http://127.0.0.1:${server.address().port}/`);
beforeEach(async () => {
  restore();
  page = await open();
});
afterEach(async () => {
  await page.context().close();
  // Firefox may report what the page already tells.
  assert.deepEqual(page.faults.filter((fault) => !expected.test(fault)), []);
});

const lines = () => page.locator('#lines li');
const moves = () => page.locator('#moves button');

async function drag(from, to) {
  const box = await page.locator('#board').boundingBox();
  const at = (square) => [
    box.x + ((square.charCodeAt(0) - 97 + 0.5) * box.width) / 8,
    box.y + ((8.5 - Number(square[1])) * box.height) / 8,
  ];
  await page.mouse.click(...at(from));
  await page.mouse.click(...at(to));
}

test('the position is analysed, also after a move and after going back', async () => {
  await lines().nth(1).waitFor();
  assert.match(await lines().first().textContent(), /^[+−]?\d\.\d\d 1\. /);
  await drag('g1', 'f3');
  await moves().getByText('Nf3').or(moves().first()).waitFor();
  await page.locator('#lines li', { hasText: '1… ' }).first().waitFor();
  await page.getByRole('button', { name: 'One move back' }).click();
  await page.locator('#lines li', { hasText: '1. ' }).first().waitFor();
  assert.equal(await moves().count(), 1, 'the move is kept');
});

test('the engine answers the moves of a game, at a limited strength too', async () => {
  await page.getByLabel('Strength').selectOption('800');
  await page.getByRole('button', { name: 'Play White' }).click();
  await drag('e2', 'e4');
  await moves().nth(1).waitFor();
  await page.getByText(/^Black played .* White to move \(you\)$/).waitFor();
  await page.getByLabel('Move', { exact: true }).fill('d4');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await moves().nth(3).waitFor();
  await page.getByLabel('Move', { exact: true }).fill('Ke5');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await page.getByText('Ke5 is not legal here').waitFor();
  await page.getByRole('button', { name: 'New game' }).click();
  await page.getByRole('button', { name: 'Play Black' }).click();
  await moves().first().waitFor();
  assert.equal(await moves().count(), 1);
});

test('a promotion is chosen, a mate ends the game, and a wrong FEN is told', async () => {
  const fen = page.getByLabel('FEN');
  await fen.fill('7k/5P2/6K1/8/8/8/8/8 w - - 0 1');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.locator('#lines li', { hasText: '#' }).first().waitFor();
  await drag('f7', 'f8');
  await page.keyboard.press('ArrowLeft');
  const queen = page.getByRole('dialog').getByRole('button', { name: 'Queen' });
  const { width } = await queen.locator('piece').boundingBox();
  assert.ok(width > 40, 'the piece is seen');
  await queen.click();
  await page.getByText('The game is over: 1-0').waitFor();
  await fen.fill('nonsense');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.locator('#status.wrong').waitFor();
  assert.equal(await moves().count(), 1, 'the game is kept');
});

test('Chess960 begins at one of its positions, and castles by the king onto its rook', async () => {
  const [first, usual, last] = [0, 518, 959].map((number) => chess960(number).split('/')[0]);
  assert.deepEqual([first, usual, last], ['bbqnnrkr', 'rnbqkbnr', 'rkrnnqbb']);
  assert.equal(new Set(Array.from({ length: 960 }, (_, number) => chess960(number))).size, 960);
  await page.evaluate(() => { Math.random = () => 0; });
  await page.getByRole('button', { name: 'Chess960' }).click();
  const fen = page.getByLabel('FEN');
  await page.waitForFunction(() => document.querySelector('[name=fen]').value.startsWith('bbqnnrkr/'));
  await fen.fill('1k6/8/8/8/8/8/5P2/4K1R1 w G - 0 1');
  await page.getByRole('button', { name: 'Set up' }).click();
  // The position as the engine writes it.
  await page.waitForFunction(() => document.querySelector('[name=fen]').value.endsWith(' w K - 0 1'));
  await drag('e1', 'g1');
  await moves().getByText('O-O').or(moves().first()).waitFor();
  assert.equal((await moves().first().textContent()).trim(), 'O-O');
  await page.waitForFunction(() => document.querySelector('[name=fen]').value.startsWith('1k6/8/8/8/8/8/5P2/5RK1 b'));
});

/** Opens the page at a host that sends no headers. */
async function elsewhere() {
  await page.context().close();
  headers = {};
  page = await open();
}

const isIsolated = () => page.evaluate(() => crossOriginIsolated);

/** All threads work on the page's position, and on another. */
async function searchWith(count) {
  await page.getByLabel('Threads').selectOption(String(count));
  await lines().nth(1).waitFor();
  await drag('d2', 'd4');
  await page.locator('#lines li', { hasText: '1… ' }).first().waitFor();
}

test('an isolated page has threads, as many as the machine', async () => {
  await lines().nth(1).waitFor();
  const most = await page.evaluate(() => Math.min(navigator.hardwareConcurrency, 16));
  assert.equal(await page.getByLabel('Threads').locator('option').count(), most);
  assert.equal(await page.getByLabel('Threads').inputValue(), String(Math.max(most - 1, 1)));
  await searchWith(most);
});

test('a host that sends no headers has threads too, by a service worker', async () => {
  await elsewhere();
  await page.waitForFunction(() => crossOriginIsolated);
  await searchWith(1);
});

test('a service worker that comes late gives threads to a page that is not used yet', async () => {
  let come;
  delays['/service-worker.js'] = new Promise((resolve) => { come = resolve; });
  await elsewhere();
  await lines().nth(1).waitFor();
  assert.equal(await isIsolated(), false);
  come();
  await page.waitForFunction(() => crossOriginIsolated);
  await searchWith(1);
});

test('a service worker that comes late leaves a page that is used as it is', async () => {
  let come;
  delays['/service-worker.js'] = new Promise((resolve) => { come = resolve; });
  await elsewhere();
  await lines().nth(1).waitFor();
  await drag('d2', 'd4');
  await moves().first().waitFor();
  come();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.locator('#lines li', { hasText: '1… ' }).first().waitFor();
  assert.deepEqual([await isIsolated(), await moves().count()], [false, 1]);
  await page.reload();
  await lines().nth(1).waitFor();
  assert.equal(await isIsolated(), true);
});

test('without headers and service worker there is one thread', async () => {
  missing = '/service-worker.js';
  await elsewhere();
  await lines().nth(1).waitFor();
  assert.equal(await isIsolated(), false);
  assert.equal(await page.getByLabel('Threads').count(), 0);
  await drag('d2', 'd4');
  await page.locator('#lines li', { hasText: '1… ' }).first().waitFor();
  // Chromium reports the missing file.
  expected = /\(404\) was received when fetching the script/;
});

test('in a browser threads find the same alone, and together count visits, find a mate and stop', async () => {
  await page.goto(new URL('icon.svg', page.url()).href);
  const [alone, one, three, mate, stopped] = await page.evaluate(async () => {
    const { Philidor } = await import('/philidor/index.js');
    const search = { moves: ['e2e4', 'c7c5'], nodes: 1000 };
    const found = ({ bestmove, infos: [{ nodes, mate, cp, pv }] }) => ({ bestmove, nodes, mate, cp, pv });
    const driven = new Philidor({ threads: false });
    const alone = found(await driven.go(search));
    driven.terminate();
    const philidor = new Philidor();
    const one = found(await philidor.go(search));
    philidor.send('setoption name Threads value 3');
    const three = found(await philidor.go(search));
    const fen = '3qr2k/pbpp2pp/1p5N/3Q2b1/2P1P3/P7/1PP2PPP/R4RK1 w - - 0 1';
    const mate = found(await philidor.go({ fen, nodes: 20_000 }));
    const stopped = await philidor.go({}, () => philidor.stop());
    philidor.terminate();
    return [alone, one, three, mate, found(stopped)];
  });
  assert.deepEqual(one, alone);
  assert.equal(three.nodes, 1000);
  assert.deepEqual([mate.bestmove, mate.mate], ['d5g8', 2]);
  assert.equal(stopped.bestmove, stopped.pv[0]);
});

test('an engine without threads that fails in a browser is told', { timeout: PATIENCE_MS }, async () => {
  changes['/philidor/driven.js'] = (text) => text.replace(
    'engine.line(text)',
    "(text.startsWith('go') ? outOfOrder() : engine.line(text))",
  );
  await page.goto(new URL('icon.svg', page.url()).href);
  const told = await page.evaluate(async () => {
    const { Philidor } = await import('/philidor/index.js');
    const philidor = new Philidor({ threads: false });
    await philidor.ready;
    const why = (error) => error.message;
    const told = [await philidor.go({ nodes: 1 }).catch(why), await philidor.describe().catch(why)];
    philidor.terminate();
    return told;
  });
  told.forEach((why) => assert.match(why, /outOfOrder is not defined/));
  expected = /outOfOrder/;
});

test('the endgame tables come after the engine, which plays without them', { timeout: PATIENCE_MS }, async () => {
  let come;
  delays['/philidor/tables.gzip'] = new Promise((resolve) => { come = resolve; });
  await page.goto(new URL('icon.svg', page.url()).href);
  const score = (threads) => page.evaluate(async (threads) => {
    const { Philidor } = await import('/philidor/index.js');
    window.philidor ??= new Philidor({ threads });
    const { infos } = await philidor.go({ fen: '8/8/8/4k3/8/8/8/KBN5 w - - 0 1', nodes: 50 });
    return infos[0].cp;
  }, threads);
  const complete = () => page.evaluate(() => philidor.complete.then(() => 'complete', (error) => error.message));
  assert.ok(await score(true) < 1000);
  come();
  assert.equal(await complete(), 'complete');
  assert.equal(await score(true), 10_000);
  missing = '/philidor/tables.gzip';
  await page.evaluate(() => { window.philidor = philidor.terminate(); });
  assert.ok(await score(false) < 1000);
  assert.match(await complete(), /tables\.gzip: 404 Not Found/);
});

test('the page tells how much of the engine has come', async () => {
  await page.context().close();
  let come;
  const name = '/philidor/engine_threads.wasm.gzip';
  halves[name] = new Promise((resolve) => { come = resolve; });
  page = await open();
  const { size } = statSync(PAGE + name);
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  await page.getByText(`${megabytes(Math.floor(size / 2))} of ${megabytes(size)} MB`, { exact: true }).waitFor();
  const bar = page.getByRole('progressbar', { name: 'Part of the engine that is loaded' });
  assert.equal(await bar.evaluate(({ value, max }) => value / max), Math.floor(size / 2) / size);
  await accessible(page);
  come();
  await lines().nth(1).waitFor();
  assert.equal(await bar.count(), 0);
});

test('a host may compress what it sends', async () => {
  await page.context().close();
  isCompressing = true;
  page = await open();
  await lines().nth(1).waitFor();
});

test('everybody can use the page', async () => {
  await page.locator('#lines li').nth(1).waitFor();
  await accessible(page);
});
