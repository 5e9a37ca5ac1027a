/**
 * The server's stream of events, and actions.
 *
 * @import {Curves, EarlierMatch, Explored, Headline, KeyTable, LibraryGame, Load, Message, OpeningChoice, PositionView, Replay, RunDetails, TreeView,
 *   Verdicts} from './types.js'
 * @import {Desk} from './puzzles/solving.js'
 */
import { openStream } from './stream.js';

/** Boards in view. @type {Set<string>} */
const shown = new Set();

/** Tells the stream which boards are in view. */
let tellView = () => {};

/** It is told at the end of this task. */
let isTelling = false;

/**
 * Connects again whenever the stream ends. All tabs share one stream, where the browser has shared workers.
 *
 * @param {(message: Message) => void} receive
 * @param {(connected: boolean) => void} connection
 */
export function listen(receive, connection) {
  const alone = () => {
    const stream = openStream();
    const listener = { receive, connection };
    stream.add(listener);
    tellView = () => stream.view(listener, [...shown]);
    tellView();
  };
  if (!('SharedWorker' in globalThis)) return alone();
  const worker = new SharedWorker('stream_worker.js', { type: 'module' });
  worker.onerror = alone;
  worker.port.onmessage = ({ data }) => ('message' in data ? receive(data.message) : connection(data.connected));
  tellView = () => worker.port.postMessage([...shown]);
  addEventListener('pagehide', () => worker.port.postMessage(null));
  // The browser may keep a page that was left, and show it again.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload();
  });
}

/**
 * A board comes into view or leaves it. The server sends only boards in view.
 *
 * @param {string} board
 * @param {boolean} isShown
 */
export function view(board, isShown) {
  if (shown.has(board) === isShown) return;
  if (isShown) shown.add(board);
  else shown.delete(board);
  if (isTelling) return;
  isTelling = true;
  queueMicrotask(() => {
    isTelling = false;
    tellView();
  });
}

/** @param {string} path @param {object} body */
function post(path, body) {
  const headers = { 'content-type': 'application/json' };
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => null);
}

/**
 * @param {object} action see `BoardCommand`, `Action`, `ReviewCommand`, `MatchCommand` and `RunCommand` in `studio/src`
 * @param {string} room `play`, `play/N`, `review`, `match` or `runs/N`
 * @returns {Promise<string | null>} the error
 */
export async function act(action, room) {
  const answer = await ask(`/api/${room}`, action);
  return 'error' in answer ? answer.error : null;
}

/**
 * Opens a game: see `BoardCommand`.
 *
 * @param {object} command
 * @returns {Promise<{value: {board: number}} | {error: string}>} the board on which it is
 */
export function openBoard(command) {
  return ask('/api/play', command);
}

/**
 * @param {string} path
 * @param {object} [body] of a POST
 * @returns {Promise<{value: any} | {error: string}>}
 */
function ask(path, body) {
  return read(body ? post(path, body) : fetch(path).catch(() => null));
}

/**
 * @param {Promise<Response | null>} request
 * @returns {Promise<{value: any} | {error: string}>}
 */
async function read(request) {
  const response = await request;
  if (!response) return { error: 'The server does not answer: is philidor-studio still running?' };
  try {
    const value = await response.json();
    return response.ok ? { value } : { error: String(value.error) };
  } catch {
    return { error: `The server answers with ${response.status}.` };
  }
}

/**
 * The server parses the PGN.
 *
 * @param {File} file
 * @param {number | null} here the board to open it on if that one is empty
 * @returns {Promise<{value: {board: number}} | {error: string}>} the board on which it is
 */
export function loadPgn(file, here) {
  const path = `/api/play/file${here === null ? '' : `?here=${here}`}`;
  return read(fetch(path, { method: 'POST', body: file }).catch(() => null));
}

/** @param {string} path @returns {Promise<any>} null after an error */
async function get(path) {
  const answer = await ask(path);
  return 'value' in answer ? answer.value : null;
}

/**
 * Adds moves after a position of the game's tree.
 *
 * @param {number} board
 * @param {number} node
 * @param {string} text in SAN or UCI notation, separated by blanks
 * @returns {Promise<{value: {node: number}} | {error: string}>}
 */
export function addVariation(board, node, text) {
  return ask(`/api/play/${board}`, { do: 'variation', node, text });
}

/**
 * Has a position analysed.
 *
 * @param {number} board
 * @param {number | null} node `null` is the game's last position
 * @returns {Promise<{value: PositionView} | {error: string}>}
 */
export function look(board, node) {
  return ask(`/api/play/${board}/look`, { node });
}

/**
 * The moves after a line, in the search tree.
 *
 * @param {number} board
 * @param {string[]} moves
 * @returns {Promise<{value: TreeView} | {error: string}>}
 */
export function tree(board, moves) {
  return ask(`/api/play/${board}/tree`, { moves });
}

/**
 * Whether a position that was set up is legal.
 *
 * @param {string} fen
 * @returns {Promise<{value: {fen: string, strange: string | null}} | {error: string}>}
 */
export function checkSetUp(fen) {
  return ask('/api/play/setup', { fen });
}

/** What the endgame tables know. @param {string} fen @returns {Promise<Verdicts | null>} null if they know nothing */
export async function verdicts(fen) {
  return await get(`/api/verdicts?fen=${encodeURIComponent(fen)}`);
}

/**
 * What was played in a position.
 *
 * @param {string} fen
 * @param {string} rating of the games from which on they are counted; empty for all
 * @returns {Promise<Explored | null>} null after an error
 */
export async function explore(fen, rating) {
  return await get(`/api/explorer?fen=${encodeURIComponent(fen)}${rating && `&rating=${rating}`}`);
}

/** The puzzles, and the answers to what a tab does with one. @type {Desk} */
export const puzzleDesk = {
  sources: async () => await get('/api/puzzles') ?? [],
  show: (id) => ask('/api/puzzles/show', id),
  next: (id, to, low, high) => ask('/api/puzzles/next', { id, to, low, high }),
  attempt: (id, text) => ask('/api/puzzles/try', { id, text }),
  solution: (id) => ask('/api/puzzles/solution', id),
  opinion: (id) => ask('/api/puzzles/opinion', id),
};

/** @param {File} file a table of puzzles, in place of the last one @returns {Promise<string | null>} the error */
export async function loadPuzzles(file) {
  const path = `/api/puzzles/file?name=${encodeURIComponent(file.name)}`;
  const answer = await read(fetch(path, { method: 'POST', body: file }).catch(() => null));
  return 'error' in answer ? answer.error : null;
}

/** @param {string} name @returns {Promise<OpeningChoice[]>} */
export async function openings(name) {
  return await get(`/api/openings?name=${encodeURIComponent(name)}`) ?? [];
}

/** The games of the studio's folder. @returns {Promise<LibraryGame[]>} */
export async function libraryGames() {
  return await get('/api/play/games') ?? [];
}

/** The games of the PGN on a board. @param {number} board @returns {Promise<Headline[]>} */
export async function headlines(board) {
  return await get(`/api/play/${board}/file`) ?? [];
}

/** Matches that were put aside. @returns {Promise<EarlierMatch[]>} */
export async function earlierMatches() {
  return await get('/api/match/earlier') ?? [];
}

/**
 * A finished game of the present match.
 *
 * @param {number} game from 0
 * @returns {Promise<{value: Replay} | {error: string}>}
 */
export function replayGame(game) {
  return ask(`/api/match/game?game=${game}`);
}

/**
 * The search tree of an engine of a running game.
 *
 * @param {number} lane
 * @param {boolean} white the engine that has White
 * @param {string[]} moves
 * @returns {Promise<{value: TreeView} | {error: string}>}
 */
export function matchTree(lane, white, moves) {
  return ask('/api/match/tree', { lane, white, moves });
}

/** Opening books. @returns {Promise<string[]>} */
export async function books() {
  return await get('/api/match/books') ?? [];
}

/**
 * @param {number} run
 * @param {number} points at most, per curve
 * @param {number} [smoothing] time constant as a share of the run; 0 for none
 * @returns {Promise<Curves | null>} null after an error
 */
export function curves(run, points, smoothing = 0) {
  return get(`/api/runs/${run}/curves?points=${points}&smoothing=${smoothing}`);
}

/**
 * The trainer's table of keys.
 *
 * @param {'train' | 'rl'} command
 * @param {string} preset empty for the default
 * @param {boolean} sparse of `rl`: the network is of the family sparse
 * @returns {Promise<{value: KeyTable} | {error: string}>}
 */
export function runKeys(command, preset, sparse) {
  return ask(`/api/runs/keys?command=${command}&preset=${encodeURIComponent(preset)}&sparse=${sparse}`);
}

/** @param {object} order see `RunOrder` in `studio/src/runs/order.rs` @returns {Promise<{value: {id: number}} | {error: string}>} */
export function beginRun(order) {
  return ask('/api/runs', order);
}

/** How busy the server's machine is. @returns {Promise<Load | null>} null after an error */
export function machineLoad() {
  return get('/api/load');
}

/** @param {number} run @returns {Promise<RunDetails | null>} */
export function runDetails(run) {
  return get(`/api/runs/${run}`);
}
