import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, counted, eachTest, moves, newGame } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const panel = () => page.locator('.verdicts');

test('the tables tell what every move is worth, and a move is played by a click or a key', async () => {
  await newGame(page, { side: 'both', start: 'fen', fen: '7k/8/6K1/8/8/8/8/R7 w - - 0 1' });
  await panel().getByText('White wins').waitFor();
  const mate = panel().getByRole('button', { name: /^Ra8#\s+win\s+mate$/ });
  await mate.waitFor();
  await counted(panel().getByRole('button'), 20);
  await panel().getByRole('button', { name: /^Ra2\s+win\s+\d+$/ }).waitFor();
  await mate.focus();
  await page.locator('.board svg line').first().waitFor({ state: 'attached' });
  await accessible(page);
  await mate.press('Enter');
  assert.deepEqual(await moves(page, 1), ['Ra8#']);
  await page.keyboard.press('Home');
  await panel().waitFor();
  await newGame(page, { side: 'white', engine: 'Philidor', level: 'full', start: 'fen', fen: '7k/8/6K1/8/8/8/8/R7 w - - 0 1' });
  await page.getByRole('button', { name: 'Evaluation' }).click();
  await panel().waitFor();
  await page.getByRole('button', { name: 'Evaluation' }).click();
  await panel().waitFor({ state: 'detached' });
});
