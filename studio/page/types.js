/**
 * The server's messages: see `studio/src/play/view.rs`, `thoughts.rs`, `tree.rs` and `verdicts.rs`, `studio/src/reviews/view.rs`,
 * `studio/src/matches/view.rs` and `follow.rs`, `studio/src/boards.rs`, `studio/src/puzzles/`, `studio/src/runs/board.rs` and `rl.rs`.
 *
 * @typedef {'white' | 'black'} Side
 * @typedef {{uci: string, san: string, fen: string, check: boolean}} PlayedMove
 * @typedef {{uci: string, san: string}} LegalMove
 * @typedef {{kind: 'person', label: string} | {kind: 'engine', label: string, name: string, elo: number | null, level: string | null}} Seat
 * @typedef {{name: string, known: boolean, elo: [number, number] | null, levels: boolean, threads: [number, number] | null,
 *   hash: [number, number] | null, error: string | null}} Engine the ranges are those of its UCI options; `known` once it has told them
 * @typedef {'infinite' | {ms: number} | {depth: number} | {nodes: number}} SearchLimit
 * @typedef {{on: boolean, paused: boolean, engine: string | null, limit: SearchLimit, lines: number, threads: number | null,
 *   hash: number | null}} AnalystSettings `engine` is `null` for the first one
 * @typedef {{base_s: number, increment_s: number, delay_s: number}} TimeControl
 * @typedef {{key: string, name: string, rating: number, words: string}} Level a named strength of Philidor
 * @typedef {{thinking: boolean, piece: string | null, square: string | null, uci: string | null, san: string | null}} Hint
 * @typedef {{white_ms: number, black_ms: number, running: Side | null, delay_ms: number, control: TimeControl}} ClockState
 * @typedef {{id: number, parent: number, uci: string, san: string, fen: string, check: boolean, before?: string,
 *   comment?: string, nags?: number[], eval?: string, clock?: string, shapes?: string[]}} TreeNode
 * @typedef {{node: number, legal: LegalMove[], is_final: boolean, opening: string | null}} PositionView
 *
 * @typedef {object} GameView
 * @property {number} id of the board
 * @property {number} revision
 * @property {number} number another number is another game
 * @property {string} key
 * @property {{number: number, games: number, chosen: number} | null} file `number` tells files apart
 * @property {string} start_fen
 * @property {boolean} chess960
 * @property {number} first_ply
 * @property {PlayedMove[]} moves
 * @property {TreeNode[]} tree all moves with variations, the start first
 * @property {number} at node of the game's last position
 * @property {string | null} undo the edit that can be undone
 * @property {string | null} opening
 * @property {[number | null, number | null]} phases plies at which the middlegame and the endgame begin
 * @property {boolean} start_check
 * @property {Side} turn
 * @property {LegalMove[]} legal
 * @property {Seat} white
 * @property {Seat} black
 * @property {ClockState | null} clock
 * @property {{result: string, text: string} | null} end
 * @property {number} take_back
 * @property {boolean} thinking
 * @property {boolean} analysis the first engine analyses
 * @property {AnalystSettings[]} analysts the two engines, and the one that searches for the threat
 * @property {boolean} waits the analysis waits until another board is analysed no longer
 * @property {string | null} notice
 * @property {boolean} stalled
 * @property {boolean} is_final the last position ends the game by the rules
 * @property {string | null} name of its file in the library
 * @property {Hint | null} hint for the last position
 * @property {Engine[]} engines
 * @property {Level[]} levels the weakest first
 *
 * @typedef {{engines: Engine[], levels: Level[]}} KnownEngines which are the same for all boards
 * @typedef {{board: number, white: string, black: string, moves: number, state: 'your_move' | 'thinking' | 'suspended' | 'stalled' | 'loaded' | 'over',
 *   result: string | null, name: string | null}} BoardSummary `moves` in plies
 * @typedef {{white: string, black: string, result: string, date: string, event: string, opening: string,
 *   plies: number}} Headline of a game in a file
 * @typedef {Headline & {name: string, unfinished: boolean, modified_s: number}} LibraryGame
 *
 * @typedef {{cp: number} | {mate: number}} Score for White
 * @typedef {{score: Score, wdl: [number, number, number] | null}} PositionValue for White
 * @typedef {PositionValue & {depth: number, nodes: number, san: string[], uci: string[], fens: string[]}} ThoughtLine
 * @typedef {{san: string, uci: string, visits: number, prior: number, q: number}} MoveThought for the side that moves
 * @typedef {{node: number, lines: ThoughtLine[], moves: MoveThought[], done: boolean, values?: Record<number, PositionValue>}} Thoughts
 *   of the position that was looked at last; `values` of the game's nodes, as far as they were evaluated
 * @typedef {{move: string, san: string, visits: number, prior: number, q: number, wdl: [number, number, number],
 *   value: number | null, proof: 'win' | 'draw' | 'loss' | null}} TreeMove for the side that moves
 * @typedef {{moves: string[], held: boolean, children: TreeMove[]}} TreeView
 * @typedef {'win' | 'draw' | 'loss'} Verdict
 * @typedef {{uci: string, san: string, verdict: Verdict, dtz: number}} MoveVerdict `dtz` in plies, for the side that moves
 * @typedef {{verdict: Verdict, moves: MoveVerdict[]}} Verdicts of the endgame tables, the best move first
 * @typedef {{name: string, moves: string}} OpeningChoice
 * @typedef {{uci: string, san: string, games: number, white: number, draws: number, black: number, book: number | null}} ExploredMove
 * @typedef {{moves: ExploredMove[], games: number, has_book: boolean, left_out: number}} Explored the most played move first
 *
 * @typedef {{source: 'file' | 'review', name: string, count: number, rated: boolean, edition: string, notice: string | null}} PuzzleSource
 * @typedef {{source: 'file' | 'review', edition: string, number: number, step: number}} PuzzleId `step` is in plies of the solution
 * @typedef {{name: string, part: number | null, puzzles: number}} PuzzleReading a file that is being read; `part` from 0 to 1
 * @typedef {{title: string, fen: string, last: string | null, last_san: string | null, check: boolean, side: Side,
 *   legal: LegalMove[]}} Exercise
 * @typedef {{right: boolean, solved: boolean, san: string, word: string, moves: PlayedMove[], step: number, legal: LegalMove[],
 *   afterwards: string}} Attempt
 * @typedef {{moves: PlayedMove[], line: string, afterwards: string}} Solution
 * @typedef {{engine: string, san: string, prior: number, place: number, legal: number, first_san: string, first_prior: number,
 *   wdl: [number, number, number] | null}} Opinion of the network, for the solver
 *
 * @typedef {{ply: number, mark: '!!' | '!' | '?!' | '?' | '??' | null, name: string | null, remark: string | null,
 *   reason: string | null, best: string | null, best_uci: string[], white: number, eval: string | null, accuracy: number}} ReviewedPly
 * @typedef {{moves: number, accuracy: number | null, errors: [number, number, number],
 *   phases: [number | null, number | null, number | null]}} ReviewedPlayer
 *
 * @typedef {object} Review
 * @property {string} key of the game
 * @property {string} judge
 * @property {number} nodes
 * @property {number} done
 * @property {number} total
 * @property {number | null} seconds_left
 * @property {boolean} running
 * @property {string | null} notice
 * @property {number | null} white before the first move
 * @property {ReviewedPly[]} moves
 * @property {[ReviewedPlayer, ReviewedPlayer] | null} players
 *
 * @typedef {object} LiveBoard
 * @property {string} white
 * @property {string} black
 * @property {string} title
 * @property {string} fen
 * @property {string | null} last
 * @property {string | null} san
 * @property {boolean} check
 * @property {number} ply
 * @property {[number, number] | null} left_ms
 * @property {string | null} end
 *
 * @typedef {{left_ms: [number, number], running: 0 | 1 | null, ms: number}} MatchClock White's and Black's time at the begin
 *   of the search, the side that thinks, and for how long
 *
 * @typedef {{number: number, white: string, black: string, opening: string, result: string, text: string,
 *   plies: number}} FinishedGame
 * @typedef {{llr: number, lower: number, upper: number, decision: 'rejected' | 'open' | 'accepted', text: string}} Llr
 * @typedef {{games: [number, number, number], pairs: number[], elo: string | null, sprt: Llr | null}} Standing
 * @typedef {{move_ms: number} | {clock: {base_ms: number, increment_ms: number}}} ThinkingTime
 * @typedef {{first: string, second: string, games: number, time: ThinkingTime, at_once: number, openings: string}} Order
 * @typedef {{elo0: number, elo1: number, alpha: number, beta: number}} Sprt
 *
 * @typedef {object} Match
 * @property {number} edition another number is another match
 * @property {string | null} name that a person gave it
 * @property {'playing' | 'finishing' | 'suspended' | 'ended'} phase
 * @property {Order} order
 * @property {Sprt | null} sprt
 * @property {Standing} standing of the first engine
 * @property {string[]} boards
 * @property {FinishedGame[]} finished the last games
 * @property {number} delay_ms between moves
 * @property {string | null} notice
 *
 * @typedef {{score: Score | null, wdl: [number, number, number] | null, depth: number, nodes: number, ms: number}} MoveRecord
 *   what an engine reported of its move, for White
 * @typedef {{game: number, start: string, moves: PlayedMove[], records: (MoveRecord | null)[]}} MatchMoves
 * @typedef {MatchMoves & {white: string, black: string, opening: string, result: string}} Replay
 * @typedef {{name: string, thinking: boolean, fen: string | null, lines: ThoughtLine[], moves: MoveThought[], ms: number,
 *   nps: number, mean_ms: number}} Mind an engine's thoughts of the position that it searched last
 * @typedef {{game: number, minds: [Mind, Mind]}} Minds White's and Black's
 * @typedef {{number: number, name: string | null, first: string, second: string, games: number, played: number, points: number,
 *   suspended: boolean, modified_s: number}} EarlierMatch
 * @typedef {{first: string, second: string, standing: Standing}} Pairing
 * @typedef {{name: string, games: number, broken: number, pairings: Pairing[], boards: string[],
 *   finished: FinishedGame[], modified_s: number | null, problem: string | null}} Followed
 *
 * @typedef {object} Run
 * @property {number} id
 * @property {string} name
 * @property {'train' | 'rl' | null} kind
 * @property {number} lines
 * @property {number} read part of the file, 0 to 1
 * @property {number} damaged
 * @property {number | null} modified_s
 * @property {string | null} problem
 * @property {number | null} done
 * @property {number | null} samples
 * @property {number | null} total_samples
 * @property {number | null} samples_per_s
 * @property {number | null} positions_per_h
 * @property {number | null} lr
 * @property {number | null} kl
 * @property {'warning' | 'alarm' | null} kl_state
 * @property {number | null} buffer
 * @property {number | null} time_s
 * @property {number | null} seconds_left
 * @property {string | null} stage
 * @property {string[]} boards
 * @property {'free' | 'stopping' | 'started'} control
 * @property {boolean} finished
 * @property {boolean} quiet paused, or no report for long
 * @property {boolean} stopped no trainer works on it
 * @property {boolean} can_resume
 * @property {boolean} cancelled
 * @property {string | null} failure last words of a trainer that was started here and failed
 *
 * @typedef {{key: string, value: unknown, meaning: string, choices: string[]}} KeyRow a key of a run's configuration
 * @typedef {{presets: {name: string, meaning: string}[], keys: KeyRow[], networks: string[], folder: string | null}} KeyTable
 *   `networks` are files to choose among; runs are started in `folder`
 * @typedef {{cores: number, busy: number, used: number, memory: number}} Load `busy` is a share of all cores; bytes
 * @typedef {Record<string, [number[], (number | null)[]]>} Curves x and y of every curve, by name; null is a gap
 * @typedef {{against: string, games: [number, number, number], score: number, elo: string}} ArenaRow
 * @typedef {{iteration: number, verdict: string, worse: string | null, rows: ArenaRow[]}} ArenaIteration
 * @typedef {{name: string, elo: number, error: number, games: number}} RatedNetwork
 * @typedef {{error: number, bins: [number, number, number][]}} Reliability predicted and observed share, and samples
 *
 * @typedef {object} RlDetails
 * @property {RatedNetwork[]} ratings
 * @property {ArenaIteration[]} iterations
 * @property {[number, string][]} vetoes
 * @property {number} iteration
 * @property {string} stage
 * @property {string} best
 * @property {string} current
 * @property {{streak?: number, level?: number, lr_factor?: number, left?: number} | null} escalation
 * @property {ArenaRow[]} playing
 * @property {number | null} kl_warn
 * @property {number | null} kl_alarm
 * @property {number | null} buffer_size
 *
 * @typedef {{reliability: Record<string, Reliability> | null, rl: RlDetails | null}} RunDetails
 * @typedef {{open_boards?: BoardSummary[], engines?: KnownEngines, review?: Review | null, match?: Match | null, followed?: Followed[],
 *   runs?: Run[], puzzles?: PuzzleReading | null, boards?: Record<string, unknown>}} Message `boards` has a `LiveBoard` by the names of
 *   matches and runs, a `GameView` without engines and levels by `play/N`, and `(Thoughts | null)[]` by `thoughts/N`
 */
export {};
