import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, counted, eachTest, moves, newGame, type } from './harness.js';

/** An engine in shell: 40 centipawns for e5 or d4, and "go infinite" until `stop`. */
const REPLY = "Reply=/bin/sh -c 'while read -r l; do case $l in uci) echo option name Threads type spin default 1 min 1 max 4; "
  + 'echo uciok;; isready) echo readyok;; quit) exit;; "position startpos moves e2e4"*) m=e7e5;; position*) m=d2d4;; '
  + '*Threads*4*) n=7;; go*) echo info depth ${n:-3} score cp 40 nodes 12 pv $m; [ "$l" = "go infinite" ] || echo bestmove $m;; '
  + "stop) echo bestmove 0000;; esac; done'";

let page;
const studio = eachTest({ engines: [REPLY] }, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });
const lines = (engine) => page.getByRole('region', { name: `Evaluation of ${engine}` });

/** Sets up an engine in its dialog. */
async function setUp(values) {
  const form = page.locator('#engine-form');
  for (const [name, value] of Object.entries(values)) {
    const field = form.locator(`[name=${name}]`);
    if (await field.evaluate((element) => element.tagName === 'SELECT')) await field.selectOption(value);
    else await field.fill(value);
  }
  await form.getByRole('button', { name: 'Start' }).click();
}

test('two engines look at one position, each with its own settings, and are stopped', async () => {
  await newGame(page, { side: 'both' });
  await button('Evaluation').click();
  await lines('Philidor').locator('li').nth(2).waitFor();
  await button('Second engine').click();
  await setUp({ engine: 'Reply', kind: 'infinite', lines: '1' });
  await page.locator('#engine-form').waitFor({ state: 'detached' });
  await lines('Reply').locator('li', { hasText: 'd4' }).waitFor();
  await lines('Reply').getByText('depth 3, 12 nodes').waitFor();
  await button('Set up Philidor').click();
  await setUp({ kind: 'depth', amount: '2', lines: '5' });
  await lines('Philidor').locator('li').nth(4).waitFor();
  await lines('Philidor').getByText(/depth .*done/).waitFor();
  // Both go along to the next position, and a stopped one keeps its lines there.
  await type(page, 'e4');
  await moves(page, 1);
  await lines('Reply').locator('li', { hasText: 'e5' }).waitFor();
  await button('Stop Reply').click();
  await lines('Reply').getByText(/stopped/).waitFor();
  await counted(lines('Reply').locator('li'), 1);
  await accessible(page);
  await button('Set up Reply').click();
  await setUp({ threads: '4' });
  await lines('Reply').getByText('depth 7, 12 nodes').waitFor();
  await button('Set up Reply').click();
  await page.locator('#engine-form [name=lines]').evaluate((field) => { field.removeAttribute('max'); });
  await setUp({ lines: '99' });
  await page.locator('#engine-form [role=alert]', { hasText: '1 to 10 lines' }).waitFor();
  await page.keyboard.press('Escape');
  // They are as they were after a reload.
  await page.reload();
  await lines('Reply').getByText('depth 7, 12 nodes').waitFor();
  await button('Second engine').click();
  await lines('Reply').waitFor({ state: 'detached' });
});

test('the threat and the first moves of the lines are drawn', async () => {
  await newGame(page, { side: 'both', start: 'fen', fen: 'k7/8/8/3q4/8/8/8/K2R4 b - - 0 1' });
  await page.keyboard.press('Escape');
  await page.locator('.board').click({ position: { x: 5, y: 5 } });
  await page.keyboard.press('x');
  await page.locator('.threat', { hasText: 'Rxd5' }).waitFor();
  await page.locator('.cg-shapes > g > g').first().waitFor({ state: 'attached' });
  await type(page, 'Qxd1');
  await page.locator('.threat', { hasText: 'none can be shown here' }).waitFor();
  await button('Threat').click();
  await page.locator('.threat').waitFor({ state: 'detached' });
  await button('Evaluation').click();
  await button('Arrows').click();
  await page.locator('.cg-shapes > g > g').first().waitFor({ state: 'attached' });
});
