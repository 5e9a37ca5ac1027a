import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, accessible, downloaded, launch, loadsInPlace, openTab } from './harness.js';

let browser;
let server;
let page;
const folder = mkdtempSync(join(tmpdir(), 'philidor-runs-'));
const growing = join(folder, 'growing');
const metrics = join(growing, 'metrics.jsonl');
const loop = join(folder, 'loop');
const finished = join(folder, 'finished');
const trainer = join(folder, 'trainer.sh');

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

const FEN = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';

/** A line of `rl`: ratings, the arena, a veto. */
const iteration = (number, verdict) => JSON.stringify({
  iteration: number,
  time_s: number * 60,
  kl: number / 2,
  buffer: 1000 * number,
  lr: 0.001,
  current: '00002',
  best: 'start',
  play: { positions_per_h: 5000, evaluations_per_s: 99 },
  ratings: [
    { name: 'start', elo: 0, error: 0, games: 16 },
    { name: '00002', elo: 41.5, error: 20, games: 20 },
    { name: 'random', elo: -600, error: 90, games: 8 },
  ],
  arena: { best: { games: [3, 0, 1], pairs: [0, 0, 1, 0, 1] }, older: { games: [0, 2, 2], pairs: [0, 2, 0, 0, 0] } },
  verdict,
  ...(verdict === 'vetoed' ? { worse: 'first choice in the endgame 30.1 % of 900' } : {}),
});

function writeLoop() {
  mkdirSync(loop);
  writeFileSync(join(loop, 'config.json'), JSON.stringify({ kl: { warn: 0.4, alarm: 0.9 }, buffer_size: 5000 }));
  writeFileSync(join(loop, 'state.json'), JSON.stringify({
    iteration: 3, stage: 'play', best: 'start', current: '00002', escalation: { streak: 1, level: 1, lr_factor: 0.5, left: 4 },
  }));
  writeFileSync(join(loop, 'metrics.jsonl'), `${iteration(1, 'kept')}\n${iteration(2, 'vetoed')}\n`);
}

/** Writes the live boards as the loop does: aside, then renamed. */
function playOn(last, ply) {
  const board = { game: 6, white: 'best network', black: 'best network', before: FEN, last, ply };
  const aside = join(loop, 'live.json.tmp');
  writeFileSync(aside, JSON.stringify({ format: 'philidor-live/1', iterations: 12, until_s: null, boards: [board] }));
  renameSync(aside, join(loop, 'live.json'));
}

before(async () => {
  writeLoop();
  writeFileSync(trainer, '#!/bin/sh\necho "$@"\n');
  chmodSync(trainer, 0o755);
  mkdirSync(growing);
  writeFileSync(join(growing, 'config.json'), '{"samples": 10000}');
  writeFileSync(metrics, Array.from({ length: 20 }, (_, step) => `${report(step + 1)}\n`).join(''));
  mkdirSync(finished);
  writeFileSync(join(finished, 'config.json'), '{"samples": 300}');
  writeFileSync(join(finished, 'metrics.jsonl'), `${report(3)}\n`);
  browser = await launch();
  server = await Server.start({ runs: [growing, join(folder, 'later'), loop, finished], flags: ['--trainer', trainer] });
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
  await page.getByText(/processor\s+\d+ % of \d+ cores?, memory\s+[\d.]+ of [\d.]+ GiB/).waitFor();
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

test('a run of reinforcement learning shows ratings, arena, vetoes, alarms and the boards that are played on', async () => {
  await run('loop').getByRole('button', { name: 'Show its curves' }).click();
  await run('loop').getByText('alarm').waitFor();
  await run('loop').getByText('Self-play, iteration 3').waitFor();
  await page.getByRole('img', { name: 'Elo: first network +0 ± 0, iteration 2 +42 ± 20' }).waitFor();
  await page.getByText('Iteration 2: worse in first choice in the endgame 30.1 % of 900.').waitFor();
  await page.getByRole('cell', { name: '3 won, 0 drawn, 1 lost' }).first().waitFor();
  await page.getByText('measures of level 1 are in').waitFor();
  await page.locator('.chart[data-chart="Score in the arena"] canvas[aria-label$="vetoed at 2"]').waitFor();
  await page.locator('.chart[data-chart="KL from the first network"] canvas[aria-label*="warn 0.4, alarm 0.9"]').waitFor();
  playOn('e2e4', 1);
  // Only boards in view are sent.
  await page.locator('#run-boards .live').scrollIntoViewIfNeeded();
  await page.locator('#run-boards .live figcaption', { hasText: 'Game 7, move 1: e4' }).waitFor();
  await run('loop').getByText('10 min').waitFor();
  playOn('d2d4', 1);
  await page.locator('#run-boards .live figcaption', { hasText: 'Game 7, move 1: d4' }).waitFor();
  await accessible(page);
  assert.deepEqual(page.faults, []);
});

test('runs are compared, and their data downloaded', async () => {
  await run('growing').getByRole('button', { name: 'Show its curves' }).click();
  await run('later').getByLabel('compare').check();
  await page.locator('.chart[data-chart="Policy loss"] canvas[aria-label*="later: training 3"]').waitFor();
  await run('later').getByLabel('compare').uncheck();
  const file = await downloaded(page, () => run('growing').getByRole('link', { name: 'Download' }).click());
  assert.equal(file.toString(), readFileSync(metrics, 'utf8'));
});

test('charts are smoothed, logarithmic and against hours, as chosen before, and pointing at one points at all', async () => {
  const settings = page.getByRole('form', { name: 'Charts' });
  const loss = page.locator('.chart[data-chart="Policy loss"]');
  const legend = (chart) => page.locator(`.chart[data-chart="${chart}"] .u-series:not(.raw) .u-value`);
  await loss.locator('.u-over').scrollIntoViewIfNeeded();
  await loss.locator('.u-over').hover({ position: { x: 2, y: 50 } });
  await page.waitForFunction(() => document.querySelector('[data-chart="Learning rate"] .u-value').textContent === '1');
  assert.deepEqual(await legend('Learning rate').allTextContents(), ['1', '0.01']);
  const canvas = loss.locator('canvas');
  const words = async () => Number((await canvas.getAttribute('aria-label')).match(/training ([\d.]+)/)[1]);
  const last = await words();
  await settings.getByLabel('Smoothing').selectOption('0.1');
  await loss.locator('.u-series.raw').first().waitFor({ state: 'attached' });
  assert.ok(await words() > last, 'a falling curve is above its end in the mean');
  await settings.getByLabel('logarithmic across').check();
  await settings.getByLabel('logarithmic values').check();
  await settings.getByLabel('Against').selectOption('time_s');
  await loss.locator('.u-legend th', { hasText: 'hours' }).waitFor();
  await page.reload();
  await loss.locator('.u-legend th', { hasText: 'hours' }).waitFor();
  await loss.locator('.u-series.raw').first().waitFor({ state: 'attached' });
  await settings.getByLabel('Smoothing').selectOption('0');
  await settings.getByLabel('logarithmic across').uncheck();
  await settings.getByLabel('logarithmic values').uncheck();
  await settings.getByLabel('Against').selectOption('step');
  await loss.locator('.u-series.raw').first().waitFor({ state: 'detached' });
  // Iterations have no samples, so they are the axis.
  await settings.getByLabel('Against').selectOption('samples');
  await loss.locator('.u-legend th', { hasText: 'samples' }).waitFor();
  await run('loop').getByRole('button', { name: 'Show its curves' }).click();
  await page.locator('[data-chart="KL from the first network"] .u-legend th', { hasText: 'iteration' }).waitFor();
  await settings.getByLabel('Against').locator('option', { hasText: 'samples (not reported)' }).waitFor({ state: 'attached' });
  await run('growing').getByRole('button', { name: 'Show its curves' }).click();
  await settings.getByLabel('Against').selectOption('step');
  await loss.locator('.u-legend th', { hasText: 'step' }).waitFor();
  assert.deepEqual(page.faults, []);
});

test('calibration is drawn', async () => {
  const reliability = { win: { error: 0.05, bins: [[0.1, 0.15, 100], [0.9, 0.85, 400]] } };
  appendFileSync(metrics, `${JSON.stringify({ step: 22, validation: { reliability } })}\n`);
  await page.getByRole('img', { name: 'Win: predicted 10 %, came true 15 %; predicted 90 %, came true 85 %' }).waitFor();
});

test('where nothing was measured a curve has a gap, and a finished run is not paused', async () => {
  const done = join(folder, 'later', 'metrics.jsonl');
  appendFileSync(done, [{ step: 2, samples: 200, policy_loss: null }, { step: 3, samples: 300, policy_loss: 1.5 }, { step: 4, policy_loss: null }]
    .map((line) => `${JSON.stringify(line)}\n`).join(''));
  await run('later').getByRole('button', { name: 'Show its curves' }).click();
  await page.locator('.chart[data-chart="Policy loss"] canvas[aria-label*="training 1.5"]').waitFor();
  const curves = await page.evaluate(() => fetch('/api/runs/1/curves').then((answer) => answer.json()));
  assert.deepEqual(curves.policy_loss, [[1, 2, 3, 4], [3, null, 1.5, null]]);
  await run('finished').getByText('300 of 300').waitFor();
  await run('finished').getByRole('button', { name: 'Pause …', disabled: true }).waitFor();
  assert.deepEqual(page.faults, []);
});

test('a run is paused and gone on with, after a question', async () => {
  await run('loop').getByRole('button', { name: 'Pause …' }).click();
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  assert.ok(!existsSync(join(loop, 'stop')));
  await run('loop').getByRole('button', { name: 'Pause …' }).click();
  await page.getByRole('button', { name: 'Pause it' }).click();
  await run('loop').getByText('Asked to stop').waitFor();
  // The trainer would remove the file.
  rmSync(join(loop, 'stop'));
  const now = Date.now() / 1000;
  utimesSync(join(loop, 'metrics.jsonl'), now, now);
  await run('loop').getByText(/^\d s ago/).waitFor();
  await run('loop').getByText('Left when it goes on').waitFor();
  await run('loop').getByRole('button', { name: 'Pause …', disabled: true }).waitFor();
  await run('loop').getByRole('button', { name: 'Go on …' }).click();
  await page.getByRole('button', { name: 'Go on', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'a trainer may be running' }).waitFor();
  // The run has been quiet for an hour.
  const earlier = Date.now() / 1000 - 3600;
  for (const name of ['metrics.jsonl', 'live.json']) utimesSync(join(loop, name), earlier, earlier);
  await run('loop').getByText(/60 min ago|1 h/).waitFor();
  await run('loop').getByText('paused or ended').waitFor();
  await run('loop').getByRole('button', { name: 'Go on …' }).click();
  await page.getByRole('button', { name: 'Go on', exact: true }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  const log = join(loop, 'studio.log');
  for (let tries = 0; tries < 600 && !(existsSync(log) && readFileSync(log, 'utf8').includes('\n')); tries += 1) {
    await page.waitForTimeout(100);
  }
  assert.equal(readFileSync(log, 'utf8'), `rl --run ${loop} --resume\n`);
  assert.deepEqual(page.faults, []);
});

test('nothing shifts while the page loads', async () => {
  await loadsInPlace(page, () => page.locator('.chart canvas').first().waitFor());
});

test('nobody is kept out, and a phone shows it all', async () => {
  await page.locator('.chart canvas').first().waitFor();
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  // The page follows the window's size in the next frame.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 390);
});
