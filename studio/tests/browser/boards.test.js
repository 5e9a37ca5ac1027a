import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server, accessible, answersDone, boardOf, drag, eachTest, moves, newGame, onBoard, openTab, roundTrip, scripted, type } from './harness.js';

const engines = [scripted('Script', 'e7e5 b8c6 g8f6'), scripted('Slow', 'think')];
let page;
const studio = eachTest({ engines }, () => ({ page } = studio));

const open = (tab) => tab.locator('.open-boards li');
const status = (text, tab = page) => tab.locator('#status', { hasText: text }).waitFor();
const another = () => openTab(studio.browser, studio.server.url, { context: page.context() });
const at = (board) => new URL(`#play/${board}`, studio.server.url).href;
/** The moves in the list, once there are `count`, without their clocks. */
const sans = async (tab, count) => (await moves(tab, count)).map((text) => text.trim().split(' ')[0]);
/** Waits until a tab shows this board. */
const shows = (tab, board) => tab.locator(`.table[data-game^="${board} "]`).waitFor();

test('two tabs play two games, and a move in one leaves the other as it is', async () => {
  await newGame(page, { engine: 'Slow', timed: true, minutes: '30' });
  await type(page, 'e4');
  await page.getByText('is thinking').waitFor();
  // Those that were only asked what they can do have ended then.
  while (studio.server.engines().length !== 1) await roundTrip(page);
  const [engine] = studio.server.engines();
  const other = await another();
  await shows(other, await boardOf(page));
  await newGame(other, { side: 'both' });
  await onBoard(page, 1);
  await onBoard(other, 2);
  await type(other, 'd4');
  await moves(other, 1);
  await open(page).nth(1).filter({ hasText: 'You – You' }).filter({ hasText: 'your move 1' }).waitFor();
  await open(page).nth(0).filter({ hasText: 'thinking, move 1' }).waitFor();
  assert.deepEqual(await sans(page, 1), ['e4']);
  assert.ok(studio.server.engines().includes(engine), 'the engine of the first game thinks on');
  const left = await page.locator('.clock.black').textContent();
  await page.waitForFunction((before) => document.querySelector('.clock.black').textContent !== before, left);
  // A reload and a bookmark show the board of the address.
  await page.reload();
  await onBoard(page, 1);
  assert.deepEqual(await sans(page, 1), ['e4']);
  const bookmark = await openTab(studio.browser, at(2), { context: page.context() });
  assert.deepEqual(await sans(bookmark, 1), ['d4']);
  // One press switches, and the browser goes back.
  await open(page).nth(1).getByRole('link').click();
  await shows(page, 2);
  assert.deepEqual(await sans(page, 1), ['d4']);
  await type(page, 'd5');
  assert.deepEqual(await sans(other, 2), ['d4', 'd5']);
  await page.goBack();
  await shows(page, 1);
  await onBoard(page, 1);
  assert.deepEqual(await sans(page, 1), ['e4']);
  assert.deepEqual([other, bookmark].flatMap((tab) => tab.faults), []);
});

test('the mouse makes the moves of the board that is shown', async () => {
  await newGame(page, { side: 'both' });
  await type(page, 'e4');
  await moves(page, 1);
  await newGame(page, { side: 'both' });
  await drag(page, 'e2', 'e4');
  assert.deepEqual(await sans(page, 1), ['e4']);
  await open(page).nth(0).getByRole('link').click();
  await shows(page, 1);
  await drag(page, 'g8', 'f6');
  assert.deepEqual(await sans(page, 2), ['e4', 'Nf6']);
});

test('an answer that comes late says nothing on another board', async () => {
  await newGame(page, { side: 'both' });
  await type(page, 'e4');
  await moves(page, 1);
  await newGame(page, { side: 'both' });
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route('**/api/play/2', async (route) => {
    await held;
    await route.continue();
  });
  const answer = page.waitForResponse('**/api/play/2');
  await type(page, 'Ke3');
  await open(page).nth(0).getByRole('link').click();
  await shows(page, 1);
  release();
  await (await answer).finished();
  await answersDone(page);
  assert.equal(await page.locator('#problem').textContent(), '');
  assert.equal(await page.locator('#typed').inputValue(), '');
});

test('each tab keeps the position that it looks at, and goes on there when it comes back', async () => {
  await newGame(page, { side: 'both' });
  for (const [count, move] of [[1, 'e4'], [2, 'e5'], [3, 'Nf3']]) {
    await type(page, move);
    await moves(page, count);
  }
  await page.locator('.move', { hasText: 'e5' }).click();
  await status('Looking at move 1 of 2');
  await newGame(page, { side: 'both' });
  await status('White to move: your move');
  await onBoard(page, 2);
  await open(page).nth(0).getByRole('link').click();
  await shows(page, 1);
  await status('Looking at move 1 of 2');
  await page.locator('#to-watch').click();
  await page.locator('#to-play').click();
  await onBoard(page, 1);
  await status('Looking at move 1 of 2');
});

test('a board is closed with its game saved, and comes back by undo or from the library', async () => {
  await newGame(page, { side: 'both', timed: true });
  await type(page, 'e4');
  await moves(page, 1);
  await newGame(page, { side: 'both' });
  const other = await openTab(studio.browser, at(1), { context: page.context() });
  await moves(other, 1);
  await page.getByRole('button', { name: /^Close board 1, / }).click();
  await page.getByText('You – You is closed.').waitFor();
  // This tab shows another one.
  await onBoard(page, 2);
  await shows(other, 2);
  await other.getByText('You – You is closed.').waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Undo' }).click();
  await shows(page, 1);
  assert.deepEqual(await sans(page, 1), ['e4']);
  await page.getByRole('button', { name: /^Close board 1, / }).click();
  await shows(page, 2);
  const bookmark = await openTab(studio.browser, at(1), { context: page.context() });
  await bookmark.getByText('Board 1 is closed.').waitFor();
  await bookmark.getByRole('button', { name: 'Open it again' }).click();
  assert.deepEqual(await sans(bookmark, 1), ['e4']);
  await bookmark.waitForFunction(() => document.querySelector('.clock.black').textContent !== '10:00');
  assert.deepEqual([other, bookmark].flatMap((tab) => tab.faults), []);
});

test('a game that was closed goes on when somebody sees it, not in a hidden window', async () => {
  await newGame(page, { side: 'both', timed: true });
  await type(page, 'e4');
  await moves(page, 1);
  await newGame(page, { side: 'both' });
  await page.evaluate(() => {
    window.isHidden = true;
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await page.getByRole('button', { name: /^Close board 1, / }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await shows(page, 1);
  await open(page).nth(0).filter({ hasText: 'suspended, move 1' }).waitFor();
  await page.evaluate(() => {
    window.isHidden = false;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await open(page).nth(0).filter({ hasText: 'your move 1' }).waitFor();
});

test('a restart brings all boards back, and one that cannot be read is told', async () => {
  await newGame(page, { engine: 'Script', move_time: '0.1' });
  await type(page, 'e4');
  await moves(page, 2);
  await newGame(page, { side: 'both' });
  await type(page, 'd4');
  await moves(page, 1);
  const { folder } = studio.server;
  await page.context().close();
  await studio.server.stop();
  studio.server = await Server.start({ folder, engines: [scripted('Script', 'b8c6')] });
  page = await openTab(studio.browser, at(1));
  studio.page = page;
  assert.deepEqual(await sans(page, 2), ['e4', 'e5']);
  await open(page).nth(1).getByRole('link').click();
  await shows(page, 2);
  assert.deepEqual(await sans(page, 1), ['d4']);
  await open(page).nth(0).getByRole('link').click();
  await shows(page, 1);
  await type(page, 'Nf3');
  await moves(page, 4);
});

test('the list of boards fits a phone and a desk', async () => {
  for (const side of ['both', 'white', 'neither']) {
    await newGame(page, { side, ...(side === 'both' ? {} : { engine: 'Slow' }), ...(side === 'neither' ? { other: 'Slow' } : {}) });
    if (side === 'neither') break;
    await type(page, 'e4');
    await moves(page, 1);
  }
  await open(page).nth(2).filter({ hasText: 'Slow – Slow' }).waitFor();
  for (const [width, height] of [[360, 740], [1280, 800]]) {
    await page.setViewportSize({ width, height });
    await page.waitForFunction((w) => document.documentElement.scrollWidth <= w, width);
    await accessible(page);
    const list = await page.locator('.open-boards').boundingBox();
    assert.ok(list.y + list.height < height, `the list is in view at ${width} x ${height}: ${JSON.stringify(list)}`);
  }
});
