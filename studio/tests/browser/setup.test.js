import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IS_FIREFOX, accessible, downloaded, eachTest, moves, newGame, type } from './harness.js';

let page;
const studio = eachTest({}, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });
const editor = () => page.locator('#editor');

/** Presses a square of the editor's board. */
async function press(square) {
  const box = await editor().locator('cg-board').boundingBox();
  const [file, rank] = [square.charCodeAt(0) - 97, 8 - Number(square[1])];
  await page.mouse.click(box.x + (file + 0.5) * box.width / 8, box.y + (rank + 0.5) * box.height / 8);
}

test('a position is set up by hand, refused while it cannot be, and analysed', async () => {
  await button('Set up a position …').click();
  await editor().getByRole('button', { name: 'Empty board' }).click();
  await editor().locator('[role=alert]', { hasText: 'the board is empty, a king is missing' }).waitFor();
  await editor().getByRole('button', { name: 'Analyse it', disabled: true }).waitFor();
  for (const [piece, square] of [['white king', 'e1'], ['white rook', 'h1'], ['black king', 'e8'], ['black rook', 'e7']]) {
    await editor().getByRole('button', { name: piece }).click();
    await press(square);
  }
  await page.waitForFunction(() => document.querySelector('[name=setup]').value.startsWith('4k3/4r3/8/8/8/8/8/4K2R w'));
  await editor().getByLabel('To move').selectOption('b');
  await editor().locator('[role=alert]', { hasText: 'the side that is not to move is in check' }).waitFor();
  await accessible(page);
  await editor().getByRole('button', { name: 'Erase' }).click();
  await press('e7');
  await editor().getByLabel('White O-O', { exact: true }).check();
  await page.waitForFunction(() => document.querySelector('[name=setup]').value === '4k3/8/8/8/8/8/8/4K2R b K - 0 1');
  await editor().getByRole('button', { name: 'Analyse it' }).click();
  await editor().waitFor({ state: 'detached' });
  await page.locator('#status', { hasText: 'Black to move' }).waitFor();
  await page.locator('.evaluation').waitFor();
  await type(page, 'Kd8');
  await moves(page, 1);
  await type(page, 'O-O');
  assert.deepEqual((await moves(page, 2)).map((text) => text.trim()), ['Kd8', 'O-O']);
});

test('the position is copied and saved as a picture', async () => {
  await newGame(page, { side: 'both', start: 'double', number: '518', second: '0' });
  if (!IS_FIREFOX) await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button('Copy FEN').click();
  await page.getByText('The FEN is copied.').waitFor();
  const fen = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(fen, /^bbqnnrkr\/pppppppp\/8\/8\/8\/8\/PPPPPPPP\/RNBQKBNR w /);
  await type(page, 'e4');
  await moves(page, 1);
  await button('Copy PGN').click();
  await page.getByText('The PGN is copied.').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /1\. e4 \*/);
  await button('Paste').click();
  await page.locator('.open-boards li').nth(1).waitFor();
  await page.locator('.open-boards [aria-current]', { hasText: 'loaded' }).waitFor();
  await moves(page, 1);
  // BiDi does not tell of files that the page itself makes.
  if (IS_FIREFOX) return;
  for (const [name, begins] of [['Save SVG', '<svg '], ['Save PNG', '\x89PNG']]) {
    const bytes = await downloaded(page, () => button(name).click());
    assert.equal(bytes.subarray(0, begins.length).toString('latin1'), begins);
    assert.ok(bytes.length > 10_000, `${name}: ${bytes.length} bytes`);
  }
});
