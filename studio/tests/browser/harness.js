/** A studio on a free port and a browser in front of it, for the tests. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, before, beforeEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import playwright from 'playwright-core';

const TARGET = fileURLToPath(new URL('../../../target/', import.meta.url));
/** Git ignores this folder. */
const SCREENSHOTS = fileURLToPath(new URL('../screenshots/', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Only ends tests that hang, because a loaded machine is slow. */
export const PATIENCE_MS = 60_000;

/** Path of a built program: named by the environment, or else the debug or the release build. */
export function program(name, variable) {
  const paths = process.env[variable] ? [process.env[variable]] : ['debug', 'release'].map((kind) => join(TARGET, kind, name));
  const found = paths.find((path) => existsSync(path));
  if (!found) throw new Error(`${name} is not built: run 'cargo build -p engine -p studio' (looked for ${paths.join(', ')})`);
  return found;
}

/** An engine in shell that answers with these moves, one after the other; `crash` ends it, `think` waits for `stop`. */
export function scripted(name, moves) {
  const script = `set -- ${moves}; while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) exit;; `
    + 'go*) if [ "$1" = crash ]; then exit 9; fi; [ "$1" = think ] || echo bestmove $1; shift;; '
    + 'stop) echo bestmove 0000;; esac; done';
  return `${name}=/bin/sh -c '${script}'`;
}

/** A running server. */
export class Server {
  static async start(options = {}) {
    const server = new Server();
    server.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'philidor-studio-'));
    const philidor = options.philidor ?? program('philidor', 'PHILIDOR');
    const engines = (options.engines ?? []).flatMap((engine) => ['--engine', engine]);
    const runs = (options.runs ?? []).flatMap((run) => ['--run', run]);
    const more = options.flags ?? [];
    const flags = ['--port', '0', '--state', server.folder, '--philidor', philidor, ...engines, ...runs, ...more];
    server.child = spawn(program('philidor-studio', 'PHILIDOR_STUDIO'), flags, {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const line of createInterface({ input: server.child.stdout })) {
      server.url = line.match(/http:\/\/\S+/)?.[0];
      break;
    }
    assert.ok(server.url, 'the server says where it is');
    return server;
  }

  /** Kills the engines, as a crash or somebody else would. */
  killEngines() {
    for (const pid of this.engines()) process.kill(pid, 'SIGKILL');
  }

  /** The process numbers of the engines that run. */
  engines() {
    const children = readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, 'utf8');
    return children.trim().split(' ').filter(Boolean).map(Number);
  }

  async stop() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    await ended;
  }

  async remove() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The browser is a Firefox, which Playwright drives by WebDriver BiDi. */
export const IS_FIREFOX = /firefox/.test(process.env.BROWSER ?? '');

/** Where this Firefox puts what it downloads. */
const downloads = IS_FIREFOX ? mkdtempSync(join(tmpdir(), 'philidor-downloads-')) : '';
process.once('exit', () => IS_FIREFOX && rmSync(downloads, { recursive: true, force: true }));

/** The browser that `BROWSER` names, such as chromium or firefox-esr. */
export function launch() {
  const name = process.env.BROWSER ?? 'chromium';
  const executablePath = execFileSync('/bin/sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' }).trim();
  if (!IS_FIREFOX) return playwright.chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const firefoxUserPrefs = {
    'browser.download.dir': downloads,
    'browser.download.folderList': 2,
    'dom.events.testing.asyncClipboard': true,
  };
  return playwright._bidiFirefox.launch({ executablePath, firefoxUserPrefs });
}

/** The content of the file that the page saves when something is done. */
export async function downloaded(page, act) {
  const [download] = await Promise.all([page.waitForEvent('download'), act()]);
  const path = await download.path();
  if (!IS_FIREFOX) return readFileSync(path);
  // Playwright knows when this file is complete, but not where it is.
  const [name] = readdirSync(downloads);
  const bytes = readFileSync(join(downloads, name));
  rmSync(join(downloads, name));
  return bytes;
}

/** A tab that records errors and requests to other servers as faults. */
export async function openTab(browser, url, options = {}) {
  const context = options.context ?? await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.faults = [];
  page.on('pageerror', (error) => {
    // In Firefox, Playwright's screenshots want a style in the page, which the page's policy forbids.
    if (!IS_FIREFOX || !/inline style \(style-src-elem\)/.test(error.message)) page.faults.push(`error: ${error.message}`);
  });
  page.on('console', (message) => {
    // The browser itself reports refused actions, which tests provoke.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) page.faults.push(message.text());
  });
  page.on('request', (request) => {
    const isOurs = request.url().startsWith(new URL(url).origin) || request.url().startsWith('data:');
    if (!isOurs) page.faults.push(`asks for ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

/** The windows of a phone, upright and on its side, of a laptop and of a large screen. */
export const SIZES = [[360, 740], [740, 360], [1280, 800], [2560, 1440]];

/** Gives the window this size, and waits until the page has followed; nothing may stand out to the right. */
export async function resize(page, [width, height]) {
  await page.setViewportSize({ width, height });
  await page.waitForFunction((w) => innerWidth === w && document.documentElement.scrollWidth <= w, width);
}

/** Whether a box is wholly in view at this size, where the page stands. */
export function inView(shown, [width, height]) {
  return shown.x >= 0 && shown.y >= 0 && shown.x + shown.width <= width && shown.y + shown.height <= height;
}

/** Pastes a text into the page. */
export function pasted(page, text) {
  return page.evaluate((words) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', words);
    const event = new ClipboardEvent('paste', { bubbles: true, cancelable: true });
    // Firefox leaves it out of an event that a script makes.
    Object.defineProperty(event, 'clipboardData', { value: clipboardData });
    document.body.dispatchEvent(event);
  }, text);
}

/** Saves what the window shows for people to look at, from this element on, or from the top of the page. */
export async function photograph(page, name, from = 'body') {
  await page.locator(from).evaluate((element) => {
    for (const panel of element.querySelectorAll('.panel')) panel.scrollTop = 0;
    element.scrollIntoView();
  });
  const { width, height } = page.viewportSize();
  await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}x${height}.png`), animations: 'disabled' });
}

/** Gives every test of a file its own server and tab in the returned object, then calls `begin`. */
export function eachTest(options, begin) {
  const studio = {};
  before(async () => {
    studio.browser = await launch();
  });
  after(() => studio.browser.close());
  beforeEach(async () => {
    studio.server = await Server.start(options);
    studio.page = await openTab(studio.browser, studio.server.url);
    begin();
  });
  afterEach(async () => {
    await studio.page.context().close();
    await studio.server.remove();
    assert.deepEqual(studio.page.faults, []);
  });
  return studio;
}

/** Nothing may shift while the page loads, until it is `ready`. */
export async function loadsInPlace(page, ready) {
  await page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shift += entry.value; }))
      .observe({ type: 'layout-shift', buffered: true });
  });
  await page.reload();
  await ready();
  const shift = await page.evaluate(() => window.shift);
  assert.ok(shift < 0.02, `layout shift ${shift}`);
}

/** A round trip to the server, after which all its earlier answers have arrived. */
export async function roundTrip(page) {
  await page.evaluate(() => fetch('/api/match/books').then((answer) => answer.text()));
}

/** Waits until the page has processed the answers that have arrived. */
export async function answersDone(page) {
  await roundTrip(page);
  await page.evaluate(() => new Promise(requestAnimationFrame));
}

/** The middle of a square in pixels; `side` is the one at the bottom. */
export async function at(page, square, side = 'white') {
  const box = await page.locator('.board cg-board').boundingBox();
  const file = square.charCodeAt(0) - 97;
  const rank = Number(square[1]) - 1;
  const [column, row] = side === 'white' ? [file, 7 - rank] : [7 - file, rank];
  return [box.x + (column + 0.5) * box.width / 8, box.y + (row + 0.5) * box.height / 8];
}

/** Drags from one square to another; `side` is the one at the bottom. */
export async function drag(page, from, to, side = 'white') {
  await page.mouse.move(...await at(page, from, side));
  await page.mouse.down();
  await page.mouse.move(...await at(page, to, side), { steps: 4 });
  await page.mouse.up();
}

/** The number of the board that a tab shows, once its address names one. */
export async function boardOf(page) {
  const number = await page.waitForFunction(() => /^#play\/(\d+)$/.exec(location.hash)?.[1]);
  return Number(await number.jsonValue());
}

/** Waits until the address of a tab names this board. */
export async function onBoard(page, board) {
  await page.waitForFunction((hash) => location.hash === hash, `#play/${board}`);
}

/** Waits until as many elements are there. */
export async function counted(locator, count) {
  if (count === 0) await locator.first().waitFor({ state: 'detached' });
  else await locator.nth(count - 1).waitFor({ state: 'attached' });
  await locator.nth(count).waitFor({ state: 'detached' });
}

export async function type(page, move) {
  await page.locator('#typed').fill(move);
  await page.locator('#typed').press('Enter');
}

/** The moves in the list, once there are `count`. */
export async function moves(page, count) {
  await page.waitForFunction((n) => document.querySelectorAll('.move').length === n, count);
  return page.locator('.move').allTextContents();
}

/** Begins a game in the form: values by name, `true` for a box to tick. */
export async function newGame(page, choices) {
  await page.getByRole('button', { name: 'New game', exact: true }).click();
  for (const [name, value] of Object.entries(choices)) {
    const field = page.locator(`#new-game [name=${name}]`);
    if (value === true) await field.check();
    else if (await field.evaluate((element) => element.tagName === 'SELECT')) await field.selectOption(value);
    else await field.fill(value);
  }
  const before = await page.locator('.table').first().getAttribute('data-game');
  await page.locator('#new-game').getByRole('button', { name: 'Begin' }).click();
  await page.locator('#new-game').waitFor({ state: 'detached' });
  await page.waitForFunction((old) => document.querySelector('.table')?.getAttribute('data-game') !== old, before);
}

/** Checks the page's accessibility in light and dark. */
export async function accessible(page) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    // The debugger evaluates this, because the page's policy allows only its own scripts.
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run());
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`);
    assert.deepEqual(found, [], colorScheme);
  }
  await page.emulateMedia({ colorScheme: null });
}
