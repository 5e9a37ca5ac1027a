import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { accessible, eachTest, moves, newGame, type } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });

test('a beginner is played, with hints by key and button that the game keeps', async () => {
  await button('New game').click();
  const level = page.locator('#new-game [name=level]');
  await level.selectOption('beginner');
  await page.locator('#level-words', { hasText: 'Never looks ahead' }).waitFor();
  await accessible(page);
  await page.locator('#new-game').getByRole('button', { name: 'Cancel' }).click();
  await newGame(page, { level: 'beginner', timed: true, minutes: '5', increment: '0', delay: '600' });
  await page.getByText('Philidor, beginner (500)').waitFor();
  await type(page, 'e4');
  await moves(page, 2);
  await button('Flip').focus();
  await page.keyboard.press('h');
  await page.locator('.hint', { hasText: 'move the' }).waitFor();
  assert.equal(await page.locator('.board svg g circle').count(), 1, 'its square is marked');
  assert.equal(await page.locator('.clock.white').textContent(), '5:00', 'the delay is long');
  await page.getByRole('button', { name: 'Show the move' }).click();
  await page.locator('.hint', { hasNotText: 'move the' }).waitFor();
  const san = await page.locator('.hint b').textContent();
  await page.locator('#announcement', { hasText: 'Hint: ' }).waitFor({ state: 'attached' });
  assert.ok(await button('Hint').isDisabled(), 'there is no more to tell');
  await accessible(page);
  await type(page, san);
  await moves(page, 4);
  assert.equal(await page.locator('.hint').count(), 0);
  const [download] = await Promise.all([page.waitForEvent('download'), button('Save PGN').click()]);
  assert.match(readFileSync(await download.path(), 'utf8').replace(/\s+/g, ' '), /\{Hint by Philidor: [^}]+\}/);
});
