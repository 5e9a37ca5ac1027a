use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use shakmaty::Piece;
use shakmaty::uci::UciMove;

use crate::base::files::{check_output, write_file};
use crate::judge::plot::heatmap::{LinearWeights, draw_move, draw_piece, parse};

const PRINTED: usize = 5;

/// Draw the weights of a linear network for a move, or for a piece (PNG)
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  philidor-trainer heatmap nets/linear.int8.onnx --move g1f3 --out g1f3.png\n  \
    philidor-trainer heatmap nets/linear.int8.onnx --piece N --out knight.png\n\
    Red weights raise the logit of a move, blue ones lower it. Prints the largest weights of either sign."
)]
pub struct HeatmapArgs {
    /// The network file, of the family `linear`
    net: PathBuf,
    /// Draw the weights for this move (UCI notation): one board per piece, coloured by the piece's square
    #[arg(long = "move", value_name = "UCI", required_unless_present = "piece", conflicts_with = "piece")]
    uci: Option<UciMove>,
    /// Draw the weights of a piece for its own moves (PNBRQK White's, pnbrqk Black's): one board per square of the
    /// piece, coloured by target square
    #[arg(long)]
    piece: Option<char>,
    /// The picture to write
    #[arg(long, default_value = "heatmap.png")]
    out: PathBuf,
    /// Side of a square, in pixels
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=64))]
    square: u32,
}

impl HeatmapArgs {
    pub fn run(&self) -> Result<()> {
        say!("{}", self.draw()?.trim_end());
        Ok(())
    }

    fn draw(&self) -> Result<String> {
        check_output(&self.out, [&self.net])?;
        let weights = LinearWeights::load(&self.net)?;
        let (canvas, mut terms) = match (&self.uci, self.piece) {
            (Some(uci), _) => {
                let m = parse(uci)?;
                (draw_move(&weights, m, uci, self.square), weights.of_move(m))
            }
            (None, piece) => {
                let piece = piece.and_then(Piece::from_char).context("--piece takes one of PNBRQKpnbrqk")?;
                (draw_piece(&weights, piece, self.square), weights.of_piece(piece))
            }
        };
        write_file(&self.out, &canvas.png())?;
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let largest = terms.iter().take(PRINTED).chain(terms.iter().rev().take(PRINTED).rev());
        let lines: String = largest.map(|term| format!("{:+.3}  {}\n", term.weight, term.name)).collect();
        Ok(format!("{lines}{}\n", self.out.display()))
    }
}

#[cfg(all(test, feature = "libtorch"))]
mod tests {
    use super::*;
    use crate::judge::plot::heatmap::tests::net;

    #[test]
    fn a_move_and_a_piece_are_drawn_and_their_weights_printed() {
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
            let printed = args.draw().unwrap();
            assert_eq!(printed.lines().count(), 2 * PRINTED + 1, "{printed}");
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
        assert!(args(None, Some('x')).draw().unwrap_err().to_string().contains("PNBRQK"));
    }
}
