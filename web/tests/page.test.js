/** The page of scripts/web.sh in a browser. */
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chess960 } from '../page/chess960.js';
import { accessible, launch, openTab } from '../../studio/tests/browser/harness.js';

const PAGE = fileURLToPath(new URL('../../target/web/page', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.wasm': 'application/wasm' };

let server, browser, page;
before(async () => {
  server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : new URL(request.url, 'http://page').pathname;
    response.setHeader('Content-Type', TYPES[extname(path)] ?? 'text/plain');
    createReadStream(PAGE + path).on('error', () => response.writeHead(404).end()).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  browser = await launch();
});
after(async () => {
  await browser.close();
  server.close();
});
beforeEach(async () => {
  page = await openTab(browser, `http://127.0.0.1:${server.address().port}/`);
});
afterEach(async () => {
  await page.context().close();
  assert.deepEqual(page.faults, []);
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

test('everybody can use the page', async () => {
  await page.locator('#lines li').nth(1).waitFor();
  await accessible(page);
});
