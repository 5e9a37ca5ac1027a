export interface Limits {
  /** Milliseconds. */
  movetime?: number;
  /** Visits. */
  nodes?: number;
  depth?: number;
}

export interface Position {
  /** Default: the initial position. */
  fen?: string;
  /** From `fen`, in UCI notation. */
  moves?: string[];
}

export interface Info {
  multipv: number;
  depth: number | null;
  seldepth: number | null;
  /** Centipawns for the side to move; null beside a mate. */
  cp: number | null;
  /** Moves to mate, negative if the side to move is mated. */
  mate: number | null;
  /** Win, draw and loss for the side to move, in thousandths; with the option UCI_ShowWDL. */
  wdl: number[] | null;
  nodes: number | null;
  nps: number | null;
  /** Milliseconds. */
  time: number | null;
  pv: string[];
}

export interface Result {
  /** UCI notation; null if there is no legal move. */
  bestmove: string | null;
  ponder: string | null;
  /** The last of each line, the best first. */
  infos: Info[];
}

export interface DescribedPosition {
  fen: string;
  turn: 'white' | 'black';
  check: boolean;
  /** The moves so far. */
  san: string[];
  /** Empty if the game is over. */
  legal: { uci: string; san: string }[];
  result: '1-0' | '0-1' | '1/2-1/2' | null;
}

export class Philidor {
  /** `threads: false` leaves the option `Threads` at 1, as where workers cannot share memory. */
  constructor(options?: { threads?: boolean });
  /** Resolves when the engine is loaded; rejects if it cannot be. */
  readonly ready: Promise<void>;
  /** Resolves when the endgame tables of three and four men, which browsers load later, are there too. */
  readonly complete: Promise<void>;
  /** Whether the option `Threads` can be above 1. Known when `ready` has resolved. */
  readonly hasThreads: boolean;
  /** Called with every line that the engine writes. */
  onLine: (line: string) => void;
  /** In a browser, called with the bytes of the engine that have come, and of all, if the host says how many. */
  onProgress: (loaded: number, total: number | null) => void;
  /** Sends a UCI line, such as `setoption name MultiPV value 3`. */
  send(line: string): void;
  /**
   * Stops a running search first. Without a limit it searches until `stop`. Rejects a position that cannot be, and moves
   * that are not legal.
   */
  go(search?: Position & Limits, onInfo?: (info: Info) => void): Promise<Result>;
  stop(): void;
  describe(position?: Position): Promise<DescribedPosition>;
  terminate(): void;
}

export function parseInfo(line: string): Info;
