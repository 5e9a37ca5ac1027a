/** Whole stories of what people do, in windows of four sizes, photographed for people to look at. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SIZES, counted, downloaded, eachTest, inView, moves, newGame, openTab, photograph, pasted, resize, scripted, type } from './harness.js';

const folder = mkdtempSync(join(tmpdir(), 'philidor-stories-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A trainer in shell: reports, and ends when it is asked to; resumed, it finishes. */
const TRAINER = `#!/bin/sh
[ "$1" = keys ] && { echo '{"presets":[{"name":"first","meaning":"A small one"}],"keys":[{"key":"batch","value":128,"meaning":"Samples per step.","choices":[]}]}'; exit; }
for word in "$@"; do [ "$last" = --run ] && run=$word; last=$word; done
echo '{"samples": 200}' > "$run/config.json"
[ "$last" = --resume ] && { echo '{"step":2,"samples":200,"time_s":2,"policy_loss":2}' >> "$run/metrics.jsonl"; exit; }
echo '{"step":1,"samples":100,"time_s":1,"policy_loss":3}' >> "$run/metrics.jsonl"
until rm "$run/stop" 2>/dev/null; do sleep 0.05; done
`;
const trainer = join(folder, 'trainer.sh');
writeFileSync(trainer, TRAINER, { mode: 0o755 });
const runs = join(folder, 'runs');
mkdirSync(runs);

let page;
const studio = eachTest({
  engines: [scripted('Slow', 'think')],
  flags: ['--trainer', trainer, '--runs', runs],
}, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });
const name = ([width, height]) => `at ${width} × ${height}`;
/** The movetext without its line breaks. */
const movetext = (pgn) => pgn.toString().split('\n\n')[1].replaceAll('\n', ' ').trim();

/** Photographs the story; the board is wholly in view where it matters, and the rest can be reached. */
async function look(story, size, part) {
  await photograph(page, `story-${story}`);
  if (!part) return;
  await page.locator(part).first().scrollIntoViewIfNeeded();
  const board = await page.locator('.square').filter({ visible: true }).first().boundingBox();
  assert.ok(inView(board, size), `the board beside ${part} ${name(size)}: ${JSON.stringify(board)}`);
}

const PGN = '[Event "Club"]\n[White "Anna"]\n[Black "Ben"]\n[Result "1-0"]\n\n'
  + '1. e4 e5 (1... c5 2. Nf3 {sharp} (2. c3)) 2. Nf3 {solid} 2... Nc6 $6 3. Bb5 1-0\n';

const GAMES = Array.from({ length: 5000 }, (_, index) => `[White "Player ${index + 1}"]\n[Black "Opponent"]\n[Result "1-0"]\n\n1. d4 d5 2. c4 1-0\n`).join('\n');

for (const size of SIZES) {
  test(`a game with variations is pasted, walked with the engine on, and comes back with one more, ${name(size)}`, async () => {
    await resize(page, size);
    await page.locator('.table[data-game]').waitFor();
    await pasted(page, PGN);
    await moves(page, 8);
    await button('Evaluation').click();
    await page.keyboard.press('Home');
    for (const step of [1, 2, 3]) {
      await page.keyboard.press('ArrowRight');
      await page.locator('#status', { hasText: `Looking at move ${Math.ceil(step / 2)} of 3` }).waitFor();
    }
    await page.locator('.evaluation li').first().waitFor();
    await type(page, 'd6');
    await page.locator('#status', { hasText: 'Looking at the variation 2... d6.' }).waitFor();
    await look('variations', size, '.moves');
    assert.equal(movetext(await downloaded(page, () => button('Save PGN').click())),
      '1. e4 e5 (1... c5 2. Nf3 {sharp} (2. c3)) 2. Nf3 {solid} 2... Nc6 $6 (2... d6) 3. Bb5 1-0');
  });

  test(`a file of 5,000 games is dropped beside a running game, and one is found, ${name(size)}`, async () => {
    await resize(page, size);
    await newGame(page, { engine: 'Slow' });
    await type(page, 'e4');
    await moves(page, 1);
    await page.locator('#play input[type=file]').setInputFiles({ name: 'many.pgn', mimeType: 'text/plain', buffer: Buffer.from(GAMES) });
    await page.locator('#games').getByText('5,000 games.').waitFor();
    await page.keyboard.type('player 4321');
    await page.locator('#games').getByText('1 of 5,000 games.').waitFor();
    await photograph(page, 'story-found');
    assert.ok(inView(await page.locator('#games').boundingBox(), size), 'the list is in view');
    await page.keyboard.press('Enter');
    await page.locator('.player .name', { hasText: 'Player 4321' }).waitFor();
    await look('opened', size, '.moves');
    await page.locator('.open-boards').getByRole('link', { name: /You – Slow/ }).click();
    await page.locator('.player .name', { hasText: 'Slow' }).waitFor();
    assert.deepEqual((await moves(page, 1)).map((text) => text.trim()), ['e4']);
  });

  test(`two engines look at one position, ${name(size)}`, async () => {
    await resize(page, size);
    await newGame(page, { side: 'both' });
    await button('Evaluation').click();
    await button('Second engine').click();
    await page.locator('#engine-form [name=engine]').selectOption('Alpha-beta');
    await photograph(page, 'story-engine-form');
    assert.ok(inView(await page.locator('#engine-form').boundingBox(), size), 'the form is in view');
    await page.locator('#engine-form').getByRole('button', { name: 'Start' }).click();
    for (const engine of ['Philidor', 'Alpha-beta']) {
      await page.getByRole('region', { name: `Evaluation of ${engine}` }).locator('li').first().waitFor();
    }
    await look('two-engines', size, '.evaluation >> nth=1');
  });

  test(`a match is watched, interrupted, continued and over, ${name(size)}`, async () => {
    await page.getByRole('link', { name: 'Watch' }).click();
    await resize(page, size);
    await page.locator('.order [name=first]').selectOption('Random moves');
    await page.locator('.order [name=second]').selectOption('Random moves');
    await page.locator('.order [name=games]').fill('8');
    await page.locator('.order [name=seconds]').fill('0.01');
    await button('Begin').click();
    await page.locator('.watched .status', { hasText: 'Random moves against Random moves' }).waitFor();
    await page.locator('[name=delay]').selectOption('10000');
    await page.locator('[name=shown]').selectOption('0');
    await page.locator('.window .square').waitFor();
    if (await button('Suspend').isVisible()) await button('Suspend').click();
    await page.locator('.watched .status', { hasText: /suspended|ended/ }).waitFor();
    await photograph(page, 'story-match', '.window');
    assert.ok(inView(await page.locator('.window .square').boundingBox(), size), `the board ${name(size)}`);
    await page.locator('[name=delay]').selectOption('0');
    if (await button('Resume').isVisible()) await button('Resume').click();
    await page.locator('.watched .status', { hasText: 'ended after 8 of 8' }).waitFor();
    await photograph(page, 'story-match-over');
  });

  test(`a run is started, paused and gone on with, ${name(size)}`, async () => {
    await page.getByRole('link', { name: 'Train' }).click();
    await resize(page, size);
    const run = `r${size.join('x')}`;
    const region = page.getByRole('region', { name: `Run ${run}` });
    await page.locator('.start > summary').click();
    await page.getByText('Samples per step.').waitFor();
    await page.locator('.start-form [name=name]').fill(run);
    await photograph(page, 'story-run-form');
    await button('Start').click();
    await region.getByText('100 of 200').waitFor();
    await region.getByRole('button', { name: 'Pause …' }).click();
    await photograph(page, 'story-run-question');
    assert.ok(inView(await page.getByRole('dialog').boundingBox(), size), 'the question is in view');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause it' }).click();
    await region.getByRole('button', { name: 'Go on …', disabled: false }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Go on', exact: true }).click();
    await region.getByText('finished').waitFor();
    await photograph(page, 'story-run');
  });
}

test('a move of the twentieth tab is seen in the first, in windows of all sizes', async () => {
  await newGame(page, { side: 'both' });
  const tabs = [];
  for (let tab = 0; tab < 19; tab += 1) tabs.push(await openTab(studio.browser, studio.server.url, { context: page.context() }));
  for (const [index, size] of SIZES.entries()) {
    const tab = tabs[18 - index];
    await resize(tab, size);
    await tab.locator('#status', { hasText: 'your move' }).waitFor();
    await type(tab, ['e4', 'e5', 'Nf3', 'Nc6'][index]);
    await moves(page, index + 1);
    await photograph(tab, 'story-tabs');
  }
  await counted(tabs[0].locator('.move'), 4);
  assert.deepEqual(tabs.flatMap((tab) => tab.faults), []);
});
