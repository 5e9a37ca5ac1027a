/**
 * What the server sends: see `studio/src/play/view.rs`, `thoughts.rs`, `studio/src/matches/runner.rs` and
 * `studio/src/runs/board.rs`.
 *
 * @typedef {'white' | 'black'} Side
 * @typedef {{uci: string, san: string, fen: string, check: boolean}} PlayedMove
 * @typedef {{uci: string, san: string}} LegalMove
 * @typedef {{kind: 'person', label: string} | {kind: 'engine', label: string, name: string, elo: number | null}} Seat
 * @typedef {{name: string, elo: [number, number] | null, error: string | null}} Engine
 * @typedef {{base_s: number, increment_s: number}} TimeControl
 * @typedef {{white_ms: number, black_ms: number, running: Side | null, control: TimeControl}} ClockState
 *
 * @typedef {object} GameView
 * @property {number} revision
 * @property {string} start_fen
 * @property {boolean} chess960
 * @property {number} first_ply
 * @property {PlayedMove[]} moves
 * @property {string | null} opening
 * @property {boolean} start_check
 * @property {Side} turn
 * @property {LegalMove[]} legal
 * @property {Seat} white
 * @property {Seat} black
 * @property {ClockState | null} clock
 * @property {{result: string, text: string} | null} end
 * @property {number} take_back
 * @property {boolean} thinking
 * @property {boolean} analysis
 * @property {string | null} notice
 * @property {boolean} stalled
 * @property {Engine[]} engines
 *
 * @typedef {{cp: number} | {mate: number}} Score for White
 * @typedef {{score: Score, wdl: [number, number, number] | null, depth: number, nodes: number,
 *   san: string[], uci: string[]}} ThoughtLine
 * @typedef {{ply: number, lines: ThoughtLine[]}} Thoughts
 *
 * @typedef {{white: string, black: string, opening: string, result: string, text: string, plies: number}} FinishedGame
 * @typedef {{white: string, black: string, opening: string, start_fen: string, ply: number, last: PlayedMove | null}}
 *   LiveBoard
 *
 * @typedef {object} Match
 * @property {'playing' | 'finishing' | 'ended'} phase
 * @property {string} first
 * @property {string} second
 * @property {number} games
 * @property {number} move_time_ms
 * @property {{wins: number, draws: number, losses: number, pairs: number[]}} score of the first engine
 * @property {{elo: number, error: number} | null} rated
 * @property {FinishedGame[]} finished the last games
 * @property {LiveBoard | null} board
 * @property {string | null} notice
 *
 * @typedef {object} Run
 * @property {number} id
 * @property {string} name
 * @property {'train' | 'rl' | null} kind
 * @property {number} lines
 * @property {number} damaged
 * @property {number | null} modified_s
 * @property {string | null} problem
 * @property {number | null} done
 * @property {number | null} samples
 * @property {number | null} total_samples
 * @property {number | null} samples_per_s
 * @property {number | null} lr
 * @property {number | null} time_s
 * @property {number | null} seconds_left
 *
 * @typedef {Record<string, [number[], number[]]>} Curves x and y of every curve, by name
 * @typedef {{game?: GameView, thoughts?: Thoughts | null, match?: Match | null, runs?: Run[]}} Message
 */
export {};
