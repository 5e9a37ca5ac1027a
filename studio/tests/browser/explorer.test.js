import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, eachTest, moves } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const GAMES = ['1. e4 e5 2. Nf3 1-0', '1. e4 c5 0-1', '1. d4 d5 1/2-1/2'].map((text, index) => `[White "A${index}"]\n\n${text}\n`).join('\n');

test('the explorer counts the games of a loaded file, and plays a move by click or key', async () => {
  await page.locator('#play input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(GAMES) });
  await page.locator('#games').waitFor();
  await page.keyboard.press('Escape');
  await moves(page, 3);
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Explorer' }).click();
  const row = (san) => page.locator('.explorer tbody tr', { has: page.getByRole('button', { name: san, exact: true }) });
  await row('e4').waitFor();
  assert.match(await row('e4').textContent(), /e4\s*2[^]*White 50 %, draw 0 %, Black 50 %/);
  assert.match(await row('d4').textContent(), /d4\s*1[^]*White 0 %, draw 100 %, Black 0 %/);
  await accessible(page);
  await row('d4').getByRole('button').press('Enter');
  await page.locator('.move[aria-current]', { hasText: 'd4' }).waitFor();
  await row('d5').waitFor();
  await page.reload();
  await page.locator('.explorer').waitFor();
});
