import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, accessible, launch, openTab } from './harness.js';

let browser;
let server;
let page;
const folder = mkdtempSync(join(tmpdir(), 'philidor-start-'));
const runs = join(folder, 'runs');
const nets = join(folder, 'nets');
const trainer = join(folder, 'trainer.sh');

const TABLE = {
  presets: [{ name: 'cpu', meaning: 'A small one' }, { name: 'first', meaning: 'A first network in two minutes' }],
  keys: [
    { key: 'batch', value: 4096, meaning: 'Samples per step.', choices: [] },
    { key: 'schedule', value: 'cosine', meaning: '', choices: ['cosine', 'constant'] },
    { key: 'adam.lazy', value: true, meaning: 'Leaves rows unchanged.', choices: [] },
    { key: 'teacher', value: '', meaning: 'A network.', choices: [] },
  ],
};

/** Tells its keys; writes a report and ends at the file `stop`, resumed at its second report. */
const TRAINER = `#!/bin/sh
[ "$1" = keys ] && exec cat "$0.keys"
for word in "$@"; do [ "$last" = --run ] && run=$word; last=$word; done
echo "$@" >> "$run/arguments"
case $run in *broken) echo "no sources: name files of games" >&2; exit 1;; esac
echo '{"samples": 200}' > "$run/config.json"
if [ "$last" = --resume ]; then echo '{"step":2,"samples":200,"time_s":2}' >> "$run/metrics.jsonl"; exit; fi
echo '{"step":1,"samples":100,"time_s":1}' >> "$run/metrics.jsonl"
until rm "$run/stop" 2>/dev/null; do sleep 0.05; done
`;

before(async () => {
  mkdirSync(nets);
  writeFileSync(join(nets, 'big.onnx'), '');
  writeFileSync(trainer, TRAINER);
  writeFileSync(`${trainer}.keys`, JSON.stringify(TABLE));
  chmodSync(trainer, 0o755);
  browser = await launch();
  server = await Server.start({ flags: ['--trainer', trainer, '--runs', runs, '--nets', nets] });
  page = await openTab(browser, `${server.url}#train`);
});
after(async () => {
  await browser.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

const run = (name) => page.getByRole('region', { name: `Run ${name}` });
const open = () => page.locator('.start > summary').click();
const asked = (name) => readFileSync(join(runs, name, 'arguments'), 'utf8').trim().split('\n');

async function start(name) {
  await page.locator('.start-form [name=name]').fill(name);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
}

/** Answers the question that a button asks. */
async function sure(name, button, yes) {
  await run(name).getByRole('button', { name: button }).click();
  await page.getByRole('dialog').getByRole('button', { name: yes, exact: true }).click();
}

test('a run is started from the trainer’s own keys, paused, resumed and finished', async () => {
  await open();
  await page.getByText('Samples per step.').waitFor();
  await page.locator('[name=preset]').selectOption('first');
  await page.getByText('A first network in two minutes').waitFor();
  await page.getByLabel('batch', { exact: true }).fill('many');
  await start('mine');
  await page.getByRole('alert').filter({ hasText: 'batch: “many” is no number' }).waitFor();
  await page.getByLabel('batch', { exact: true }).fill('128');
  await page.getByLabel('Find keys').fill('unchanged');
  await page.getByLabel('adam.lazy').uncheck();
  await accessible(page);
  await start('mine');
  await run('mine').getByText('100 of 200').waitFor();
  assert.deepEqual(asked('mine'), [`train --preset first --run ${join(runs, 'mine')} --set adam.lazy=false --set batch=128`]);
  await sure('mine', 'Pause …', 'Pause it');
  // The trainer has ended once the file is gone; of its own trainer the studio knows it.
  await run('mine').getByRole('button', { name: 'Go on …', disabled: false }).waitFor();
  await sure('mine', 'Go on …', 'Go on');
  await run('mine').getByText('finished').waitFor();
  assert.equal(asked('mine')[1], `train --run ${join(runs, 'mine')} --resume`);
  assert.deepEqual(page.faults, []);
});

test('a name that is taken is refused, a failure is told, and a run is cancelled', async () => {
  await open();
  await start('mine');
  await page.getByRole('alert').filter({ hasText: 'choose another name' }).waitFor();
  await start('broken');
  await run('broken').getByText('The trainer has failed: no sources: name files of games').waitFor();
  await open();
  await start('idle');
  await run('idle').getByText('100 of 200').waitFor();
  await sure('idle', 'Cancel …', 'Cancel the run');
  await run('idle').getByText('cancelled').waitFor();
  await page.waitForFunction(() => !document.body.textContent.includes('Asked to stop'));
  assert.ok(!existsSync(join(runs, 'idle', 'stop')));
  assert.deepEqual(page.faults, []);
});

test('networks of the folder are engines, and runs of the folder are followed after a restart', async () => {
  await page.getByRole('link', { name: 'Watch' }).click();
  await page.locator('.order [name=first] option', { hasText: 'big' }).waitFor({ state: 'attached' });
  const { folder: state } = server;
  await server.stop();
  server = await Server.start({ folder: state, flags: ['--trainer', trainer, '--runs', runs] });
  await page.context().close();
  page = await openTab(browser, `${server.url}#train`);
  await run('mine').getByText('finished').waitFor();
  await run('idle').getByText('cancelled').waitFor();
});
