import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, answersDone, counted, downloaded, eachTest, moves, newGame, pasted, resize, scripted, type } from './harness.js';

let page;
const studio = eachTest({ engines: [scripted('Script', 'e7e5 b8c6 g8f6')] }, () => ({ page } = studio));

const both = () => newGame(page, { side: 'both' });
const button = (name) => page.getByRole('button', { name, exact: true });

test('lines have visits, prior and mean result, the policy is drawn, and a line is played where one points', async () => {
  await both();
  await button('Evaluation').click();
  await page.locator('.evaluation li .npq', { hasText: /N\s[\s\S]*P\s[\s\S]*Q\s/ }).first().waitFor();
  await button('Policy').click();
  await page.locator('cg-board square[class*=heat-]').first().waitFor();
  await page.locator('.cg-shapes g, .cg-shapes line').first().waitFor({ state: 'attached' });
  await counted(page.locator('cg-board piece.white.pawn'), 8);
  await page.locator('.evaluation li').first().hover();
  // The line's first move stands on the board, and goes when the pointer leaves.
  await page.locator('cg-board square.last-move').first().waitFor();
  await page.mouse.move(5, 5);
  // Chessground keeps squares that it does not need, hidden.
  await page.waitForFunction(() => [...document.querySelectorAll('cg-board square.last-move')]
    .every((square) => square.getClientRects().length === 0));
  await accessible(page);
});

test('the search tree is unfolded move by move', async () => {
  await both();
  await type(page, 'e4');
  await moves(page, 1);
  await button('Evaluation').click();
  await page.locator('.evaluation li').first().waitFor();
  await button('Search tree').click();
  const tree = page.getByRole('region', { name: 'Search tree' });
  for (let depth = 0; depth < 3; depth += 1) {
    const closed = tree.locator('ul '.repeat(depth + 1).trim()).last().locator('> li > button.tree-row:enabled').first();
    await closed.click();
    await tree.locator('ul '.repeat(depth + 2).trim()).first().waitFor();
  }
  await tree.locator('button.tree-row').first().filter({ hasText: /visits[\s\S]*prior[\s\S]* %[\s\S]*mean result/ }).waitFor();
  await accessible(page);
  // Another position, another tree.
  await type(page, 'e5');
  await moves(page, 2);
  await tree.locator('button.tree-row').first().waitFor();
  await counted(tree.locator('ul ul'), 0);
});

test('mean results in the search tree are blue where they are good for the mover, and orange where they are bad', async () => {
  // The queen takes the other one with check.
  await pasted(page, '3qk3/8/8/8/8/8/4P3/3QK2R w - - 0 1');
  await button('Evaluation').click();
  await page.locator('.evaluation li').first().waitFor();
  await button('Search tree').click();
  const takes = page.locator('.tree button.tree-row', { hasText: 'Qxd8+', has: page.locator('.q.for-3') });
  await takes.click();
  await page.locator('.tree ul ul button.tree-row', { hasText: 'Kxd8', has: page.locator('.q.against-3') }).waitFor();
  // The stop lets the numbers stand still.
  await page.getByRole('button', { name: /^Stop / }).click();
  const shown = await page.locator('.tree .q').evaluateAll((cells) => cells.map((cell) => [cell.className, cell.lastChild.textContent]));
  for (const [className, text] of shown) assert.match(`${className} ${text}`, /^q (for-\d \+|against-\d −)/);
  await accessible(page);
});

const SHORT = '[White "Fool"]\n[Black "Mate"]\n[Result "0-1"]\n\n1. f3 {odd} e5 2. g4 Qh4# 0-1\n';

test('a PGN that is dropped on the page is reviewed, moves are coloured, the curve is a slider', async () => {
  await page.locator('#status').waitFor();
  const data = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'game.pgn', { type: 'application/x-chess-pgn' }));
    return transfer;
  }, `${SHORT}\n[White "Second"]\n[Black "Game"]\n[Result "*"]\n\n1. d4 d5 *\n`);
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
  // The file has two games: the first is chosen in the list.
  const list = page.locator('#games');
  await list.getByRole('option').nth(1).waitFor();
  await accessible(page);
  await page.keyboard.press('Enter');
  await list.waitFor({ state: 'detached' });
  assert.deepEqual((await moves(page, 4)).length, 4);
  await page.locator('.move.blunder', { hasText: 'g4' }).waitFor();
  await button('Save reviewed PGN').waitFor();
  const slider = page.getByRole('slider', { name: "White's win probability by move" });
  await slider.focus();
  await page.keyboard.press('Home');
  await page.locator('#status', { hasText: 'Looking at move 0' }).waitFor();
  for (let ply = 0; ply < 3; ply += 1) await page.keyboard.press('ArrowRight');
  await page.locator('.remark', { hasText: 'Blunder: it allows a forced mate.' }).waitFor();
  await page.locator('.reason', { hasText: 'Qh4#' }).waitFor();
  await page.waitForFunction(() => /Move 2, g4: White \d+ %/.test(document.querySelector('.curve input').getAttribute('aria-valuetext')));
  await page.getByRole('row', { name: /^Mate / }).waitFor();
  await accessible(page);
  const file = await downloaded(page, () => button('Save reviewed PGN').click());
  const pgn = file.toString();
  assert.match(pgn, /\[Annotator "Philidor/);
  assert.match(pgn, /2\. g4 \$4/);
  assert.match(pgn, /\{odd\}/);
  // The file's other game has no review yet.
  await button('Next game').click();
  await moves(page, 2);
  await counted(slider, 0);
});

test('the evaluations of the game that is played are a curve while the evaluation is shown', async () => {
  await newGame(page, { engine: 'Philidor', move_time: '0.1' });
  await type(page, 'e4');
  await moves(page, 2);
  await type(page, 'd4');
  await moves(page, 4);
  await page.locator('#status', { hasText: 'your move' }).waitFor();
  const slider = page.getByRole('slider', { name: "White's chances by move" });
  await answersDone(page);
  await counted(slider, 0);
  // The engine has evaluated both its moves while it played.
  await button('Evaluation').click();
  await slider.waitFor();
  const has = (plies) => page.waitForFunction((known) => known.every((ply) => (
    ` ${document.querySelector('.curve polyline')?.getAttribute('points')}`.includes(` ${ply},`))), plies);
  await has([2, 4]);
  const box = await page.locator('.curve svg').boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator('#status', { hasText: 'Looking at move 1 of 2' }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await has([1, 2, 4]);
  assert.match(await slider.getAttribute('aria-valuetext'), /^Move 1, e4: White \d+ %, [+−]\d/);
  await slider.focus();
  await page.keyboard.press('Home');
  await page.locator('#status', { hasText: 'Looking at move 0' }).waitFor();
  await accessible(page);
  await page.reload();
  await has([0, 1, 2, 4]);
  // The slider stands before the field for moves, which still takes them.
  await type(page, 'c3');
  await moves(page, 6);
  await has([0, 1, 2, 4, 6]);
  for (const size of [[360, 740], [1280, 800]]) await resize(page, size);
  await button('Evaluation').click();
  await counted(slider, 0);
});

test('a review is stopped', async () => {
  await newGame(page, { side: 'both' });
  for (const [index, move] of ['e4', 'e5', 'Nf3', 'Nc6', 'Bb5'].entries()) {
    await type(page, move);
    await moves(page, index + 1);
  }
  await page.locator('.review select').selectOption('100000');
  await button('Review this game').click();
  await page.getByRole('progressbar', { name: 'Positions reviewed' }).waitFor();
  await button('Stop').click();
  await page.locator('.review .notice', { hasText: 'stopped' }).waitFor();
  await page.reload();
  await moves(page, 5);
  // The choice is remembered.
  await page.waitForFunction(() => document.querySelector('.review select')?.value === '100000');
});

test('a game begins with an opening that is found by its name', async () => {
  await button('New game').click();
  await page.locator('[name=side]').selectOption('both');
  await page.locator('[name=start]').selectOption('opening');
  await page.locator('[name=opening_name]').fill('najdorf');
  await page.locator('[name=opening] option', { hasText: 'Sicilian Defense: Najdorf Variation' }).first().waitFor({ state: 'attached' });
  await accessible(page);
  await button('Begin').click();
  assert.equal((await moves(page, 10)).at(-1), 'a6');
  await page.locator('.opening', { hasText: 'Opening: B90 Sicilian Defense: Najdorf Variation' }).waitFor();
});

test('an answer to what was typed before does not replace the openings that were found', async () => {
  let isLate;
  const late = new Promise((resolve) => { isLate = resolve; });
  await page.route('**/api/openings?name=', async (route) => {
    await late;
    await route.continue();
  });
  await button('New game').click();
  await page.locator('[name=start]').selectOption('opening');
  await page.locator('[name=opening_name]').fill('najdorf');
  const najdorf = page.locator('[name=opening] option', { hasText: 'Najdorf' });
  await najdorf.first().waitFor({ state: 'attached' });
  const answered = page.waitForResponse('**/api/openings?name=');
  isLate();
  await (await answered).finished();
  await answersDone(page);
  assert.ok(await najdorf.count() > 0);
});

test('captured pieces and the phase are shown, and sounds are off until they are asked for', async () => {
  await newGame(page, { side: 'both', start: 'fen', fen: '4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1' });
  await page.locator('.opening', { hasText: 'Endgame' }).waitFor();
  await page.evaluate(() => {
    window.tones = 0;
    const { start } = OscillatorNode.prototype;
    OscillatorNode.prototype.start = function counted(...when) {
      window.tones += 1;
      return start.apply(this, when);
    };
  });
  await type(page, 'exd5');
  await moves(page, 1);
  await page.locator('.player', { hasText: 'has captured pawn' }).waitFor();
  await page.locator('.lead', { hasText: '+1' }).waitFor();
  assert.equal(await page.evaluate(() => window.tones), 0);
  await button('Settings …').click();
  await page.getByLabel('Sounds').check();
  await page.keyboard.press('Escape');
  await type(page, 'Kd7');
  await moves(page, 2);
  await page.waitForFunction(() => window.tones >= 2);
  await page.reload();
  await moves(page, 2);
  await button('Settings …').click();
  await page.getByRole('checkbox', { name: 'Sounds', checked: true }).waitFor();
});

test('two engines play each other', async () => {
  await newGame(page, { side: 'neither', engine: 'Random moves', other: 'Random moves', move_time: '0.1' });
  await page.waitForFunction(() => document.querySelectorAll('.move').length > 6);
  await newGame(page, { side: 'both' });
});

test('a file of 5,000 games is dropped while a game is running: one is found, and nothing is lost', async () => {
  await newGame(page, { side: 'both' });
  await type(page, 'e4');
  await moves(page, 1);
  const games = Array.from({ length: 5000 }, (_, index) => `[White "Player ${index + 1}"]\n[Black "Opponent"]\n`
    + `[Date "1${String(index).padStart(3, '0').slice(-3)}.??.??"]\n[Result "1-0"]\n\n1. d4 d5 2. c4 {${'x'.repeat(300)}} 1-0\n`).join('\n');
  assert.ok(games.length > 1_500_000);
  const file = { name: 'many.pgn', mimeType: 'text/plain', buffer: Buffer.from(games) };
  await page.locator('input[type=file]').setInputFiles(file);
  const list = page.locator('#games');
  await list.getByText('5,000 games.').waitFor();
  assert.ok(await list.getByRole('option').count() < 60, 'only the rows in view are drawn');
  await page.keyboard.press('Control+End');
  await list.getByRole('option', { name: 'Player 5000 – Opponent' }).waitFor();
  await page.keyboard.press('PageUp');
  await page.keyboard.press('ArrowUp');
  await page.waitForFunction(() => Number(document.querySelector('#games [aria-selected=true] .number')?.textContent) < 4999);
  await page.keyboard.type('player 4321');
  await list.getByText('1 of 5,000 games.').waitFor();
  await page.keyboard.press('Enter');
  await list.waitFor({ state: 'detached' });
  await page.locator('.player .name', { hasText: 'Player 4321' }).waitFor();
  assert.deepEqual(await moves(page, 3), ['d4', 'd5', 'c4']);
  await page.locator('.games', { hasText: 'Game 4,321 of 5,000: Player 4321 – Opponent' }).waitFor();
  await button('All games').click();
  await page.keyboard.type('nobody');
  await list.getByText('0 of 5,000 games.').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  // The game has kept its board, and the library leads there.
  await button('Games …').click();
  await page.locator('#library .game', { hasText: 'on another board' }).click();
  assert.deepEqual(await moves(page, 1), ['e4']);
  await type(page, 'e5');
  assert.deepEqual(await moves(page, 2), ['e4', 'e5']);
});
