/**
 * Measures what the page costs while an engine sends lines, and how soon the first line of a position comes.
 *
 * Usage: npm --prefix studio run cost
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, launch, openTab } from '../browser/harness.js';

/** In seconds, of the measurement. */
const SECONDS = 30;

const PGN = `[Event "?"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7 *
`;

/** @param {number[]} values */
function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

const FLOOD = `n=1
flood() { while :; do n=$((n+1)); for k in 1 2 3; do
  echo "info depth $((n/20+1)) multipv $k score cp $((n%50)) nodes $((n*977)) nps 20000 pv $(eval echo \\$line$k)"
done; sleep 0.05; done; }
line1="e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7"
line2="d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7 e2e3 e8g8"
line3="c2c4 e7e5 b1c3 g8f6 g1f3 b8c6 g2g3 d7d5 c4d5 f6d5"
while read -r l; do case $l in uci) echo uciok;; isready) echo readyok;; quit) kill $p; exit;;
  go*) flood & p=$!;; stop) kill $p; echo bestmove e2e4;; esac; done
`;

const folder = mkdtempSync(join(tmpdir(), 'philidor-cost-'));
writeFileSync(join(folder, 'flood.sh'), FLOOD);
const server = await Server.start({ engines: [`Flood=/bin/sh ${join(folder, 'flood.sh')}`] });
const browser = await launch();
const page = await openTab(browser, server.url);
await page.locator('#play input[type=file]').first()
  .setInputFiles({ name: 'game.pgn', mimeType: 'application/x-chess-pgn', buffer: Buffer.from(PGN) });
await page.locator('.move').nth(19).waitFor();
await page.getByRole('button', { name: 'Evaluation', exact: true }).click();
await page.locator('.evaluation li').first().waitFor();

// From the press of a key to the frame with the first line of the new position.
await page.evaluate(() => {
  window.waits = [];
  window.changes = 0;
  let pressed = null;
  document.addEventListener('keydown', (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    window.changes += 1;
    if (pressed === null || !document.querySelector('.evaluation li')) return;
    const since = pressed;
    pressed = null;
    requestAnimationFrame(() => window.waits.push(performance.now() - since));
  }).observe(document.querySelector('#play'), { subtree: true, childList: true, characterData: true });
});
await page.keyboard.press('Home');
for (let count = 1; count <= 20; count += 1) {
  await page.waitForFunction((n) => window.waits.length >= n, count);
  await page.waitForTimeout(500);
  await page.keyboard.press('ArrowRight');
}
await page.waitForFunction(() => window.waits.length >= 21);
const waits = await page.evaluate(() => window.waits);
console.log(`first line after ${Math.round(median(waits))} ms in the median of ${waits.length} positions, at most ${Math.round(Math.max(...waits))} ms`);

// An engine that sends three lines every 50 ms, of which the page gets the last every 100 ms.
await page.keyboard.press('Home');
await page.getByRole('button', { name: 'Set up Philidor' }).click();
await page.locator('#engine-form [name=engine]').selectOption('Flood');
await page.locator('#engine-form [name=kind]').selectOption('infinite');
await page.locator('#engine-form button.first').click();
await page.locator('.evaluation', { hasText: 'Flood' }).locator('li').nth(2).waitFor();
const cdp = await page.context().newCDPSession(page);
await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });

async function metrics() {
  const { metrics: all } = await cdp.send('Performance.getMetrics');
  return Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

const [before, changes] = [await metrics(), await page.evaluate(() => window.changes)];
await new Promise((resolve) => setTimeout(resolve, 1000 * SECONDS));
const [after, changed] = [await metrics(), await page.evaluate(() => window.changes)];
const share = (name) => `${(100 * (after[name] - before[name]) / SECONDS).toFixed(1)} %`;
console.log(`${((changed - changes) / SECONDS).toFixed(1)} messages a second cost ${share('TaskDuration')} of a core: scripts ${share('ScriptDuration')}, `
  + `styles ${share('RecalcStyleDuration')}, layout ${share('LayoutDuration')}`);
await browser.close();
await server.remove();
rmSync(folder, { recursive: true });
