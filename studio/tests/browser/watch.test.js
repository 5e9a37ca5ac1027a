import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server, accessible, counted, downloaded, launch, loadsInPlace, openTab, scripted } from './harness.js';

let browser;
let server;
let page;
const files = mkdtempSync(join(tmpdir(), 'philidor-watch-'));
const followed = join(files, 'tournament.pgn');
const book = join(files, 'endings.epd');

const game = (white, black, round, text) => `[Event "Fastchess Tournament"]\n[Round "${round}"]\n[White "${white}"]\n`
  + `[Black "${black}"]\n[Result "${text.split(' ').at(-1)}"]\n\n${text}\n\n`;

async function start(folder) {
  const engines = [scripted('Mortal', 'crash')];
  server = await Server.start({ folder, engines, flags: ['--follow', followed, '--openings', book] });
  page = await openTab(browser, `${server.url}#watch`);
}

before(async () => {
  writeFileSync(book, '6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - id "a";\n6k1/5ppp/8/8/8/8/5PPP/Q5K1 w - - id "b";\n');
  browser = await launch();
  await start();
});
after(async () => {
  await browser.close();
  await server.remove();
  rmSync(files, { recursive: true, force: true });
});

const status = (text) => page.locator('.watched .status', { hasText: text }).first().waitFor();
const button = (name) => page.getByRole('button', { name, exact: true });

async function begin(first, second, games, more = {}) {
  await page.locator('[name=first]').selectOption(first);
  await page.locator('[name=second]').selectOption(second);
  await page.locator('[name=games]').fill(String(games));
  await page.locator('[name=sprt]').setChecked(more.sprt ?? false);
  await page.locator('.order [name=at_once]').fill('1');
  for (const [name, value] of Object.entries({ seconds: '0.01', ...more.fields })) {
    const field = page.locator(`.order [name=${name}]`);
    if (await field.evaluate((element) => element.tagName === 'SELECT')) await field.selectOption(value);
    else await field.fill(value);
  }
  await button('Begin').click();
}

test('a match of four games, two at once, is watched to its end', async () => {
  await begin('Random moves', 'Random moves', 4, { fields: { at_once: '2' } });
  await page.locator('#watch .live cg-board piece').first().waitFor();
  await counted(page.locator('#watch .live'), 2);
  await page.locator('.live figcaption', { hasText: /^Game \d: .+, move \d+: / }).first().waitFor();
  await status('ended after 4 of 4');
  await counted(page.locator('.results tbody tr'), 4);
  const [won, drawn, lost] = (await page.getByText(/\d won, /).first().textContent()).match(/\d+/g).map(Number);
  assert.equal(won + drawn + lost, 4);
  const file = await downloaded(page, () => button('Save PGN').last().click());
  assert.equal(file.toString().match(/\[Result /g).length, 4);
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  // The board follows the window's size in the next frame.
  await page.waitForFunction(() => document.documentElement.scrollWidth <= 390);
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.deepEqual(page.faults, []);
});

test('a game is watched closely, held up, interrupted and continued, and replayed afterwards', async () => {
  // A match keeps the delay of the one before, so its first game cannot be over before the delay is chosen.
  await begin('Random moves', 'Random moves', 1000);
  await page.locator('[name=delay]').selectOption('10000');
  await page.locator('[name=shown]').selectOption('0');
  await page.locator('section.window').waitFor();
  await button('Stop …').click();
  await button('Stop it').click();
  await status('ended after');
  await begin('Philidor', 'Random moves', 2, { fields: { seconds: '0.1' } });
  await status('Philidor against Random moves: 0 of 2 games');
  // The window was that of the match before.
  await page.locator('section.window').waitFor({ state: 'detached' });
  await page.locator('[name=shown]').selectOption('0');
  const game = page.getByRole('region', { name: 'Game 1' });
  const philidor = game.getByRole('region', { name: 'White: Philidor', exact: true });
  await philidor.getByText(/depth \d+, [\d,]+ nodes, [\d,]+ a second/).waitFor();
  await philidor.getByText(/^White \d+ %, draw \d+ %, Black \d+ %$/).waitFor();
  await philidor.locator('tbody tr').first().waitFor();
  await game.getByRole('region', { name: 'Black: Random moves' }).waitFor();
  await game.locator('.stage .name', { hasText: 'Philidor' }).waitFor();
  await game.getByRole('button', { name: 'Search trees' }).click();
  const tree = game.getByRole('region', { name: 'Search tree of Philidor' });
  await tree.locator('button.tree-row').first().click();
  await tree.locator('ul ul').first().waitFor();
  await accessible(page);
  await button('Suspend').click();
  await status('suspended after 0');
  await counted(game.getByText('thinks', { exact: true }), 0);
  await page.locator('[name=delay]').selectOption('0');
  await button('Resume').click();
  await status('ended after 2 of 2');
  await page.getByRole('button', { name: 'Replay game 2' }).click();
  const replay = page.getByRole('region', { name: 'Game 2' });
  await replay.locator('.stage .name', { hasText: 'Random moves' }).waitFor();
  await page.keyboard.press('Home');
  await replay.getByText('Start', { exact: true }).waitFor();
  await page.keyboard.press('End');
  await replay.getByText('Start', { exact: true }).waitFor({ state: 'detached' });
  await replay.getByRole('button', { name: 'To the start' }).click();
  await replay.getByText('Start', { exact: true }).waitFor();
  await replay.getByRole('button', { name: 'One move on' }).click();
  await replay.locator('.reported', { hasText: /^1\. .+: opening$/ }).waitFor();
  // Philidor's last move has its evaluation, which the file keeps.
  await replay.getByRole('button', { name: 'To the end' }).click();
  const last = async () => (await replay.locator('.reported').textContent()).includes('depth');
  if (!await last()) await replay.getByRole('button', { name: 'One move back' }).click();
  await replay.locator('.reported', { hasText: /: [+−#]+[\d.]+, depth \d+, [\d,]+ nodes?, [\d.]+ m?s/ }).waitFor();
  await page.locator('.choices [name=game]').fill('1');
  await page.locator('.choices').getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('region', { name: 'Game 1' }).waitFor();
  await page.locator('[name=shown]').selectOption('-1');
  await page.locator('#watch .live').first().waitFor();
  assert.deepEqual(page.faults, []);
});

test('boards that are not in view are not sent', async () => {
  const sent = await page.evaluate(() => new Promise((resolve) => {
    const source = new EventSource('/api/events?tab=onlooker');
    const boards = new Set();
    let count = 0;
    source.onmessage = async ({ data }) => {
      const message = JSON.parse(data);
      Object.keys(message.boards ?? {}).forEach((name) => boards.add(name));
      count += 1;
      if (count === 1) {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ tab: 'onlooker', boards: ['match/0'] });
        await fetch('/api/view', { method: 'POST', headers, body });
      } else if (boards.size > 0) {
        source.close();
        resolve([...boards]);
      }
    };
  }));
  assert.deepEqual(sent, ['match/0']);
});

test('a test with bounds on Elo ends a match, and its likelihood ratio is shown', async () => {
  // Where Black has little, Philidor may only draw on a busy machine: that is worth 200 Elo, far above the bound.
  await begin('Philidor', 'Random moves', 200, { sprt: true, fields: { elo0: '0', elo1: '100', openings: 'endings', at_once: '2' } });
  await page.locator('.llr', { hasText: /LLR .* between −2\.94 and 2\.94/ }).waitFor();
  await status('ended after');
  assert.match(await page.locator('.watched .notice').textContent(), /The test has decided: stronger by 100 Elo/);
  await page.getByText(/Elo (at least )?\+\d+/).first().waitFor();
});

test('a match is suspended, survives a restart of the server, and is resumed', async () => {
  await begin('Random moves', 'Random moves', 30, { fields: { seconds: '0.01' } });
  await page.locator('.results tbody tr').first().waitFor();
  await status(/[1-9]\d* of 30 games/);
  await button('Suspend').click();
  await status('suspended after');
  const { folder } = server;
  await server.stop();
  page.faults.length = 0;
  await page.context().close();
  await start(folder);
  await status('suspended after');
  await button('Resume').click();
  await status('ended after 30 of 30');
  assert.equal(readFileSync(join(folder, 'match-0.pgn'), 'utf8').match(/\[Result /g).length, 30);
  assert.deepEqual(page.faults, []);
});

test('the running games are finished, and a match with an engine that dies is suspended', async () => {
  await begin('Random moves', 'Mortal', 2);
  await page.locator('.notice', { hasText: 'Mortal ended (exit status: 9)' }).waitFor();
  // Another match puts the suspended one aside, which can be taken out again and resumed.
  await begin('Random moves', 'Random moves', 2);
  await status('ended after 2');
  await page.locator('.earlier summary').click();
  await page.locator('.earlier .game', { hasText: 'suspended' }).click();
  await status('Random moves against Mortal: suspended after 0');
  await page.locator('.earlier .game', { hasText: '2 of 2 games, ended', hasNotText: 'Philidor' }).waitFor();
  const row = page.locator('.earlier li', { hasText: '2 of 2 games, ended', hasNotText: 'Philidor' });
  await row.getByRole('button', { name: 'Rename' }).click();
  await page.locator('.earlier [name=to]').fill('Luck of the draw');
  await page.keyboard.press('Enter');
  await row.locator('.players', { hasText: 'Luck of the draw' }).waitFor();
  const file = await downloaded(page, () => row.getByText('Export').click());
  assert.equal(file.toString().match(/\[Result /g).length, 2);
  await accessible(page);
  await row.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  await page.locator('.earlier .notice').getByRole('button', { name: 'Undo' }).click();
  await row.locator('.players', { hasText: 'Luck of the draw' }).waitFor();
  await button('Stop …').click();
  await button('Stop it').click();
  await status('ended after 0');
  await begin('Random moves', 'Random moves', 1000);
  await button('Finish the running games, then stop').click();
  await page.locator('.watched .status', { hasText: /finishing|ended/ }).first().waitFor();
  await status('ended after');
  assert.deepEqual(page.faults, []);
});

test('the form for a match remembers what was chosen', async () => {
  await page.reload();
  const value = (name) => page.locator(`.order [name=${name}]`).inputValue();
  await page.locator('.order [name=games]').waitFor();
  assert.deepEqual([await value('first'), await value('second'), await value('games'), await value('seconds')],
    ['Random moves', 'Random moves', '1000', '0.01']);
});

test('a PGN that another program writes is followed', async () => {
  const match = page.getByRole('region', { name: 'Match in tournament.pgn' });
  await match.getByText('it appears with the first game').waitFor();
  writeFileSync(followed, game('New', 'Old', '1', '1. f3 e5 2. g4 Qh4# 0-1') + game('Old', 'New', '1', '1. e4 e5 1/2-1/2'));
  await match.getByText('New against Old: 2 games.').waitFor();
  await match.getByText('0 won, 1 drawn, 1 lost').waitFor();
  await match.getByText('Pairs of games with 0, ½, 1, 1½ and 2 points: 0, 1, 0, 0, 0').waitFor();
  appendFileSync(followed, '[Event "x"]\n[Round "2"]\n[White "New"]\n[Black "Old"]\n[Result "*"]\n\n1. d4 {+0.3/9 0.1s} d5 2. c4');
  // Only boards in view are sent.
  await match.locator('.live').last().scrollIntoViewIfNeeded();
  await match.locator('.live figcaption', { hasText: "Queen's Gambit, move 2: c4" }).waitFor();
  await accessible(page);
  assert.deepEqual(page.faults, []);
});

test('nothing shifts while the page loads', async () => {
  await loadsInPlace(page, () => page.locator('.watched .status').first().waitFor());
});
