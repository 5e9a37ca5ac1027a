#!/usr/bin/env python3
"""Drives the built engine as GUIs and bots written with python-chess do.

python-chess itself checks the legality of moves and variations, the values of options and the order of the
protocol's states, and raises if the engine breaks a rule. The tests assert the rest.

Example: tests/clients/python_chess.py [--engine target/debug/philidor] [TEST...]
"""

import argparse
import random
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from match import require_chess  # noqa: E402

chess = require_chess()
import chess.syzygy  # noqa: E402

TABLES = ROOT / "tests/data/syzygy"
ENGINE = ROOT / "target/debug/philidor"
# Far more than anything here takes on a busy machine.
PATIENCE = 60
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NB1N2/PP3PPP/R1BQ1RK1 w - - 0 10"


class Client:
    """What every backend must do; the classes below choose one."""

    backend = None

    def setUp(self):
        self.engine = chess.engine.SimpleEngine.popen_uci(str(ENGINE), timeout=PATIENCE)
        self.addCleanup(self.engine.close)
        self.engine.configure({"Backend": self.backend, "Threads": 2})

    def play(self, board, limit, **more):
        result = self.engine.play(board, limit, **more)
        self.assertIn(result.move, board.legal_moves, board.fen())
        return result

    def play_out(self, board, limit, most):
        """The engine plays both sides, for at most `most` plies."""
        while not board.is_game_over(claim_draw=True) and most:
            board.push(self.play(board, limit, game=board.root()).move)
            most -= 1
        return board

    def test_options(self):
        options = self.engine.options
        for name in ("Hash", "Threads", "Move Overhead", "SyzygyPath", "UCI_ShowWDL", "OwnBook", "Ponder"):
            self.assertIn(name, options)
        # The options that lichess-bot sets.
        self.engine.configure({"Hash": 32, "Threads": 1, "Move Overhead": 100, "UCI_ShowWDL": True})
        # Options that python-chess does not manage itself can be set to their defaults.
        self.engine.configure({
            name: option.default
            for name, option in options.items()
            if not option.is_managed() and option.type != "button" and name not in ("Backend", "Threads")
        })
        for bad in ({"Nonsense": 1}, {"Hash": 0}, {"MultiPV": 2}, {"Backend": "steam"}):
            self.assertRaises(chess.engine.EngineError, self.engine.configure, bad)
        self.engine.ping()
        self.play(chess.Board(), chess.engine.Limit(nodes=10))

    def test_analysis_in_several_lines(self):
        self.engine.configure({"UCI_ShowWDL": True})
        board = chess.Board(MIDDLEGAME)
        infos = self.engine.analyse(board, chess.engine.Limit(nodes=400), multipv=3)
        self.assertEqual([info["multipv"] for info in infos], [1, 2, 3])
        self.assertEqual(len({info["pv"][0] for info in infos}), 3)
        self.assertEqual(len({info["depth"] for info in infos}), 1)
        for info in infos:
            self.assertEqual(info["score"].turn, chess.WHITE)
            self.assertEqual(info["wdl"].relative.total(), 1000)
            for key in ("nodes", "nps", "time", "hashfull", "tbhits", "seldepth"):
                self.assertGreaterEqual(info[key], 0)
        only = [chess.Move.from_uci("a2a3"), chess.Move.from_uci("h2h3")]
        infos = self.engine.analyse(board, chess.engine.Limit(nodes=100), multipv=5, root_moves=only)
        self.assertEqual({info["pv"][0] for info in infos}, set(only))

    def test_analysis_in_a_stream(self):
        depths = []
        with self.engine.analysis(chess.Board(), multipv=2) as analysis:
            for info in analysis:
                depths.append(info.get("depth", 0))
                if len(depths) >= 6:
                    break
        self.assertEqual(depths, sorted(depths))
        self.assertIn(analysis.wait().move, chess.Board().legal_moves)

    def test_one_legal_move_has_a_score(self):
        board = chess.Board("7k/8/8/8/8/8/6q1/7K w - - 0 1")
        info = self.engine.analyse(board, chess.engine.Limit(nodes=20))
        self.assertEqual([move.uci() for move in info["pv"][:1]], ["h1g2"])
        self.assertIn("score", info)

    def test_mate_is_seen(self):
        board = chess.Board("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")
        info = self.engine.analyse(board, chess.engine.Limit(nodes=300))
        self.assertEqual(info["score"].white(), chess.engine.Mate(1))

    def test_pondering(self):
        board = chess.Board()
        limit = chess.engine.Limit(white_clock=2, black_clock=2, white_inc=0.01, black_inc=0.01)
        dice = random.Random(5)
        hits = 0
        for number in range(10):
            result = self.play(board, limit, ponder=True)
            board.push(result.move)
            if board.is_game_over():  # so much for the random mover
                board = chess.Board()
                continue
            # The reply that was expected makes it a ponderhit, any other a stop and a new search.
            expected = result.ponder if number % 2 else None
            hits += expected is not None
            board.push(expected or dice.choice(list(board.legal_moves)))
            if board.is_game_over():
                board = chess.Board()
        self.assertGreater(hits, 0)

    def test_a_quick_game_on_the_clock(self):
        board, clocks = chess.Board(), [1.0, 1.0]
        limit = lambda: chess.engine.Limit(white_clock=clocks[1], black_clock=clocks[0], white_inc=0.01, black_inc=0.01)
        while not board.is_game_over(claim_draw=True) and len(board.move_stack) < 120:
            result = self.play(board, limit(), info=chess.engine.INFO_BASIC)
            clocks[board.turn] = max(clocks[board.turn] - result.info["time"] + 0.01, 0.01)
            board.push(result.move)
        self.assertTrue(board.is_game_over(claim_draw=True) or len(board.move_stack) == 120)

    def test_chess960(self):
        dice = random.Random(960)
        castled = 0
        for _ in range(4):
            board = chess.Board.from_chess960_pos(dice.randrange(960))
            self.play_out(board, chess.engine.Limit(nodes=12), 60)
            moves, replay = board.move_stack, board.root()
            for move in moves:
                castled += replay.is_castling(move)
                replay.push(move)
        # Both kings can castle at once here, in one geometry that standard chess doesn't know.
        board = chess.Board("1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1", chess960=True)
        for side in (chess.BB_G1, chess.BB_B1):
            castling = [move for move in board.generate_castling_moves(chess.BB_ALL, side)]
            for move in castling:
                played = self.play(board, chess.engine.Limit(nodes=10), root_moves=[move])
                self.assertEqual(played.move, move)
                castled += 1
        self.assertGreater(castled, 0)

    def test_a_storm_of_stops(self):
        dice = random.Random(7)
        boards = [chess.Board(), chess.Board(MIDDLEGAME), chess.Board("8/8/8/3k4/8/8/8/KR6 w - - 0 1")]
        for number in range(self.storm):
            board = boards[number % len(boards)]
            analysis = self.engine.analysis(board, multipv=dice.choice((None, 4)))
            if dice.random() < 0.2:
                next(analysis)
            if dice.random() < 0.2:
                self.engine.ping()
            analysis.stop()
            self.assertIn(analysis.wait().move, board.legal_moves)

    def test_quitting_in_mid_search(self):
        self.engine.analysis(chess.Board()).next()
        self.engine.quit()
        self.assertEqual(self.engine.protocol.returncode.result(), 0)

    def test_the_input_ends_in_mid_search(self):
        analysis = self.engine.analysis(chess.Board())
        analysis.next()
        stdin = self.engine.protocol.transport.get_pipe_transport(0)
        self.engine.protocol.loop.call_soon_threadsafe(stdin.close)
        self.assertRaises(chess.engine.EngineTerminatedError, self.engine.ping)
        self.assertEqual(self.engine.protocol.returncode.result(), 0)


class Uniform(Client, unittest.TestCase):
    backend = "uniform"
    storm = 400

    def test_the_fifty_move_rule_spoils_no_table_win(self):
        """Without a network the engine shuffles; the tables make it mate in time."""
        self.engine.configure({"SyzygyPath": str(TABLES)})
        with chess.syzygy.open_tablebase(str(TABLES)) as tables:
            for fen in ("8/8/8/3k4/8/8/8/KQ6 w - - 0 1", "8/8/8/3k4/8/8/8/KR6 w - - 60 90"):
                board = chess.Board(fen)
                while not board.is_game_over(claim_draw=True):
                    if board.turn == chess.WHITE:
                        result = self.play(board, chess.engine.Limit(nodes=20), info=chess.engine.INFO_ALL)
                        self.assertGreater(result.info["tbhits"], 0)
                        board.push(result.move)
                    else:
                        board.push(self.longest_defence(tables, board))
                self.assertEqual(board.outcome().termination, chess.Termination.CHECKMATE, board.fen())

    def longest_defence(self, tables, board):
        def distance(move):
            board.push(move)
            try:
                return tables.get_dtz(board, 0)
            finally:
                board.pop()

        return max(board.legal_moves, key=distance)


class Network(Client, unittest.TestCase):
    backend = "onnx-cpu"
    storm = 200


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, default=ENGINE, help="the program (default: the debug build)")
    arguments, others = parser.parse_known_args()
    ENGINE = arguments.engine
    unittest.main(argv=[sys.argv[0], *others])
