// Philidor in a worker: `new Philidor().go({ fen, movetime: 1000 })`, or UCI lines by `send` and `onLine`.

const { Worker } = globalThis.Worker ? globalThis : await import('node:worker_threads');

export class Philidor {
  #worker;
  #questions = new Map();
  #asked = 0;
  /** The searches that were asked for, in order; the first is running. */
  #searches = [];
  #failure = null;

  /** Resolves when the network is loaded; rejects if it cannot be. */
  ready;

  /** Called with every line that the engine writes. */
  onLine = (line) => {};

  constructor() {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.ready = new Promise((resolve, reject) => {
      const take = (message) => this.#take(message, resolve, reject);
      const fail = (why) => take({ failed: why });
      if (this.#worker.on) {
        this.#worker.on('message', take);
        this.#worker.on('error', (error) => fail(String(error)));
      } else {
        this.#worker.onmessage = (event) => take(event.data);
        this.#worker.onerror = (event) => fail(event.message || 'the engine cannot be loaded');
      }
    });
    // Who does not await it learns of a failure from `go`.
    this.ready.catch(() => {});
  }

  /** Sends a UCI line, such as `setoption name MultiPV value 3`. */
  send(line) {
    this.#worker.postMessage(line);
  }

  /**
   * Searches a position. A search that is still running is stopped first, and its promise resolves with what it found.
   * Without a limit it searches until `stop`.
   */
  go({ fen = '', moves = [], movetime, nodes, depth } = {}, onInfo = (info) => {}) {
    if (this.#failure) return Promise.reject(new Error(this.#failure));
    if (this.#searches.length > 0) this.stop();
    const limits = Object.entries({ movetime, nodes, depth }).filter(([, value]) => value !== undefined);
    this.send(`position ${fen ? `fen ${fen}` : 'startpos'}${moves.length > 0 ? ` moves ${moves.join(' ')}` : ''}`);
    this.send(`go ${limits.length > 0 ? limits.flat().join(' ') : 'infinite'}`);
    return new Promise((resolve, reject) => this.#searches.push({ resolve, reject, onInfo, infos: [] }));
  }

  stop() {
    this.send('stop');
  }

  /** The position after `moves` from `fen`: FEN, side to move, check, legal moves and earlier moves in SAN, result. */
  describe({ fen = '', moves = [] } = {}) {
    if (this.#failure) return Promise.reject(new Error(this.#failure));
    const id = ++this.#asked;
    this.#worker.postMessage({ id, fen, moves: moves.join(' ') });
    return new Promise((resolve, reject) => this.#questions.set(id, { resolve, reject }));
  }

  terminate() {
    this.#fail('the engine was terminated');
    return this.#worker.terminate();
  }

  #take(message, resolve, reject) {
    if (typeof message === 'string') {
      this.#line(message);
    } else if (message.ready) {
      resolve();
    } else if (message.failed) {
      this.#fail(message.failed);
      reject(new Error(message.failed));
    } else {
      const question = this.#questions.get(message.id);
      this.#questions.delete(message.id);
      if (message.error) question?.reject(new Error(message.error));
      else question?.resolve(message.position);
    }
  }

  #fail(why) {
    this.#failure = why;
    const waiting = [...this.#questions.values(), ...this.#searches.splice(0)];
    this.#questions.clear();
    waiting.forEach(({ reject }) => reject(new Error(why)));
  }

  #line(line) {
    this.onLine(line);
    const search = this.#searches[0];
    if (!search) return;
    if (line.startsWith('bestmove ')) {
      this.#searches.shift();
      const [, best, , ponder] = line.split(' ');
      search.resolve({ bestmove: best === '(none)' ? null : best, ponder: ponder ?? null, infos: search.infos });
    } else if (line.startsWith('info ') && line.includes(' pv ')) {
      const info = parseInfo(line);
      search.infos[info.multipv - 1] = info;
      search.onInfo(info);
    }
  }
}

/** An `info` line with a variation. The score is for the side to move: centipawns, or moves to mate. */
export function parseInfo(line) {
  const words = line.split(' ');
  const after = (word) => words[words.indexOf(word) + 1];
  const number = (word) => (words.includes(word) ? Number(after(word)) : null);
  const wdl = words.indexOf('wdl');
  return {
    multipv: number('multipv') ?? 1,
    depth: number('depth'),
    seldepth: number('seldepth'),
    cp: number('cp'),
    mate: number('mate'),
    /** Win, draw and loss for the side to move, in thousandths; with `UCI_ShowWDL`. */
    wdl: wdl < 0 ? null : words.slice(wdl + 1, wdl + 4).map(Number),
    nodes: number('nodes'),
    nps: number('nps'),
    time: number('time'),
    pv: words.slice(words.indexOf('pv') + 1),
  };
}
