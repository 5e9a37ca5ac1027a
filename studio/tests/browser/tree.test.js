import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, downloaded, drag, eachTest, moves, newGame, openTab, pasted, scripted, type } from './harness.js';

let page;
const studio = eachTest({ engines: [scripted('Script', 'e7e5 b8c6 g8f6')] }, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });
const status = (text) => page.locator('#status', { hasText: text }).waitFor();
const shown = (san) => page.locator('.move[aria-current]', { hasText: san }).waitFor();

const PGN = '[Event "Club"]\n[White "Anna"]\n[Black "Ben"]\n[Result "1-0"]\n\n'
  + '{start} 1. e4 $1 {[%cal Ge4e5] best} (1. d4 d5 (1... Nf6 $6 {Indian} 2. c4) 2. c4) 1... e5 2. Nf3 Nc6\n3. Bb5 {Spanish} 3... a6 1-0\n';

async function load(text) {
  await page.locator('input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.locator('.player .name', { hasText: 'Anna' }).waitFor();
}

async function saved() {
  const file = await downloaded(page, () => button('Save PGN').click());
  return file.toString();
}

/** The movetext without its line breaks. */
const movetext = (pgn) => pgn.split('\n\n')[1].replaceAll('\n', ' ').trim();

test('a PGN comes in with variations, comments and marks, and goes out as it was', async () => {
  await load(PGN);
  assert.deepEqual((await moves(page, 11)).map((text) => text.trim()), [
    'e4! good move', '1. d4', 'd5', '1... Nf6?! dubious move', '2. c4', '2. c4', 'e5', 'Nf3', 'Nc6', 'Bb5', 'a6',
  ]);
  await page.locator('.comment', { hasText: 'Spanish' }).waitFor();
  await page.locator('.line .comment', { hasText: 'Indian' }).waitFor();
  assert.equal(movetext(await saved()), movetext(PGN));
  await accessible(page);
});

test('PGN and FEN are pasted', async () => {
  await status('White to move');
  await pasted(page, PGN);
  await moves(page, 11);
  await pasted(page, '4k3/8/8/8/8/8/4P3/4K3 b - - 3 40');
  await moves(page, 0);
  await type(page, 'Kd7');
  await moves(page, 1);
  assert.match(await saved(), /40\.\.\. Kd7 \*/);
  // There, the moves of an engine's line are played, as on every board for analysis.
  await button('Evaluation').click();
  const line = page.locator('.evaluation li').first();
  await line.locator('.line-move').nth(1).hover();
  await line.locator('.line-move').nth(1).click();
  await moves(page, 3);
  // A game of Chess960 keeps its name also without a board of its own.
  await pasted(page, 'rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w KQkq - 0 1');
  await moves(page, 0);
  assert.match(await saved(), /\[White "\?"\][^]*\[Variant "Chess960"\]/);
});

test('nobody takes back a move of a game that was loaded, and clocks stand where the game stopped', async () => {
  await load(PGN);
  await page.getByRole('button', { name: 'Take back', exact: true, disabled: true }).waitFor();
  await newGame(page, { side: 'both', timed: true, minutes: '30' });
  await type(page, 'e4');
  await moves(page, 1);
  await page.waitForFunction(() => document.querySelector('.clock.black').textContent !== '30:00');
  await button('Resign').click();
  await button('Yes, resign').click();
  await status('White wins by resignation');
  await page.locator('.clock.black', { hasText: /^29:\d\d$/ }).waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('End');
  await page.locator('.clock.black', { hasText: /^29:\d\d$/ }).waitFor();
});

test('the position that is looked at is the one that is analysed', async () => {
  await load(PGN);
  await button('Evaluation').click();
  const first = page.locator('.evaluation li').first();
  await first.waitFor();
  await page.keyboard.press('Home');
  await status('Looking at move 0 of 3');
  await first.filter({ hasText: / (d4|e4|Nf3|c4) / }).waitFor();
  await button('Search tree').click();
  const root = page.locator('.tree button.tree-row');
  await root.filter({ hasText: /^\s*e4/ }).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await status('Looking at the variation 1. d4.');
  await page.locator('.opening', { hasText: "Queen's Pawn" }).waitFor();
  await first.filter({ hasText: / (d5|Nf6|e6) / }).waitFor();
  await root.filter({ hasText: /^\s*Nf6/ }).waitFor();
  // Another tab has its own place, and the evaluation is that of the last.
  const other = await openTab(studio.browser, studio.server.url, { context: page.context() });
  await other.locator('#status', { hasText: 'White wins as recorded' }).waitFor();
  await page.getByText('Another tab looks at another position.').waitFor();
  await status('Looking at the variation 1. d4.');
  await button('Analyse this one').click();
  await first.filter({ hasText: / (d5|Nf6|e6) / }).waitFor();
});

test('a line of the engine is played into the tree, and a review is kept there', async () => {
  await load(PGN);
  await button('Evaluation').click();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await status('Looking at move 1 of 3');
  const line = page.locator('.evaluation li').first();
  await line.locator('.line-move').nth(2).waitFor();
  // Below the mouse they stand still.
  await line.hover();
  await line.locator('.line-move').nth(2).click();
  await status(/Looking at (the variation 3\. |move 3 of 3)/);
  await button('Review this game').click();
  await page.locator('.review select').waitFor();
  await button('Keep in the game').click();
  await button('Undo').waitFor();
  await page.waitForFunction(() => document.querySelector('[title="Undo: keep the review"]'));
  assert.match(movetext(await saved()), /3\. Bb5 (\$\d+ )?\{\[%eval [^\]]+\][^}]*\} \{Spanish\}/);
});

test('board, moves and engine are usable together on screens of every size', async () => {
  await load(PGN);
  await button('Evaluation').click();
  await page.locator('.evaluation li').first().waitFor();
  for (const [width, height] of [[360, 740], [740, 360], [640, 400], [1280, 800], [2560, 1440]]) {
    await page.setViewportSize({ width, height });
    await page.waitForFunction((w) => document.documentElement.scrollWidth <= w, width);
    for (const part of ['.evaluation', '.browse']) {
      await page.locator(part).scrollIntoViewIfNeeded();
      const [board, shown] = [await page.locator('.square').boundingBox(), await page.locator(part).boundingBox()];
      const where = `${part} at ${width} x ${height}`;
      assert.ok(board.y >= 0 && board.y + board.height <= height, `the board beside ${where}: ${JSON.stringify(board)}`);
      assert.ok(board.x + board.width <= width && board.width >= 0.6 * Math.min(width, height), `its size beside ${where}: ${board.width}`);
      assert.ok(shown.y + shown.height > 0 && shown.y < height, where);
    }
  }
});

test('variations are added by mouse and keyboard, edited by menu and keyboard, and undone', async () => {
  await load(PGN);
  await page.locator('.move', { hasText: 'Nf3' }).click();
  await status('Looking at move 2 of 3');
  await page.waitForFunction(() => document.querySelectorAll('cg-board piece').length === 32);
  await drag(page, 'g8', 'f6');
  await shown('2... Nf6');
  await status('Looking at the variation 2... Nf6.');
  await type(page, 'd4');
  await shown('3. d4');
  // The same move again enters what is there.
  await page.keyboard.press('ArrowLeft');
  await page.locator('#typed').blur();
  await type(page, 'd4');
  await shown('3. d4');
  await moves(page, 13);
  await page.locator('.moves').focus();
  await page.keyboard.press('?');
  await page.locator('#keys').getByText('make it the main line').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await page.locator('#keys').waitFor({ state: 'detached' });
  await page.keyboard.press('m');
  await page.locator('.moves td > .move', { hasText: 'Nf6' }).waitFor();
  await page.keyboard.press('z');
  await page.locator('.line .move', { hasText: 'Nf6' }).nth(1).waitFor();
  await page.keyboard.press('c');
  await page.locator('#move-menu textarea').fill('a {new} idea');
  await accessible(page);
  await page.keyboard.press('Enter');
  await page.locator('.line .comment', { hasText: 'a (new) idea' }).waitFor();
  await page.locator('.move', { hasText: '2... Nf6' }).click({ button: 'right' });
  await page.locator('#move-menu').getByRole('button', { name: 'interesting move' }).click();
  await page.locator('#move-menu').getByRole('button', { name: 'Close' }).click();
  await page.locator('.move', { hasText: '2... Nf6!?' }).waitFor();
  assert.match(movetext(await saved()), /2\. Nf3 Nc6 \(2\.\.\. Nf6 \$5 3\. d4 \{a \(new\) idea\}\) 3\. Bb5/);
  await page.locator('.moves').focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Delete');
  await status('Looking at move 2 of 3');
  await moves(page, 11);
  await button('Undo').click();
  await moves(page, 13);
  await page.reload();
  await moves(page, 13);
});

test('a running game takes the board along unless it is told not to, and keeps its moves', async () => {
  await newGame(page, { engine: 'Script', move_time: '0.1' });
  await type(page, 'e4');
  await moves(page, 2);
  await page.getByRole('button', { name: 'Follow', exact: true, pressed: true }).waitFor();
  await button('Follow').click();
  await type(page, 'Nf3');
  await moves(page, 4);
  // It was this tab's own move: the board is where it led.
  await page.locator('#typed').blur();
  await page.keyboard.press('Home');
  await status('Looking at move 0 of 2');
  await drag(page, 'd2', 'd4');
  await shown('1. d4');
  await page.keyboard.press('m');
  await page.getByRole('alert').filter({ hasText: 'stay the main line' }).waitFor();
  await page.locator('.move', { hasText: 'Nc6' }).click();
  await status('White to move: your move');
  await type(page, 'Bb5');
  await moves(page, 7);
  assert.match(movetext(await saved()), /^1\. e4 \(1\. d4\) 1\.\.\. e5 2\. Nf3 Nc6 3\. Bb5 Nf6 \*$/);
});
