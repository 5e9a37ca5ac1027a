#!/usr/bin/env python3
"""A UCI engine that plays a random legal move: the first rung of every ladder.

Example: scripts/match.py --opponent scripts/random_mover.py
"""

import random
import sys

from match import require_chess

chess = require_chess()


def set_position(words):
    """`position startpos|fen … [moves …]`, as a board."""
    moves = words.index("moves") if "moves" in words else len(words)
    board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves]))
    for move in words[moves + 1 :]:
        board.push_uci(move)
    return board


def main():
    board = chess.Board()
    for line in sys.stdin:
        words = line.split() or [""]
        if words[0] == "uci":
            print("id name Random mover\nid author Philidor\nuciok", flush=True)
        elif words[0] == "isready":
            print("readyok", flush=True)
        elif words[0] == "position":
            board = set_position(words)
        elif words[0] == "go":
            moves = list(board.legal_moves)
            print("bestmove", random.choice(moves).uci() if moves else "(none)", flush=True)
        elif words[0] == "quit":
            break


if __name__ == "__main__":
    main()
