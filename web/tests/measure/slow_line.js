/**
 * Measures how soon the page of scripts/web.sh is ready on slow lines: a server that sends so many megabits a second, and
 * answers after 40 ms.
 *
 * Usage: node web/tests/measure/slow_line.js [MEGABITS ...]
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch } from '../../../studio/tests/browser/harness.js';

const PAGE = fileURLToPath(new URL('../../../target/web/page', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const LATENCY_MS = 40;
/** Bytes that the server sends at once. */
const PIECE = 16_384;

/** Of the line: when it is free again, in milliseconds; the requests that share it; what it has carried. */
let isFree = 0, bytesPerMs = 1, sharing = 0, carried = 0;

const server = createServer(async (request, response) => {
  const path = request.url === '/' ? '/index.html' : request.url;
  const content = readFileSync(PAGE + path);
  response.writeHead(200, {
    'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream',
    'Content-Length': content.length,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  });
  await passed(LATENCY_MS);
  if (sharing === 0) isFree = performance.now();
  sharing += 1;
  for (let at = 0; at < content.length; at += PIECE) {
    const piece = content.subarray(at, at + PIECE);
    isFree += piece.length / bytesPerMs;
    carried += piece.length;
    await passed(isFree - performance.now());
    response.write(piece);
  }
  sharing -= 1;
  response.end();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await launch();

const asked = process.argv.slice(2).map(Number);
for (const megabits of asked.length > 0 ? asked : [5, 10, 20, 50]) {
  [bytesPerMs, carried] = [megabits * 125, 0];
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const start = performance.now();
  const since = async (selector) => {
    await page.locator(selector).first().waitFor({ timeout: 120_000 });
    return ((performance.now() - start) / 1000).toFixed(1);
  };
  await page.goto(`http://127.0.0.1:${server.address().port}/`, { waitUntil: 'commit' });
  const board = await since('#board piece');
  const moves = await since('[name=move]');
  const bytes = carried;
  const line = await since('#lines li');
  console.log(`${megabits} Mbit/s: board ${board} s, moves ${moves} s, first line ${line} s; ${bytes} bytes until the moves`);
  await context.close();
}
await browser.close();
server.close();
