#!/usr/bin/env python3
"""Writes games that strong players never reach: after careless moves, Stockfish plays on.

Masters resign and engines don't blunder, so that a network trained on their games alone hardly learns what a
queen is worth. Here each game begins after some moves of which a share is random, or after sound moves with a piece
taken off the board; from there on Stockfish plays both sides and says what it thinks of each position ([%eval],
before the move). Games that aren't over after --plies get no result.

Needs Stockfish (Debian: apt install stockfish) and python-chess, which scripts/setup.sh fetches.

Example: scripts/careless.py --games 5000 > data/careless.pgn
  philidor-trainer import data/careless.pgn --out data/careless --eval before --unknown-results
"""

import argparse
import random
import sys
import time

import match

chess = match.require_chess()


def careless_start(engine, rng):
    """A position after moves of which a share is random, few where a piece is then taken off; None if there is none."""
    board = chess.Board()
    carelessness = rng.choice((0.05, 0.05, 0.05, 0.1, 0.25, 0.5))
    for _ in range(rng.randint(6, 60)):
        if board.is_game_over(claim_draw=True):
            return None
        if rng.random() < carelessness:
            board.push(rng.choice(list(board.legal_moves)))
        else:
            board.push(engine.play(board, chess.engine.Limit(nodes=200)).move)
    if carelessness == 0.05:
        squares = [square for square, piece in board.piece_map().items() if piece.piece_type != chess.KING]
        board.remove_piece_at(rng.choice(squares))
        board = chess.Board(board.fen())
    return board if board.is_valid() and not board.is_game_over(claim_draw=True) else None


def comment_of(score):
    """What the comment [%eval] says: pawns for White, or the plies to mate, this move included."""
    white = score.white()
    if white.is_mate():
        moves = white.mate()
        mover_mates = (moves > 0) == (score.turn == chess.WHITE)
        plies = 2 * abs(moves) - 1 if mover_mates else 2 * abs(moves)
        return f"#{plies if moves > 0 else -plies}"
    return f"{white.score() / 100:.2f}"


def play_on(engine, start, args):
    """Stockfish against itself from `start`, as PGN."""
    board = chess.Board(start.fen())
    game = chess.pgn.Game()
    game.setup(board)
    node = game
    for _ in range(args.plies):
        if board.is_game_over(claim_draw=True):
            break
        played = engine.play(board, chess.engine.Limit(nodes=args.nodes), info=chess.engine.INFO_SCORE)
        board.push(played.move)
        node = node.add_variation(played.move, comment=f"[%eval {comment_of(played.info['score'])}]")
    game.headers["Event"] = "After careless moves"
    game.headers["White"] = game.headers["Black"] = "Stockfish"
    game.headers["Result"] = board.result(claim_draw=True)
    return game


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1000, help="how many (default %(default)s)")
    parser.add_argument("--nodes", type=int, default=1500, help="Stockfish's nodes a move (default %(default)s)")
    parser.add_argument("--plies", type=int, default=80, help="most plies of a game (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other games (default %(default)s)")
    parser.add_argument("--stockfish", default="/usr/games/stockfish", help="default: %(default)s")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    started, done = time.monotonic(), 0
    with chess.engine.SimpleEngine.popen_uci(args.stockfish) as engine:
        engine.configure({"Threads": 1, "Hash": 16})
        while done < args.games:
            start = careless_start(engine, rng)
            if start is None:
                continue
            print(play_on(engine, start, args), end="\n\n", flush=True)
            done += 1
            rate = done / (time.monotonic() - started)
            print(f"\r{done}/{args.games} games, {rate:.1f} a second, {(args.games - done) / rate:.0f} s left ",
                  end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
