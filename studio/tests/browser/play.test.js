import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  IS_FIREFOX, Server, accessible, answersDone, boardOf, counted, downloaded, drag, eachTest, loadsInPlace, moves, newGame, openTab, roundTrip, scripted,
  type,
} from './harness.js';

let page;
/** Ends after each of its answers. */
const brief = "Brief=/bin/sh -c 'while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) exit;; "
  + "position*) p=$l;; go*) case $p in *g1f3) echo bestmove b8c6;; *) echo bestmove e7e5;; esac; exit 3;; esac; done'";
const studio = eachTest({
  engines: [scripted('Script', 'e7e5 b8c6 g8f6'), scripted('Mortal', 'crash'), scripted('Slow', 'think'), brief],
}, () => ({ page } = studio));

const status = (text) => page.locator('#status', { hasText: text }).waitFor();
const against = (engine, more = {}) => newGame(page, { engine, move_time: '0.1', ...more });

test('Philidor answers the first move, and the evaluation is shown when it is asked for', async () => {
  await status('White to move');
  assert.equal(await page.locator('.evaluation').count(), 0);
  await drag(page, 'e2', 'e4');
  const played = await moves(page, 2);
  assert.equal(played[0], 'e4');
  await page.getByRole('button', { name: 'Evaluation' }).click();
  await page.locator('.evaluation li').first().waitFor();
  await page.locator('.wdl', { hasText: /White \d+ %, draw \d+ %/ }).waitFor();
  await page.getByLabel(/^Evaluation [+−#]/).waitFor();
});

test('a move typed before the page has received the game is made when it comes', async () => {
  await page.addInitScript(() => {
    delete window.SharedWorker;
    const come = new Promise((resolve) => { window.come = resolve; });
    window.EventSource = class extends EventSource {
      set onmessage(receive) {
        this.addEventListener('message', (event) => come.then(() => receive(event)));
      }
    };
  });
  await page.reload();
  await type(page, 'e4');
  assert.equal(await page.locator('#status').textContent(), 'Connecting …');
  await page.evaluate(() => window.come());
  await moves(page, 2);
});

test('a whole game by mouse and keyboard, to mate', async () => {
  await against('Script');
  await drag(page, 'e2', 'e4');
  await moves(page, 2);
  await type(page, 'bc4');
  await moves(page, 4);
  await page.keyboard.type('dxe');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'not a legal move' }).waitFor();
  await page.locator('.opening', { hasText: 'Bishop\'s Opening' }).waitFor();
  await drag(page, 'd1', 'h5');
  await moves(page, 6);
  await type(page, 'Qxf7');
  await status('White wins by checkmate. 1-0');
  assert.deepEqual(await moves(page, 7), ['e4', 'e5', 'Bc4', 'Nc6', 'Qh5', 'Nf6', 'Qxf7#']);
  await page.locator('#announcement', { hasText: /White: queen takes f7, checkmate\. White wins by checkmate/ }).waitFor({ state: 'attached' });
  await page.keyboard.press('Home');
  await status('Looking at move 0');
  await page.keyboard.press('End');
  await status('White wins');
  const file = await downloaded(page, () => page.getByRole('button', { name: 'Save PGN' }).click());
  const pgn = file.toString();
  assert.match(pgn, /1\. e4 e5 2\. Bc4 Nc6 3\. Qh5 Nf6 4\. Qxf7# 1-0/);
  await newGame(page, { side: 'both' });
  await status('White to move: your move');
  await page.locator('input[type=file]').setInputFiles({ name: 'g.pgn', mimeType: 'text/plain', buffer: Buffer.from(pgn) });
  await status('White wins by checkmate');
});

test('moves are taken back, and a game is resigned only after a question', async () => {
  await against('Script');
  await type(page, 'e4');
  await moves(page, 2);
  await page.getByRole('button', { name: 'Take back' }).click();
  await moves(page, 0);
  await page.getByRole('button', { name: 'Resign', exact: true }).click();
  await page.getByRole('button', { name: 'Yes, resign' }).click();
  await status('Black wins by resignation. 0-1');
});

test('a pawn is promoted to the piece that is chosen, by mouse and keyboard', async () => {
  await newGame(page, { side: 'both', start: 'fen', fen: '8/4P3/8/8/8/2k5/8/K7 w - - 0 1' });
  await page.locator('cg-board piece.white.pawn:not(.anim)').waitFor();
  await drag(page, 'e7', 'e8');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('cg-board piece.white.pawn:not(.anim)').waitFor();
  await drag(page, 'e7', 'e8');
  await page.getByRole('button', { name: 'Knight' }).press('Enter');
  assert.deepEqual(await moves(page, 1), ['e8=N']);
});

test('Chess960 is played, with castling by king takes rook', async () => {
  // bqnnrkrb: king and rook change places.
  await newGame(page, { side: 'both', start: 'chess960', number: '3' });
  await drag(page, 'f1', 'g1');
  assert.deepEqual(await moves(page, 1), ['O-O']);
  await type(page, '0-0');
  await moves(page, 2);
});

test('a game survives a reload and a restart of the server', async () => {
  await against('Script');
  await type(page, 'e4');
  await moves(page, 2);
  await page.reload();
  assert.deepEqual(await moves(page, 2), ['e4', 'e5']);
  const { folder } = studio.server;
  await studio.server.stop();
  await page.locator('#connection', { hasText: 'No connection' }).waitFor();
  studio.server = await Server.start({ folder, engines: [scripted('Script', 'b8c6')] });
  page.faults.length = 0;
  await page.context().close();
  page = await openTab(studio.browser, studio.server.url);
  studio.page = page;
  assert.deepEqual(await moves(page, 2), ['e4', 'e5']);
  await type(page, 'Nf3');
  assert.deepEqual(await moves(page, 4), ['e4', 'e5', 'Nf3', 'Nc6']);
});

test('without a connection no clock runs on', async () => {
  await newGame(page, { side: 'both', timed: true, minutes: '30' });
  await type(page, 'e4');
  await moves(page, 1);
  const left = () => page.locator('.clock.black').textContent();
  await page.waitForFunction(() => document.querySelector('.clock.black').textContent !== '30:00');
  const { folder } = studio.server;
  await studio.server.stop();
  await page.locator('#connection', { hasText: 'No connection' }).waitFor();
  const before = await left();
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() + 60_000;
  });
  await page.locator('#typed').blur();
  await page.keyboard.press('f');
  await page.locator('cg-container').first().waitFor();
  assert.equal(await left(), before);
  studio.server = await Server.start({ folder });
  page.faults.length = 0;
});

test('two tabs show the same game, and a move made in one is not made again in the other', async () => {
  await newGame(page, { side: 'both' });
  const other = await openTab(studio.browser, studio.server.url, { context: page.context() });
  await drag(other, 'e2', 'e4');
  assert.deepEqual(await moves(page, 1), ['e4']);
  const refused = await page.evaluate((board) => fetch(`/api/play/${board}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ do: 'move', text: 'e5', ply: 0 }),
  }).then((answer) => answer.status), await boardOf(page));
  assert.equal(refused, 409);
  assert.deepEqual(other.faults, []);
});

test('the twentieth tab loads, and a move made there is seen in the first', async () => {
  await newGame(page, { side: 'both' });
  const tabs = [];
  for (let tab = 0; tab < 19; tab += 1) tabs.push(await openTab(studio.browser, studio.server.url, { context: page.context() }));
  const last = tabs.at(-1);
  await last.locator('#status', { hasText: 'White to move' }).waitFor();
  await type(last, 'e4');
  assert.deepEqual(await moves(page, 1), ['e4']);
  // One of them goes, the others stay connected.
  await tabs[0].close();
  await type(page, 'e5');
  assert.deepEqual(await moves(last, 2), ['e4', 'e5']);
  assert.deepEqual(tabs.flatMap((tab) => tab.faults), []);
});

test('what is typed before the last move is answered stays in its field', { skip: IS_FIREFOX && 'BiDi holds no body of a request' }, async () => {
  await newGame(page, { side: 'both' });
  let isAnswered;
  const held = new Promise((resolve) => { isAnswered = resolve; });
  await page.route('**/api/play/*', async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  }, { times: 1 });
  await type(page, 'e4');
  await moves(page, 1);
  await page.keyboard.press('Home');
  await status('Looking at move 0');
  await page.keyboard.press('End');
  await status('Black to move');
  await page.locator('#typed').fill('e5');
  const answer = page.waitForResponse('**/api/play/*');
  isAnswered();
  await (await answer).finished();
  await answersDone(page);
  await page.locator('#typed').press('Enter');
  assert.deepEqual(await moves(page, 2), ['e4', 'e5']);
});

test('an engine that dies is told, and the game goes on', async () => {
  await against('Mortal');
  await type(page, 'e4');
  await page.locator('.notice', { hasText: 'Mortal ended (exit status: 9), again' }).waitFor();
  await page.getByRole('button', { name: 'Start it again' }).click();
  await page.locator('.notice', { hasText: 'Mortal' }).waitFor();
  await page.getByRole('button', { name: 'Take back' }).click();
  await moves(page, 0);
  await counted(page.locator('.notice'), 0);
  await against('Script');
  await type(page, 'e4');
  await moves(page, 2);
});

test('an engine that ends when it has moved is started at its next move, and nothing is said', async () => {
  const ended = async () => {
    while (studio.server.engines().length > 0) await roundTrip(page);
  };
  await against('Brief');
  await type(page, 'e4');
  await moves(page, 2);
  await ended();
  await type(page, 'Nf3');
  assert.deepEqual(await moves(page, 4), ['e4', 'e5', 'Nf3', 'Nc6']);
  await ended();
  assert.equal(await page.locator('.notice').count(), 0);
});

test('Philidor is killed while it thinks, is started again, and moves', async () => {
  await against('Philidor', { move_time: '3' });
  await type(page, 'e4');
  await page.getByText('is thinking').waitFor();
  studio.server.killEngines();
  await page.locator('.notice', { hasText: 'Philidor ended (signal: 9 (SIGKILL)). It was started again.' }).waitFor();
  await moves(page, 2);
});

test('an engine that thinks for ever can be interrupted', async () => {
  await against('Slow');
  await type(page, 'e4');
  await page.getByText('is thinking').waitFor();
  await page.getByRole('button', { name: 'Take back' }).click();
  await moves(page, 0);
});

test('a premove is made as soon as the engine has moved', async () => {
  await against('Philidor', { side: 'white', move_time: '1' });
  await type(page, 'd4');
  // The page shows that it is Philidor's turn: now a drag is a premove.
  await page.locator('.move', { hasText: 'd4' }).waitFor();
  await drag(page, 'a2', 'a3');
  assert.deepEqual((await moves(page, 4)).filter((_, index) => index % 2 === 0), ['d4', 'a3']);
});

test('clocks run, and rating and position are asked for', async () => {
  await newGame(page, { engine: 'Philidor', level: 'rating', elo: '900', timed: true, minutes: '5', increment: '0' });
  await page.getByText('Philidor (900)').waitFor();
  await type(page, 'e4');
  await moves(page, 2);
  await page.waitForFunction(() => document.querySelector('.clock.white')?.textContent !== '5:00');
  await page.getByRole('button', { name: 'New game', exact: true }).click();
  await page.locator('[name=start]').selectOption('fen');
  await page.locator('[name=fen]').fill('nonsense');
  await page.locator('#new-game').getByRole('button', { name: 'Begin' }).click();
  await page.getByRole('alert').filter({ hasText: 'The start position is wrong' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#new-game').waitFor({ state: 'detached' });
});

test('nobody is kept out, and a phone shows it all', async () => {
  await type(page, 'e4');
  await moves(page, 2);
  await page.getByRole('button', { name: 'Evaluation' }).click();
  await page.locator('.evaluation li').first().waitFor();
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  // The page follows the window's size in the next frame.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 390);
  await accessible(page);
  await page.getByRole('button', { name: 'New game', exact: true }).click();
  await accessible(page);
});

test('nothing shifts while the page loads', async () => {
  await loadsInPlace(page, async () => {
    await status('to move');
    await page.locator('piece').first().waitFor();
  });
});

test('at mate nothing is said to be thinking, and messages go with what they were said of', async () => {
  await newGame(page, { side: 'both', start: 'fen', fen: '6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1' });
  await page.getByRole('button', { name: 'Evaluation' }).click();
  await type(page, 'Ra9');
  await page.getByRole('alert').filter({ hasText: 'not a legal move' }).waitFor();
  await type(page, 'Ra8');
  await status('White wins by checkmate');
  await page.locator('.wdl', { hasText: 'The game is over here' }).waitFor();
  await counted(page.getByText('Thinking …'), 0);
  await page.locator('#problem', { hasText: /^\s*$/ }).waitFor({ state: 'attached' });
});

test('resigning is disarmed by whatever else is done', async () => {
  const resign = page.getByRole('button', { name: 'Resign', exact: true });
  const yes = page.getByRole('button', { name: 'Yes, resign' });
  await newGame(page, { side: 'both' });
  for (const disarm of [
    () => page.getByRole('button', { name: 'Keep playing' }).click(),
    () => page.keyboard.press('Escape'),
    () => type(page, 'e4'),
    () => page.keyboard.press('ArrowLeft'),
    () => page.getByRole('button', { name: 'Evaluation' }).click(),
  ]) {
    await resign.click();
    await yes.waitFor();
    await disarm();
    await yes.waitFor({ state: 'detached' });
    await resign.waitFor();
  }
});

test('the form for a new game remembers what was chosen', async () => {
  await newGame(page, { engine: 'Script', side: 'black', timed: true, minutes: '7', increment: '3' });
  await page.reload();
  await page.getByRole('button', { name: 'New game', exact: true }).click();
  const value = (name) => page.locator(`#new-game [name=${name}]`).inputValue();
  assert.deepEqual([await value('side'), await value('engine'), await value('minutes'), await value('increment')],
    ['black', 'Script', '7', '3']);
  // A field that another choice hides for a while keeps its value.
  await page.locator('[name=timed]').uncheck();
  await page.locator('#new-game [name=move_time]').selectOption('3');
  await page.locator('[name=timed]').check();
  assert.equal(await value('minutes'), '7');
});
