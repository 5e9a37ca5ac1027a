import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IS_FIREFOX, PATIENCE_MS, accessible, at, boardOf, counted, downloaded, eachTest, moves, newGame, openTab, scripted, type } from './harness.js';

let page;
const studio = eachTest({ engines: [scripted('Script', 'e7e5 b8c6 g8f6')] }, () => ({ page } = studio));

const button = (name) => page.getByRole('button', { name, exact: true });
const status = (text) => page.locator('#status', { hasText: text }).waitFor();

const PGN = '[White "Anna"]\n[Black "Ben"]\n\n1. e4 {[%eval 0.31] [%clk 0:09:58]} e5 {[%eval #-3] [%clk 0:09:40]} 2. Nf3 {[%clk 0:09:31]} *\n';

async function load() {
  await page.locator('input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(PGN) });
  await moves(page, 3);
}

async function saved() {
  return (await downloaded(page, () => button('Save PGN').click())).toString();
}

/** Presses the right mouse button on one square and lets it go on another. */
async function draw(from, to, key) {
  if (key) await page.keyboard.down(key);
  await page.mouse.move(...await at(page, from));
  await page.mouse.down({ button: 'right' });
  await page.mouse.move(...await at(page, to), { steps: 4 });
  // Chessground reads the pointer once a frame.
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  await page.mouse.up({ button: 'right' });
  if (key) await page.keyboard.up(key);
}

const drawnNow = (count) => page.waitForFunction((n) => document.querySelectorAll('.cg-shapes > g > g').length === n, count);

test('arrows and squares are drawn with the right button, kept in the game, and stay at a click', async () => {
  await load();
  await page.keyboard.press('End');
  await draw('g1', 'f3');
  await draw('e4', 'e4', 'Shift');
  await draw('d2', 'd4', 'Alt');
  await drawnNow(3);
  await button('Undo').waitFor();
  await page.waitForFunction(() => document.querySelector('[title="Undo: draw at 2. Nf3"]'));
  await page.mouse.click(...await at(page, 'e6'));
  await drawnNow(3);
  assert.match(await saved(), /Nf3 \{.*\[%cal Gg1f3,Bd2d4\]/);
  assert.match(await saved(), /\[%csl Re4\]/);
  // Another position has its own; the same arrow again erases it.
  await page.keyboard.press('ArrowLeft');
  await drawnNow(0);
  await page.keyboard.press('ArrowRight');
  await drawnNow(3);
  await draw('g1', 'f3');
  await drawnNow(2);
  await button('Edit …').click();
  await button('Erase arrows and squares').click();
  await drawnNow(0);
  await page.keyboard.press('z');
  await drawnNow(2);
});

test('arrows and squares are drawn by touch, in a colour, and pieces stay where they are', { skip: IS_FIREFOX && 'no touches by BiDi' }, async () => {
  const tab = await openTab(studio.browser, studio.server.url, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
  await tab.locator('#play input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(PGN) });
  await moves(tab, 3);
  const fingers = await tab.context().newCDPSession(tab);
  const touch = (type, points) => fingers.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
  const stroke = async (from, to) => {
    await tab.locator('.board').first().scrollIntoViewIfNeeded();
    await touch('touchStart', [await at(tab, from)]);
    await touch('touchMove', [await at(tab, to)]);
    await touch('touchEnd', []);
  };
  const drawn = (count) => tab.waitForFunction((n) => document.querySelectorAll('.cg-shapes > g > g').length === n, count);
  await tab.getByRole('button', { name: 'Draw', exact: true }).click();
  await accessible(tab);
  await stroke('b8', 'c6');
  await drawn(1);
  await tab.getByLabel('Colour to draw with').selectOption('red');
  await stroke('e5', 'e5');
  await drawn(2);
  const address = new URL(`/api/play/${await boardOf(tab)}/pgn`, studio.server.url).href;
  const text = async () => (await tab.request.get(address)).text();
  const saved = /Nf3 \{.*\[%cal Gb8c6\].*\[%csl Re5\]|Nf3 \{.*\[%csl Re5\].*\[%cal Gb8c6\]/s;
  // What is drawn shows before the server has it.
  const end = Date.now() + PATIENCE_MS;
  while (!saved.test(await text())) assert.ok(Date.now() < end, await text());
  await stroke('e5', 'e5');
  await drawn(1);
  await tab.getByRole('button', { name: 'Draw', exact: true }).click();
  await stroke('b8', 'c6');
  await moves(tab, 4);
  await tab.context().close();
  assert.deepEqual(tab.faults, []);
  assert.equal(await page.getByRole('button', { name: 'Draw', exact: true }).count(), 0, 'a mouse has a right button');
});

test('clocks and evaluations of a file stand beside the moves, and the clocks by the players', async () => {
  await load();
  await page.locator('.move', { hasText: 'e4' }).locator('.numbers', { hasText: '+0.31' }).waitFor();
  await page.locator('.move', { hasText: 'e5' }).locator('.numbers', { hasText: '−#3' }).waitFor();
  await page.locator('.player', { hasText: 'Anna' }).locator('.clock', { hasText: '9:31' }).waitFor();
  await page.locator('.player', { hasText: 'Ben' }).locator('.clock', { hasText: '9:40' }).waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.locator('.player', { hasText: 'Anna' }).locator('.clock', { hasText: '9:58' }).waitFor();
  await counted(page.locator('.player', { hasText: 'Ben' }).locator('.clock'), 0);
  await accessible(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
  // A game that is played here with a clock has them too.
  await newGame(page, { side: 'both', timed: true });
  await type(page, 'e4');
  await moves(page, 1);
  assert.match(await saved(), /1\. e4 \{\[%clk 0:\d\d:\d\d(\.\d)?\]\}/);
});

test('a comment that another tab has changed is not overwritten unseen', async () => {
  await load();
  const other = await openTab(studio.browser, studio.server.url, { context: page.context() });
  await other.locator('.move', { hasText: 'Nf3' }).click();
  for (const tab of [page, other]) {
    await tab.locator('.move', { hasText: 'Nf3' }).click({ button: 'right' });
    await tab.locator('textarea').waitFor();
  }
  await other.locator('textarea').fill('theirs');
  await other.getByRole('button', { name: 'Keep the comment' }).click();
  await other.locator('.comment', { hasText: 'theirs' }).waitFor();
  await page.locator('textarea').fill('mine');
  await button('Keep the comment').click();
  await page.getByText('Another tab has changed this comment meanwhile.').waitFor();
  assert.equal(await page.locator('textarea').inputValue(), 'mine');
  await accessible(page);
  await button('Replace it by mine').click();
  await page.locator('.moves .comment', { hasText: 'mine' }).waitFor();
  await page.locator('#move-menu').waitFor({ state: 'detached' });
  await page.keyboard.press('z');
  await page.locator('.moves .comment', { hasText: 'theirs' }).waitFor();
});

test('a take-back that loses variations asks, and can be undone', async () => {
  await type(page, 'e4');
  await moves(page, 2);
  await page.keyboard.press('Escape');
  await page.locator('.move', { hasText: 'e4' }).click();
  await type(page, 'c5');
  await moves(page, 3);
  await button('Take back').click();
  await page.locator('#question').getByRole('button', { name: 'Cancel' }).click();
  await moves(page, 3);
  await button('Take back').click();
  await page.locator('#question').getByRole('button', { name: 'Take back' }).click();
  await moves(page, 0);
  await status('your move');
  await button('Undo').click();
  await moves(page, 3);
  assert.match(await saved(), /1\. e4 e5 \(1\.\.\. c5\) \*/);
});

test('settings stay, and hold in all tabs', async () => {
  await load();
  await button('Settings …').click();
  await page.locator('#settings [name=theme]').selectOption('dark');
  await page.locator('#settings [name=board]').selectOption('blue');
  await page.locator('#settings [name=pieces]').selectOption('letters');
  await page.locator('#settings [name=notation]').selectOption('figurines');
  await page.locator('#settings [name=coordinates]').selectOption('none');
  await accessible(page);
  await page.locator('#settings').getByRole('button', { name: 'Close' }).click();
  await page.locator('.move', { hasText: '♘f3' }).waitFor();
  await page.reload();
  await page.locator('.move', { hasText: '♘f3' }).waitFor();
  const styles = (tab) => tab.evaluate(() => [getComputedStyle(document.body).backgroundColor,
    getComputedStyle(document.querySelector('cg-board')).backgroundImage.includes('conic'),
    getComputedStyle(document.querySelector('piece.knight')).backgroundImage.includes('%3EN%3C'), document.querySelector('coords').checkVisibility()]);
  assert.deepEqual(await styles(page), ['rgb(27, 29, 31)', true, true, false]);
  const other = await openTab(studio.browser, studio.server.url, { context: page.context() });
  await other.keyboard.press('s');
  await other.locator('#settings [name=notation]').selectOption('');
  await page.locator('.move', { hasText: 'Nf3' }).waitFor();
  assert.deepEqual(other.faults, []);
});
