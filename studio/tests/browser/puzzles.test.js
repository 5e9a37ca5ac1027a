import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessible, eachTest, moves, newGame, onBoard, type } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const room = () => page.locator('#puzzles');
const button = (name) => room().getByRole('button', { name, exact: true });
const status = (text) => room().locator('.status', { hasText: text }).waitFor();

const CSV = `PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags
00ymq,Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PPK/3R4 w - - 4 29,h2g1 e4g3 f2g3 f5c2,1500,77,93,3396,crushing short,https://lichess.org/x#57,
00mate,7k/R7/6K1/8/8/8/8/8 b - - 0 1,h8g8 a7a8,900,77,93,10,mateIn1,https://lichess.org/y,
`;

function load(name, text) {
  return room().locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
}

/** A zstd frame whose blocks are not compressed. */
function stored(bytes) {
  const LONGEST = 1 << 17;
  // The magic number, no flags, a window of 2 MB.
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])];
  for (let at = 0; at < bytes.length; at += LONGEST) {
    const block = bytes.subarray(at, at + LONGEST);
    const head = Buffer.alloc(3);
    head.writeUIntLE((at + LONGEST >= bytes.length ? 1 : 0) | block.length << 3, 0, 3);
    parts.push(head, block);
  }
  return Buffer.concat(parts);
}

/** The middle of a square of the puzzle's board, with Black at the bottom. */
async function square(name) {
  const box = await room().locator('cg-board').boundingBox();
  const [file, rank] = [name.charCodeAt(0) - 97, Number(name[1]) - 1];
  return [box.x + (7 - file + 0.5) * box.width / 8, box.y + (rank + 0.5) * box.height / 8];
}

async function drag(from, to) {
  await page.mouse.move(...await square(from));
  await page.mouse.down();
  await page.mouse.move(...await square(to), { steps: 4 });
  await page.mouse.up();
}

test('puzzles of a file are solved on the board and by keys, refused, shown, and the network is heard', async () => {
  await page.getByRole('link', { name: 'Puzzles' }).click();
  await room().getByText('its mistakes become puzzles').waitFor();
  await load('games.csv', '1. e4 e5 *');
  await room().getByRole('alert').filter({ hasText: 'this is no table of puzzles' }).waitFor();
  await accessible(page);
  await load('some.csv', CSV);
  await status('Black to move: find the best move.');
  await room().getByText('Puzzle 00ymq, rated 1500').waitFor();
  await drag('f5', 'h3');
  await room().locator('.word', { hasText: 'Qxh3 is not it: look again.' }).waitFor();
  await accessible(page);
  await drag('e4', 'g3');
  await room().locator('.word', { hasText: 'Right. Go on.' }).waitFor();
  await room().locator('#puzzle-move').fill('Qc2');
  await page.keyboard.press('Enter');
  await status('Solved, after a wrong move.');
  await room().getByText('Themes: crushing short').waitFor();
  await room().locator('.opinion', { hasText: /Philidor's network gives Nxg3 a prior of [\d.]+ %, .* of \d+ moves.* for the solver/ }).waitFor();
  await accessible(page);
  // Its position is analysed on a board, beside the game that is played.
  await button('Open on a board').click();
  await page.locator('#play #status', { hasText: 'Black to move' }).waitFor();
  // Nothing was on the first board.
  await onBoard(page, 1);
  await page.goBack();
  await button('Next').focus();
  await page.keyboard.press('n');
  await status('White to move');
  await page.keyboard.press('/');
  await page.keyboard.type('Ra8');
  await page.keyboard.press('Enter');
  await status('Solved.');
  await room().getByText('1 solved at once, 1 with help or after a wrong move').waitFor();
  await room().getByRole('button', { name: 'Next', exact: true, disabled: true }).waitFor();
  await button('Previous').click();
  await status('Black to move');
  await page.keyboard.press('a');
  await room().getByText('29... Nxg3 30. fxg3 Qc2').waitFor();
  await room().getByLabel('to', { exact: true }).fill('1000');
  await page.keyboard.press('Enter');
  await status('White to move');
  await button('Previous').click();
  await room().getByRole('alert').filter({ hasText: 'There is no puzzle rated 0 to 1000 before this one.' }).waitFor();
  await room().getByLabel('to', { exact: true }).fill('');
  await page.keyboard.press('Enter');
  await button('Previous').click();
  await status('Black to move');
  await page.setViewportSize({ width: 360, height: 740 });
  // The board follows the window's size in the next frame.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
  await page.reload();
  await room().getByText('Puzzle 1 of 2').waitFor();
});

test('a file beyond 64 MB is read with its progress, packed or not', async () => {
  const [header, line] = CSV.split('\n');
  // Long themes make it large with few puzzles.
  const themes = 'crushing '.repeat(4000);
  const lines = Array.from({ length: 2000 }, (_, number) => line.replace('00ymq', `n${number}`).replace('crushing short', themes));
  const file = join(studio.server.folder, 'big.csv');
  writeFileSync(file, `${header}\n${lines.join('\n')}\n`);
  assert.ok(statSync(file).size > 64 << 20);
  writeFileSync(`${file}.zst`, stored(readFileSync(file)));
  await page.evaluate(() => {
    window.seen = new Set();
    new MutationObserver(() => document.querySelectorAll('#puzzles .reading p').forEach((words) => window.seen.add(words.textContent)))
      .observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await page.getByRole('link', { name: 'Puzzles' }).click();
  for (const path of [file, `${file}.zst`]) {
    await room().locator('input[type=file]').setInputFiles(path);
    await room().getByText(`Puzzle 1 of 2,000`).waitFor();
    await room().locator('option', { hasText: `${path.split('/').at(-1)} (2,000)` }).waitFor({ state: 'attached' });
    await button('Next').click();
    await room().getByText('Puzzle n1, rated 1500').waitFor();
  }
  const seen = await page.evaluate(() => [...window.seen]);
  assert.ok(seen.some((words) => /^Reading big\.csv: [\d,]+ puzzles, \d+ %$/.test(words)), seen.join('; '));
});

test('the mistakes of a review become puzzles', async () => {
  await newGame(page, { side: 'both' });
  for (const [index, move] of ['f3', 'e5', 'g4', 'Qh4'].entries()) {
    await type(page, move);
    await moves(page, index + 1);
  }
  await page.locator('[name=nodes]').selectOption('2000');
  await page.getByRole('button', { name: 'Review this game' }).click();
  await page.getByRole('button', { name: 'Keep in the game' }).waitFor();
  await page.getByRole('link', { name: 'Puzzles' }).click();
  await status('White to move: find the best move.');
  await room().getByText('move 2 of White').waitFor();
  await room().locator('#puzzle-move').fill('g4');
  await page.keyboard.press('Enter');
  await room().locator('.word', { hasText: 'g4 is not it' }).waitFor();
  await button('Show the answer').click();
  await room().getByText(/In the game: 2\. g4\?\? Blunder/).waitFor();
});

test('puzzles are solved by ear and by keys alone', async () => {
  const heard = (text) => page.locator('#announcement', { hasText: text }).waitFor({ state: 'attached' });
  await page.getByRole('link', { name: 'Puzzles' }).click();
  await load('some.csv', CSV);
  await heard('Puzzle 00ymq, rated 1500. White has played king g1. Black to move: find the best move.');
  await room().getByText('The board as text').click();
  const pieces = room().getByRole('table', { name: 'The pieces on the board' });
  await pieces.filter({ hasText: 'white queen' }).waitFor();
  await accessible(page);
  await page.keyboard.press('/');
  const answers = [];
  for (const move of ['Qxh3', 'Qxh3', 'Nxg3']) {
    await page.keyboard.type(move);
    const before = await page.locator('#announcement').textContent();
    await page.keyboard.press('Enter');
    await page.waitForFunction((old) => document.getElementById('announcement').textContent !== old, before);
    answers.push((await page.locator('#announcement').textContent()).trim());
  }
  assert.deepEqual(answers, ['Wrong: queen takes h3 is not it. Look again.', 'Wrong: queen takes h3 is not it. Look again.',
    'Right: knight takes g3. White answers f takes g3. Go on.']);
  await room().getByText('Found: Nxg3, fxg3').waitFor();
  await page.keyboard.type('Qc2');
  await page.keyboard.press('Enter');
  await heard('Right: queen c2. Solved. Themes: crushing short.');
  await page.locator('#puzzles button.on:focus').waitFor();
  await page.keyboard.press('Enter');
  await heard('Puzzle 00mate, rated 900. Black has played king g8. White to move: find the best move.');
  await page.keyboard.press('a');
  await heard('The answer: rook a8, checkmate. Themes: mateIn1.');
});
