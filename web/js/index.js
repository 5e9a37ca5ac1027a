// Philidor in a worker: `new Philidor().go({ fen, movetime: 1000 })`, or UCI lines by `send` and `onLine`.

const { Worker } = globalThis.Worker ? globalThis : await import('node:worker_threads');

export class Philidor {
  /** Loads the engine and takes its lines. */
  #worker;
  /** Module and memory of the threads. */
  #shared;
  #threads = [];
  #questions = new Map();
  #asked = 0;
  /** The searches that were begun, in order; the first is running. Those of `send` have only `infos`. */
  #searches = [];
  #failure = null;
  #loaded;
  #notLoaded;
  #completed;
  #notCompleted;

  /** Resolves when the engine is loaded; rejects if it cannot be. */
  ready = new Promise((resolve, reject) => {
    this.#loaded = resolve;
    this.#notLoaded = reject;
  });

  /** Resolves when the endgame tables of three and four men, which browsers load later, are there too. */
  complete = new Promise((resolve, reject) => {
    this.#completed = resolve;
    this.#notCompleted = reject;
  });

  /** Whether the option `Threads` can be above 1. Known when `ready` has resolved. */
  hasThreads = false;

  /** Called with every line that the engine writes. */
  onLine = (line) => {};

  /** In a browser, called with the bytes of the engine that have come, and of all, if the host says how many. */
  onProgress = (loaded, total) => {};

  /** Without `threads`, the option `Threads` is always 1, as where workers cannot share memory. */
  constructor({ threads = true } = {}) {
    this.#worker = this.#start('./worker.js', { threads });
    // Who does not await it learns of a failure from `go`.
    this.ready.catch(() => {});
    this.complete.catch(() => {});
  }

  /** Sends a UCI line, such as `setoption name MultiPV value 3`. */
  send(line) {
    if (/^\s*go\b/i.test(line)) this.#searches.push({ infos: [] });
    this.#worker.postMessage(line);
  }

  /**
   * Searches a position. A search that is still running is stopped first, and its promise resolves with what it found.
   * Without a limit it searches until `stop`. Rejects a position that cannot be, and moves that are not legal.
   */
  go({ fen = '', moves = [], movetime, nodes, depth } = {}, onInfo = (info) => {}) {
    const limits = Object.entries({ movetime, nodes, depth }).filter(([, value]) => value !== undefined);
    const wrong = limits.find(([, value]) => !(Number.isFinite(value) && value >= 0));
    if (wrong) return Promise.reject(new RangeError(`${wrong[0]} is no number from 0 up: ${wrong[1]}`));
    if (this.#failure) return Promise.reject(new Error(this.#failure));
    if (this.#searches.length > 0) this.stop();
    // With threads, another worker than the one that writes the lines answers, perhaps later.
    const search = { onInfo, infos: [], position: this.describe({ fen, moves }) };
    search.position.catch(() => {
      // Otherwise it has been stopped already.
      if (this.#searches.at(-1) === search) this.stop();
    });
    const played = moves.length > 0 ? ` moves ${moves.join(' ')}` : '';
    this.#worker.postMessage(`position ${fen ? `fen ${fen}` : 'startpos'}${played}`);
    const words = limits.map(([name, value]) => `${name} ${Math.round(value)}`);
    this.#worker.postMessage(`go ${words.join(' ') || 'infinite'}`);
    this.#searches.push(search);
    return new Promise((resolve, reject) => Object.assign(search, { resolve, reject }));
  }

  stop() {
    this.#worker.postMessage('stop');
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
  }

  #start(file, message) {
    const worker = new Worker(new URL(file, import.meta.url), { type: 'module' });
    if (worker.on) {
      worker.on('message', (message) => this.#take(message));
      worker.on('error', (error) => this.#fail(String(error)));
    } else {
      worker.onmessage = (event) => this.#take(event.data);
      worker.onerror = (event) => this.#fail(event.message || 'the engine cannot be loaded');
    }
    worker.postMessage(message);
    return worker;
  }

  #take(message) {
    if (this.#failure) return;
    if (typeof message === 'string') {
      this.#line(message);
    } else if (message.shared) {
      this.#shared = message.shared;
      this.#take({ start: true });
    } else if (message.start) {
      this.#threads.push(this.#start('./thread.js', this.#shared));
    } else if (message.loaded) {
      this.onProgress(message.loaded, message.total);
    } else if (message.ready) {
      this.hasThreads = message.hasThreads;
      this.#loaded();
    } else if (message.complete) {
      this.#completed();
    } else if (message.incomplete) {
      this.#notCompleted(new Error(message.incomplete));
    } else if (message.failed) {
      this.#fail(message.failed);
    } else {
      const question = this.#questions.get(message.id);
      this.#questions.delete(message.id);
      if (message.error) question?.reject(new Error(message.error));
      else question?.resolve(message.position);
    }
  }

  #fail(why) {
    this.#failure ??= why;
    // Threads that lost one would wait for it.
    [this.#worker, ...this.#threads.splice(0)].forEach((worker) => worker.terminate());
    this.#notLoaded(new Error(why));
    this.#notCompleted(new Error(why));
    const waiting = [...this.#questions.values(), ...this.#searches.splice(0)];
    this.#questions.clear();
    waiting.forEach(({ reject }) => reject?.(new Error(why)));
  }

  #line(line) {
    try {
      this.onLine(line);
    } finally {
      this.#count(line);
    }
  }

  #count(line) {
    const search = this.#searches[0];
    if (!search) return;
    if (line.startsWith('bestmove ')) {
      this.#searches.shift();
      const [, best, , ponder] = line.split(' ');
      const result = { bestmove: best === '(none)' ? null : best, ponder: ponder ?? null, infos: search.infos };
      search.position?.then(() => search.resolve(result), search.reject);
    } else if (line.startsWith('info ') && line.includes(' pv ')) {
      const info = parseInfo(line);
      search.infos[info.multipv - 1] = info;
      search.onInfo?.(info);
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
