// A board with the engine: analyse, or play against it.
import { isolate } from './isolation.js';
import { Philidor } from './philidor/index.js';
import { Chessground } from './vendor/chessground.min.js';
import { html, nothing, render } from './vendor/lit-html.js';
import { chess960 } from './chess960.js';
import { promotionDialog } from './promotion.js';

const LEVELS = ['800', '1200', '1600', '2000', '2400'];
const HASH_MIB = 128;

const MOST_THREADS = 16;

await isolate();
const engine = new Philidor();
const panel = document.getElementById('panel');

/** The game from `start` (empty: the initial position); `ply` of its moves are shown. */
const game = { start: '', moves: [], ply: 0 };
/** Of the moves up to `ply`. @type {import('./philidor/index.js').DescribedPosition | null} */
let position = null;
/** All moves in SAN. */
let san = [];
/** The side that the engine plays, or null while one analyses. */
let engineSide = null;
let isAnalysing = true;
let level = '';
let seconds = '1';
let lines = 2;
let threads = 1;
/** @type {import('./philidor/index.js').Info[]} with their moves in SAN as `words` */
let infos = [];
let isThinking = false;
let said = '';
let isWrong = false;
/** The engine's last move, as a screen reader tells it. */
let played = '';
/** Promotions to choose from. */
let promotions = [];
/** Counts positions, so that answers about earlier ones are dropped. */
let shown = 0;

const ground = Chessground(document.getElementById('board'), {
  coordinates: true,
  movable: { free: false, color: undefined, events: { after: (from, to) => moved(from, to) } },
});

function say(text, wrong = false) {
  [said, isWrong] = [text, wrong];
  draw();
}

/** Shows the first `ply` moves and lets the engine think about the position. */
async function show(ply = game.moves.length) {
  const ticket = ++shown;
  game.ply = ply;
  infos = [];
  promotions = [];
  engine.stop();
  isThinking = false;
  // Until the legal moves are known, no piece can be moved.
  ground.set({ movable: { color: undefined } });
  const [now, all] = await Promise.all([
    engine.describe({ fen: game.start, moves: game.moves.slice(0, ply) }),
    engine.describe({ fen: game.start, moves: game.moves }),
  ]);
  if (ticket !== shown) return;
  [position, san] = [now, all.san];
  const dests = new Map();
  for (const { uci } of now.legal) {
    const from = uci.slice(0, 2);
    dests.set(from, [...(dests.get(from) ?? []), uci.slice(2, 4)]);
  }
  const last = game.moves[ply - 1];
  ground.set({
    fen: now.fen,
    turnColor: now.turn,
    check: now.check,
    lastMove: last ? [last.slice(0, 2), last.slice(2, 4)] : undefined,
    movable: { color: engineSide === now.turn ? undefined : now.turn, dests },
  });
  ground.setAutoShapes([]);
  say(now.result ? `The game is over: ${now.result.replaceAll('1/2', '½')}` : '');
  if (now.result) return;
  if (engineSide === now.turn && ply === game.moves.length) await reply(ticket);
  else if (isAnalysing && engineSide === null && !document.hidden) await analyse(ticket);
}

async function think(ticket, limits) {
  isThinking = true;
  const search = { fen: game.start, moves: game.moves.slice(0, game.ply), ...limits };
  const result = await engine.go(search, (info) => ticket === shown && showLine(ticket, info));
  if (ticket === shown) isThinking = false;
  return result;
}

async function showLine(ticket, info) {
  const moves = [...game.moves.slice(0, game.ply), ...info.pv];
  const described = await engine.describe({ fen: game.start, moves });
  if (ticket !== shown) return;
  infos[info.multipv - 1] = { ...info, words: described.san.slice(game.ply) };
  if (engineSide === null) {
    ground.setAutoShapes(infos.filter(Boolean).map(({ pv }, index) => ({
      orig: pv[0].slice(0, 2), dest: pv[0].slice(2, 4), brush: index === 0 ? 'green' : 'paleBlue',
    })));
  }
  draw();
}

async function analyse(ticket) {
  engine.send('setoption name UCI_LimitStrength value false');
  engine.send(`setoption name MultiPV value ${lines}`);
  await think(ticket, {});
}

async function reply(ticket) {
  engine.send(`setoption name UCI_LimitStrength value ${level !== ''}`);
  if (level) engine.send(`setoption name UCI_Elo value ${level}`);
  engine.send('setoption name MultiPV value 1');
  draw();
  const { bestmove } = await think(ticket, { movetime: Number(seconds) * 1000 });
  if (ticket !== shown || !bestmove) return;
  const { san: name } = position.legal.find(({ uci }) => uci === bestmove);
  played = `${side(engineSide)} played ${name}. `;
  await play(bestmove);
}

/** A move was typed, in SAN or UCI notation. */
function typed(event) {
  event.preventDefault();
  const input = event.target.elements.namedItem('move');
  const text = input.value.trim();
  if (engineSide === position.turn && game.ply === game.moves.length) return say('It is the engine\'s turn', true);
  const bare = (san) => san.replace(/[+#]$/, '');
  const move = position.legal.find(({ uci, san: name }) => uci === text || bare(name) === bare(text));
  if (!move) return say(`${text} is not legal here`, true);
  input.value = '';
  return play(move.uci);
}

function play(uci) {
  game.moves = [...game.moves.slice(0, game.ply), uci];
  return show();
}

function moved(from, to) {
  const matching = position.legal.filter(({ uci }) => uci.startsWith(from + to));
  if (matching.length === 1) return play(matching[0].uci);
  promotions = matching;
  return draw();
}

function begin(start, side) {
  Object.assign(game, { start, moves: [], ply: 0 });
  engineSide = side;
  played = '';
  engine.stop();
  engine.send('ucinewgame');
  if (side) ground.set({ orientation: side === 'white' ? 'black' : 'white' });
  return show();
}

async function setUp(event) {
  event.preventDefault();
  const fen = new FormData(event.target).get('fen').trim();
  try {
    await engine.describe({ fen });
  } catch (error) {
    return say(error.message, true);
  }
  return begin(fen, null);
}

/** For the side to move, as White sees it. */
function score({ cp, mate }) {
  const sign = position.turn === 'white' ? 1 : -1;
  const value = sign * (mate ?? cp);
  const minus = value < 0 ? '−' : '';
  if (mate !== null) return `#${minus}${Math.abs(value)}`;
  return `${value > 0 ? '+' : minus}${Math.abs(value / 100).toFixed(2)}`;
}

function side(color) {
  return color === 'white' ? 'White' : 'Black';
}

function state() {
  if (said) return said;
  if (engineSide === position.turn && isThinking) return 'The engine is thinking …';
  const you = engineSide && engineSide !== position.turn ? ' (you)' : '';
  return `${played}${side(position.turn)} to move${you}`;
}

function numbered(words) {
  const [, turn, , , , fullmoves] = position.fen.split(' ');
  const start = (Number(fullmoves) - 1) * 2 + (turn === 'b' ? 1 : 0);
  return words.map((word, index) => {
    const ply = start + index;
    const number = ply % 2 === 0 ? `${ply / 2 + 1}. ` : index === 0 ? `${(ply + 1) / 2}… ` : '';
    return number + word;
  }).join(' ');
}

function movesOfGame() {
  const begins = game.start.split(' ');
  const first = begins[1] === 'b' ? 1 : 0;
  const number = Number(begins[5] ?? 1) || 1;
  return san.map((word, index) => {
    const ply = first + index;
    return html`${ply % 2 === 0 ? `${number + ply / 2}. ` : index === 0 ? `${number}… ` : nothing}<button type="button"
      aria-current=${index + 1 === game.ply ? 'true' : nothing} @click=${() => show(index + 1)}>${word}</button> `;
  });
}

function draw() {
  const info = infos.find(Boolean);
  const known = info ? `${info.nodes.toLocaleString('en')} visits, ${info.nps.toLocaleString('en')} a second` : '';
  if (!position) return;
  render(html`
    <p id="status" role="status" class=${isWrong ? 'wrong' : nothing}>${state()}</p>
    <form class="row" @submit=${typed}>
      <label>Move <input name="move" autocomplete="off" autocapitalize="off" spellcheck="false" size="8" placeholder="e4, Nf3"></label>
      <button>Play</button>
    </form>
    <div class="row">
      <button type="button" aria-pressed=${String(isAnalysing && engineSide === null)} @click=${toggleAnalysis}>Analyse</button>
      <button type="button" @click=${() => begin(game.start, 'black')}>Play White</button>
      <button type="button" @click=${() => begin(game.start, 'white')}>Play Black</button>
      <label>Strength
        <select @change=${(event) => { level = event.target.value; }}>
          <option value="">full</option>${LEVELS.map((elo) => html`<option>${elo}</option>`)}
        </select>
      </label>
      <label>Seconds a move
        <select @change=${(event) => { seconds = event.target.value; }}>
          ${['1', '3', '10'].map((count) => html`<option>${count}</option>`)}
        </select>
      </label>
      <label>Lines
        <select @change=${setLines}>
          ${[1, 2, 3, 5].map((count) => html`<option ?selected=${count === lines}>${count}</option>`)}
        </select>
      </label>
      ${engine.hasThreads ? html`<label>Threads
        <select @change=${(event) => setThreads(Number(event.target.value))}>
          ${Array.from({ length: mostThreads() }, (_, index) => html`<option ?selected=${index + 1 === threads}>${index + 1}</option>`)}
        </select>
      </label>` : nothing}
    </div>
    <ul id="lines" aria-label="Lines of the engine">
      ${infos.filter(Boolean).map((line) => html`<li><b>${score(line)}</b> ${numbered(line.words)}</li>`)}
    </ul>
    <p class="faint">${known}</p>
    <div class="row">
      <button type="button" aria-label="First position" @click=${() => show(0)}>|◀</button>
      <button type="button" aria-label="One move back" ?disabled=${game.ply === 0}
        @click=${() => show(game.ply - 1)}>◀</button>
      <button type="button" aria-label="One move on" ?disabled=${game.ply === game.moves.length}
        @click=${() => show(game.ply + 1)}>▶</button>
      <button type="button" aria-label="Last position" @click=${() => show()}>▶|</button>
      <button type="button" @click=${() => ground.toggleOrientation()}>Flip</button>
      <button type="button" @click=${() => begin('', null)}>New game</button>
      <button type="button" @click=${() => begin(chess960(Math.floor(Math.random() * 960)), null)}>Chess960</button>
    </div>
    <div id="moves" role="group" aria-label="Moves">${movesOfGame()}</div>
    <form class="row" @submit=${setUp}>
      <input name="fen" aria-label="FEN" placeholder="FEN" autocomplete="off" .value=${position?.fen ?? ''}>
      <button>Set up</button>
    </form>
    ${promotions.length > 0 ? promotionDialog(position.turn, choose, cancel) : nothing}`, panel);
  const dialog = panel.querySelector('dialog');
  if (dialog && !dialog.open) dialog.showModal();
}

function setLines(event) {
  lines = Number(event.target.value);
  if (engineSide === null) show(game.ply);
}

function mostThreads() {
  return Math.min(Math.max(navigator.hardwareConcurrency, 1), MOST_THREADS);
}

function setThreads(count) {
  threads = count;
  engine.stop();
  engine.send(`setoption name Threads value ${threads}`);
  show(game.ply);
}

function choose(letter) {
  const chosen = promotions.find(({ uci }) => uci.endsWith(letter));
  play(chosen.uci);
}

function cancel() {
  show(game.ply);
}

function toggleAnalysis() {
  isAnalysing = engineSide !== null || !isAnalysing;
  engineSide = null;
  show(game.ply);
}

addEventListener('keydown', (event) => {
  if (event.target.matches('input, select') || promotions.length > 0) return;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.key === 'ArrowLeft' && game.ply > 0) show(game.ply - 1);
  else if (event.key === 'ArrowRight' && game.ply < game.moves.length) show(game.ply + 1);
  else return;
  event.preventDefault();
});

// A page that nobody looks at does not analyse.
document.addEventListener('visibilitychange', () => {
  if (position && engineSide === null) show(game.ply);
});

addEventListener('unhandledrejection', (event) => say(`${event.reason?.message ?? event.reason}: reload the page`, true));

engine.onProgress = (loaded, total) => {
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  document.getElementById('loaded').textContent = `${megabytes(loaded)}${total ? ` of ${megabytes(total)}` : ''} MB`;
  if (total) Object.assign(document.getElementById('loading'), { value: loaded, max: total });
};

engine.ready.then(() => {
  panel.replaceChildren();
  engine.send(`setoption name Hash value ${HASH_MIB}`);
  // The page needs a processor too.
  setThreads(engine.hasThreads ? Math.max(mostThreads() - 1, 1) : 1);
}, (error) => {
  panel.replaceChildren(document.getElementById('status'));
  document.getElementById('status').textContent = `The engine cannot be loaded: ${error.message}`;
});
