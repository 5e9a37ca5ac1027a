import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessible, downloaded, eachTest, moves, newGame, type } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const RATED = '[WhiteElo "2100"]\n[BlackElo "2300"]\n';
const GAMES = [['', '1. e4 e5 2. Nf3 1-0'], [RATED, '1. e4 c5 0-1'], ['', '1. d4 d5 1/2-1/2']]
  .map(([tags, text], index) => `[White "A${index}"]\n${tags}\n${text}\n`).join('\n');

test('the explorer counts the games of a loaded file, and plays a move by click or key', async () => {
  await page.locator('#play input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(GAMES) });
  await page.locator('#games').waitFor();
  await page.keyboard.press('Escape');
  await moves(page, 3);
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Explorer' }).click();
  const row = (san) => page.locator('.explorer tbody tr', { has: page.getByRole('button', { name: san, exact: true }) });
  await row('e4').filter({ hasText: /e4\s*2[^]*White 50 %, draw 0 %, Black 50 %/ }).waitFor();
  await row('d4').filter({ hasText: /d4\s*1[^]*White 0 %, draw 100 %, Black 0 %/ }).waitFor();
  await accessible(page);
  await row('d4').getByRole('button').press('Enter');
  await page.locator('.move[aria-current]', { hasText: 'd4' }).waitFor();
  await row('d5').waitFor();
  await page.keyboard.press('Home');
  await page.locator('[name=explored]').focus();
  await page.locator('[name=explored]').selectOption('2200');
  await page.locator('.explorer', { hasText: '1 game with a mean rating of 2200 or more' }).waitFor();
  await row('e4').filter({ hasText: /e4\s*1[^]*White 0 %, draw 0 %, Black 100 %/ }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'explored', 'the keyboard stays there');
  await accessible(page);
  await page.reload();
  await page.locator('.explorer', { hasText: '1 game with a mean rating of 2200 or more' }).waitFor();
  await page.locator('[name=explored]').selectOption('2500');
  await page.locator('.explorer', { hasText: '0 games with a mean rating of 2500 or more' }).waitFor();
});

test('a game that is saved and loaded again counts once, and files that come are seen', async () => {
  await newGame(page, { side: 'both' });
  await type(page, 'e4');
  await moves(page, 1);
  const file = await downloaded(page, () => page.getByRole('button', { name: 'Save PGN' }).click());
  const text = file.toString();
  await page.locator('#play input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.locator('.open-boards li').nth(1).waitFor();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Explorer' }).click();
  await page.locator('.explorer', { hasText: '1 game of the library' }).waitFor();
  writeFileSync(join(studio.server.folder, 'games', 'more.pgn'), GAMES);
  await page.locator('.explorer', { hasText: '4 games of the library' }).waitFor();
});
