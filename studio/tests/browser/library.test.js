import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, counted, downloaded, eachTest, moves, newGame, type } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });
const library = () => page.locator('#library');
const rows = () => library().locator('.game');

test('games are kept from their first move, played on, renamed, exported, deleted and brought back', async () => {
  await newGame(page, { engine: 'Philidor', move_time: '0.1' });
  await type(page, 'e4');
  const played = await moves(page, 2);
  await newGame(page, { side: 'both' });
  await type(page, 'd4');
  await moves(page, 1);
  await button('Games …').click();
  await rows().nth(1).waitFor();
  await accessible(page);
  await rows().nth(0).filter({ hasText: /You – You[\s\S]*on the board/ }).waitFor();
  await rows().nth(1).filter({ hasText: /You – Philidor[\s\S]*on another board/ }).waitFor();
  // What is on a board is not deleted.
  await library().getByRole('button', { name: /^Delete .*Philidor/, disabled: true }).waitFor();
  await library().getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: /^Close board 1, You – Philidor/ }).click();
  await page.getByText('You – Philidor is closed.').waitFor();
  await button('Games …').click();
  await rows().filter({ hasText: /You – Philidor[\s\S]*not over/ }).waitFor();
  await library().getByRole('button', { name: /on the board/, disabled: true }).waitFor();
  const mine = (what) => library().getByLabel(new RegExp(`^${what} .*Philidor`));
  await mine('Rename').click();
  await library().locator('[name=to]').fill('My ../game');
  await library().locator('[name=to]').press('Enter');
  await library().getByRole('alert').filter({ hasText: 'A name has 1 to 80 characters' }).waitFor();
  await library().locator('[name=to]').fill('My game with Philidor');
  await library().locator('[name=to]').press('Enter');
  const file = await downloaded(page, () => library().getByLabel('Export My game with Philidor').click());
  assert.match(file.toString(), /\[Date "2[\s\S]*\[Black "Philidor"\][\s\S]*1\. e4 /);
  await mine('Delete').click();
  await library().getByText('My game with Philidor is deleted.').waitFor();
  await counted(rows(), 1);
  await library().getByRole('button', { name: 'Undo' }).click();
  await rows().nth(1).waitFor();
  await page.locator('#library input').first().fill('philidor');
  await library().getByText('1 of 2 games.').waitFor();
  await rows().first().click();
  assert.deepEqual(await moves(page, 2), played);
  await page.locator('.player .name', { hasText: 'Philidor' }).waitFor();
  await type(page, 'Nf3');
  await moves(page, 4);
});
