import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SIZES, eachTest, inView, moves, newGame, photograph, program, resize, type } from './harness.js';

const folder = mkdtempSync(join(tmpdir(), 'philidor-screens-'));

/** A puzzle: mate on the back rank. */
const PUZZLES = 'PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n'
  + '00001,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a6 b1b8,900,80,90,100,mateIn1 backRankMate short,,\n';

/** A game with a blunder, variations, comments, clocks. */
const PGN = `[Event "Club championship"]
[White "Anna Rosenberg"]
[Black "Benjamin Whitfield"]
[WhiteElo "2105"]
[BlackElo "2240"]
[Result "1-0"]

1. e4 {[%clk 0:09:58]} e5 {[%clk 0:09:55]} 2. Nf3 {[%clk 0:09:50]} Nc6 {[%clk 0:09:41]} 3. Bc4 Bc5 (3... Nf6 4. Ng5 {The
sharpest try.} d5 5. exd5 Na5 (5... Nxd5? 6. Nxf7!) 6. Bb5+) 4. c3 Nf6 5. d3 d6 6. O-O O-O 7. Re1 a6 8. Bb3 Ba7 9. h3 h6
10. Nbd2 Be6 11. Nf1 Qd7? {Black overlooks what this gives up.} 12. Ng3 Rfe8 13. Be3 Bxe3 14. Rxe3 d5 15. exd5 Bxd5 16. Bxd5 Nxd5
17. Re1 Rad8 18. Qb3 Nb6 19. Rad1 Qf5?? 20. Nxf5 1-0
`;

/** The curves of a run that learns. */
const report = (step) => JSON.stringify({
  step, samples: step * 4096, time_s: step * 3, lr: 0.002 / Math.sqrt(step), policy_loss: 1.9 + 2 / Math.sqrt(step),
  wdl_loss: 0.7 + 0.4 / Math.sqrt(step), top1: 0.5 - 0.5 / Math.sqrt(step), samples_per_s: 1400,
  ...(step % 10 ? {} : { validation: { policy_loss: 1.95 + 2 / Math.sqrt(step), wdl_loss: 0.72 + 0.4 / Math.sqrt(step), top1: 0.48 - 0.5 / Math.sqrt(step) } }),
});

before(async () => {
  for (const name of ['first', 'second']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'config.json'), '{"samples": 1000000}');
    writeFileSync(join(folder, name, 'metrics.jsonl'), Array.from({ length: 120 }, (_, step) => `${report(step + 1)}\n`).join(''));
  }
  writeFileSync(join(folder, 'puzzles.csv'), PUZZLES);
});
after(() => rmSync(folder, { recursive: true, force: true }));

let page;
const studio = eachTest({
  flags: ['--puzzles', join(folder, 'puzzles.csv'), '--runs', folder, '--trainer', program('philidor-trainer', 'PHILIDOR_TRAINER')],
}, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });

/** Where an element is; the page is at its top. */
const box = (selector) => page.locator(selector).filter({ visible: true }).first().boundingBox();

/** Whether two boxes have more than an edge in common. */
const overlap = (a, b) => a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width && a.y + 1 < b.y + b.height && b.y + 1 < a.y + a.height;

/** Photographs what is shown at every size, where all of these parts are in view and none lies on another. */
async function atEverySize(name, parts = [], { from, sizes = SIZES } = {}) {
  const faults = [];
  for (const size of SIZES) {
    await resize(page, size);
    await photograph(page, name, from);
    if (!sizes.includes(size)) continue;
    const boxes = await Promise.all(parts.map(box));
    boxes.forEach((shown, index) => {
      const where = `${parts[index]} at ${size.join(' × ')}: ${JSON.stringify(shown)}`;
      if (!inView(shown, size)) faults.push(`not in view: ${where}`);
      if (parts[index] === '.square' && shown.width < 0.6 * Math.min(...size)) faults.push(`small: ${where}`);
      if (boxes.slice(0, index).some((other) => overlap(other, shown))) faults.push(`covered: ${where}`);
    });
  }
  assert.deepEqual([...faults, ...page.faults], [], name);
}

test('a game is played', async () => {
  await newGame(page, { engine: 'Philidor', level: 'beginner', timed: true, minutes: '5', increment: '3' });
  for (const [move, count] of [['e4', 2], ['d4', 4]]) {
    await type(page, move);
    await moves(page, count);
  }
  await atEverySize('play', ['.square', '#status']);
});

/** Loads the game with the blunder. */
async function load() {
  await page.locator('#play input[type=file]').setInputFiles({ name: 'club.pgn', mimeType: 'text/plain', buffer: Buffer.from(PGN) });
  await page.locator('.move', { hasText: 'Qd7' }).waitFor();
}

test('a game is analysed by two engines', async () => {
  await load();
  await page.locator('.move', { hasText: 'Qd7' }).click();
  await button('Evaluation').click();
  await page.locator('.evaluation li').nth(2).waitFor();
  await atEverySize('analysis-one-engine', ['.square', '.evaluation', '.moves', '.browse']);
  await button('Second engine').click();
  await page.locator('#engine-form').getByRole('button', { name: 'Start' }).click();
  await page.locator('.evaluation').nth(1).locator('li').nth(2).waitFor();
  await atEverySize('analysis-two-engines', ['.square', '.evaluation', '.evaluation >> nth=1', '.moves', '.browse'], { sizes: SIZES.slice(2) });
});

test('a game is reviewed', async () => {
  await load();
  await page.locator('[name=nodes]').selectOption('2000');
  await button('Review this game').click();
  await button('Keep in the game').waitFor();
  await page.locator('.move.blunder').first().click();
  await atEverySize('review', ['.square', '.moves', '.browse']);
  for (const size of SIZES) {
    await resize(page, size);
    // The list follows the window in the next frame.
    await page.waitForFunction(() => {
      const [list, move] = ['.moves', '.move[aria-current]'].map((part) => document.querySelector(part).getBoundingClientRect());
      return move.top >= list.top - 1 && move.bottom <= list.bottom + 1;
    });
  }
});

test('the library lists the games', async () => {
  await newGame(page, { side: 'both' });
  await type(page, 'e4');
  await moves(page, 1);
  await load();
  await button('Games …').click();
  await page.locator('#library .game').first().waitFor();
  await atEverySize('library', ['#library']);
});

test('the explorer, the search tree and a form are shown', async () => {
  await load();
  await page.keyboard.press('Home');
  await button('Evaluation').click();
  await button('Explorer').click();
  await button('Search tree').click();
  await page.locator('.explorer tbody tr').first().waitFor();
  await atEverySize('explorer', ['.square', '.browse']);
  await button('Explorer').click();
  await button('Search tree').click();
  await button('New game').click();
  await atEverySize('new-game', ['#new-game']);
});

test('a puzzle is solved', async () => {
  await page.getByRole('link', { name: 'Puzzles' }).click();
  await page.locator('#puzzles cg-board piece').first().waitFor();
  await atEverySize('puzzle', ['.square', '#puzzles .status']);
  await page.locator('#puzzle-move').fill('Rb8');
  await page.keyboard.press('Enter');
  await page.locator('#puzzles').getByText('mateIn1').waitFor();
  await atEverySize('puzzle-solved', ['.square', '#puzzles .status']);
});

test('a match is watched', async () => {
  await page.getByRole('link', { name: 'Watch' }).click();
  await page.locator('.order [name=first]').waitFor();
  await atEverySize('watch-empty');
  await page.locator('.order [name=first]').selectOption('Philidor');
  await page.locator('.order [name=second]').selectOption('UCT with rollouts');
  await page.locator('.order [name=games]').fill('40');
  await page.locator('.order [name=at_once]').fill('4');
  await page.locator('.order [name=seconds]').fill('0.1');
  await button('Begin').click();
  await page.locator('.live figcaption', { hasText: /move \d+/ }).nth(3).waitFor();
  await atEverySize('watch-wall');
  await page.locator('[name=shown]').selectOption('0');
  await page.locator('.mind tbody tr').first().waitFor();
  await atEverySize('watch-window', ['.square'], { from: '.window' });
});

test('a run is followed, and another is prepared', async () => {
  await page.getByRole('link', { name: 'Train' }).click();
  await page.locator('.chart canvas').nth(2).waitFor();
  await page.getByRole('region', { name: 'Run second' }).getByLabel('compare').check();
  await atEverySize('train');
  await page.locator('.start > summary').click();
  await page.locator('.start-form dt').first().waitFor();
  await atEverySize('train-form');
});
