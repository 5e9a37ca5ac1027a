import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, accessible, launch, openTab } from './harness.js';

let browser;
let server;
let page;
const folder = mkdtempSync(join(tmpdir(), 'philidor-runs-'));
const growing = join(folder, 'growing');
const metrics = join(growing, 'metrics.jsonl');

const report = (step) => JSON.stringify({
  step,
  samples: step * 100,
  time_s: step * 2,
  lr: 0.01 / step,
  policy_loss: 3 / Math.sqrt(step),
  wdl_loss: 1 / Math.sqrt(step),
  top1: 1 - 1 / step,
  samples_per_s: 50,
  ...(step % 5 ? {} : { validation: { policy_loss: 3.1 / Math.sqrt(step), top1: 0.9 - 1 / step } }),
});

before(async () => {
  mkdirSync(growing);
  writeFileSync(join(growing, 'config.json'), '{"samples": 10000}');
  writeFileSync(metrics, Array.from({ length: 20 }, (_, step) => `${report(step + 1)}\n`).join(''));
  browser = await launch();
  server = await Server.start({ runs: [growing, join(folder, 'later')] });
  page = await openTab(browser, `${server.url}#train`);
});
after(async () => {
  await browser.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

const run = (name) => page.getByRole('region', { name: `Run ${name}` });

test('a run is shown with its curves, and grows while it is watched', async () => {
  await run('growing').getByText('2,000 of 10,000').waitFor();
  await run('growing').getByText('3 min').waitFor();
  await page.locator('.chart[data-chart="Policy loss"] canvas[aria-label*="training 0.6708"]').waitFor();
  await page.locator('.chart[data-chart="Policy loss"] canvas[aria-label*="validation 0.6932"]').waitFor();
  const next = `${report(21)}\n`;
  appendFileSync(metrics, next.slice(0, 30));
  appendFileSync(metrics, next.slice(30));
  await run('growing').getByText('2,100 of 10,000').waitFor();
  await page.locator('.chart[data-chart="Policy loss"] canvas[aria-label*="training 0.6547"]').waitFor();
  assert.deepEqual(page.faults, []);
});

test('damaged lines are counted, and a run that is not there yet is waited for', async () => {
  appendFileSync(metrics, 'not a line of metrics\n');
  await run('growing').getByText('1 damaged lines').waitFor();
  await run('later').getByText('There is no metrics.jsonl').waitFor();
  mkdirSync(join(folder, 'later'));
  writeFileSync(join(folder, 'later', 'metrics.jsonl'), `${report(1)}\n`);
  await run('later').getByText('Learning rate').waitFor();
  assert.deepEqual(page.faults, []);
});

test('nobody is kept out, and a phone shows it all', async () => {
  await page.locator('.chart canvas').first().waitFor();
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  // The page follows the window's size in the next frame.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 390);
});
