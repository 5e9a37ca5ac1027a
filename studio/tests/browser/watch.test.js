import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Server, accessible, launch, openTab, scripted } from './harness.js';

let browser;
let server;
let page;

before(async () => {
  browser = await launch();
  server = await Server.start({ engines: [scripted('Mortal', 'crash')] });
  page = await openTab(browser, `${server.url}#watch`);
});
after(async () => {
  await browser.close();
  await server.remove();
});

async function begin(first, second, games) {
  await page.locator('[name=first]').selectOption(first);
  await page.locator('[name=second]').selectOption(second);
  await page.locator('[name=games]').fill(String(games));
  await page.locator('[name=seconds]').fill('0.01');
  await page.getByRole('button', { name: 'Begin' }).click();
}

test('a match of four games is watched to its end', async () => {
  await begin('Random moves', 'Random moves', 4);
  await page.locator('#watch cg-board piece').first().waitFor();
  await page.locator('.status', { hasText: 'ended after 4 of 4' }).waitFor();
  const rows = await page.locator('.results tbody tr').count();
  assert.equal(rows, 4);
  const [won, drawn, lost] = (await page.getByText(/\d won, /).textContent()).match(/\d+/g).map(Number);
  assert.equal(won + drawn + lost, 4);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save PGN' }).last().click()]);
  assert.equal(readFileSync(await download.path(), 'utf8').match(/\[Result /g).length, 4);
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  // The board follows the window's size in the next frame.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 390);
  assert.deepEqual(page.faults, []);
});

test('a match can be stopped, and one with an engine that dies is', async () => {
  await begin('Random moves', 'Mortal', 2);
  await page.locator('.notice', { hasText: 'Mortal ended (exit status: 9)' }).waitFor();
  await begin('Philidor', 'Random moves', 1000);
  await page.getByRole('button', { name: 'Finish this game' }).click();
  await page.locator('.status', { hasText: /last game|ended/ }).waitFor();
  await page.getByRole('button', { name: 'Stop now' }).or(page.getByRole('button', { name: 'Begin' })).first().waitFor();
  assert.deepEqual(page.faults, []);
});
