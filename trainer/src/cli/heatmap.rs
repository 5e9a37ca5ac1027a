//! `heatmap`: the weights of a linear network as a picture.

use std::path::PathBuf;

use clap::Args;
use shakmaty::Piece;
use shakmaty::uci::UciMove;

use crate::files::write_file;
use crate::plot::heatmap::{Matrix, of_move, of_piece, parse};

/// Weights printed, of either sign.
const TOLD: usize = 5;

/// Draw the weights of a linear network for a move, or for a piece (PNG)
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  philidor-trainer heatmap nets/linear.int8.onnx --move g1f3 --out g1f3.png\n  \
    philidor-trainer heatmap nets/linear.int8.onnx --piece N --out knight.png\n\
    Red speaks for a move, blue against it. Prints the strongest weights."
)]
pub struct HeatmapArgs {
    /// The network file, of the family linear
    net: PathBuf,
    /// Draw what speaks for this move (UCI): a board for each piece, coloured by where it stands
    #[arg(long = "move", value_name = "UCI", required_unless_present = "piece", conflicts_with = "piece")]
    uci: Option<UciMove>,
    /// Draw which of its moves a piece speaks for (PNBRQK White's, pnbrqk Black's): a board for each square where it
    /// may stand, coloured by where it would go
    #[arg(long)]
    piece: Option<char>,
    /// The picture to write
    #[arg(long, default_value = "heatmap.png")]
    out: PathBuf,
    /// Pixels of a square
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=64))]
    square: u32,
}

impl HeatmapArgs {
    /// Draws, and prints the strongest weights.
    ///
    /// # Errors
    ///
    /// One line: the network isn't linear, there is no such move or piece, or the picture can't be written.
    pub fn run(&self) -> Result<(), String> {
        print!("{}", self.draw()?);
        Ok(())
    }

    fn draw(&self) -> Result<String, String> {
        let matrix = Matrix::load(&self.net)?;
        let (canvas, mut told) = match (&self.uci, self.piece) {
            (Some(uci), _) => {
                let m = parse(uci)?;
                (of_move(&matrix, m, uci, self.square), matrix.of_move(m))
            }
            (None, piece) => {
                let piece = piece.and_then(Piece::from_char).ok_or("--piece takes one of PNBRQKpnbrqk")?;
                (of_piece(&matrix, piece, self.square), matrix.of_piece(piece))
            }
        };
        write_file(&self.out, &canvas.png()).map_err(|error| format!("{error:#}"))?;
        told.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let strongest = told.iter().take(TOLD).chain(told.iter().rev().take(TOLD).rev());
        let lines: String = strongest.map(|term| format!("{:+.3}  {}\n", term.weight, term.what)).collect();
        Ok(format!("{lines}{}\n", self.out.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::heatmap::tests::net;

    #[test]
    fn a_move_and_a_piece_are_drawn_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = net(folder.path(), r#"{"model": {"family": "linear"}}"#);
        let out = folder.path().join("w.png");
        let args = |uci: Option<&str>, piece| HeatmapArgs {
            net: path.clone(),
            uci: uci.map(|uci| uci.parse().unwrap()),
            piece,
            out: out.clone(),
            square: 4,
        };
        for args in [args(Some("g1f3"), None), args(Some("a7a8n"), None), args(None, Some('p'))] {
            let told = args.draw().unwrap();
            assert_eq!(told.lines().count(), 2 * TOLD + 1, "{told}");
            let png = std::fs::read(&out).unwrap();
            assert!(png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap().info().width > 200);
            std::fs::remove_file(&out).unwrap();
        }
        for uci in ["e2d5", "e2e4q", "e7e8", "0000", "e7e8k"] {
            let args = args(Some(uci), None);
            let error = args.draw();
            let is_plain = uci == "e7e8";
            assert_eq!(error.is_ok(), is_plain, "{uci}: {error:?}");
        }
        assert!(args(None, Some('x')).draw().unwrap_err().contains("PNBRQK"));
    }
}
