import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, accessible, counted, downloaded, eachTest, moves, newGame, openTab, program, type } from './harness.js';

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
  // Its square is marked.
  await counted(page.locator('.board svg g circle'), 1);
  assert.equal(await page.locator('.clock.white').textContent(), '5:00', 'the delay is long');
  await page.getByRole('button', { name: 'Show the move' }).click();
  await page.locator('.hint', { hasNotText: 'move the' }).waitFor();
  const san = await page.locator('.hint b').textContent();
  await page.locator('#announcement', { hasText: 'Hint: ' }).waitFor({ state: 'attached' });
  // There is no more to tell.
  await page.getByRole('button', { name: 'Hint', exact: true, disabled: true }).waitFor();
  await accessible(page);
  await type(page, san);
  await moves(page, 4);
  await counted(page.locator('.hint'), 0);
  const file = await downloaded(page, () => button('Save PGN').click());
  assert.match(file.toString().replace(/\s+/g, ' '), /\{Hint by Philidor: [^}]+\}/);
});

test('a level that was remembered waits until the engine has said that it plays it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'philidor-studio-'));
  const [late, sign] = [join(folder, 'late'), join(folder, 'sign')];
  const script = `#!/bin/sh\nwhile [ ! -e '${sign}' ]; do sleep 0.2; done\nexec '${program('philidor', 'PHILIDOR')}' "$@"\n`;
  writeFileSync(late, script, { mode: 0o755 });
  const server = await Server.start({ folder, philidor: late });
  t.after(() => server.remove());
  const tab = await openTab(studio.browser, server.url);
  const values = { side: 'white', engine: 'Philidor', level: 'beginner' };
  await tab.evaluate((form) => localStorage.setItem('form new game', JSON.stringify(form)), values);
  await tab.getByRole('button', { name: 'New game', exact: true }).click();
  await tab.locator('#new-game', { hasText: 'Asking Philidor how strong it can play' }).waitFor();
  const begin = tab.locator('#new-game').getByRole('button', { name: 'Begin' });
  await tab.locator('#new-game').getByRole('button', { name: 'Begin', disabled: true }).waitFor();
  writeFileSync(sign, '');
  await tab.locator('#level-words', { hasText: 'Never looks ahead' }).waitFor();
  await begin.click();
  await tab.getByText('Philidor, beginner (500)').waitFor();
  await tab.context().close();
  assert.deepEqual(tab.faults, []);
});
