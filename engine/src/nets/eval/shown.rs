//! Centipawns as shown to users, on the scale of classical engines, for which GUIs and bots have thresholds of
//! adjudication and resignation. lc0's scale ([`centipawns_of_q`](super::centipawns_of_q)), on which a won queen is a
//! hundred pawns, serves to convert material and to store self-play games.

/// Centipawns per unit of `atanh(q)`; 347 in "Pawn Advantage, Win Percentage, and Elo" (Chess Programming Wiki).
///
/// Fitted by least absolute deviation to Stockfish 15.1 at depth 12 within ±1,500: 440 for the network `sparse` (984
/// positions, 800 visits), 370 for the embedded one (283 positions, 200 visits). At 400 the mean deviations are 160 and
/// 165 centipawns, with lc0's conversion 204 and 223.
const SCALE: f32 = 400.0;

/// Shown for a certain result; bounds all others.
const CERTAIN: f32 = 10_000.0;

/// `400 · atanh(q)` for an expected result in −1..1.
pub fn shown_centipawns(q: f32) -> i32 {
    (SCALE * q.clamp(-1.0, 1.0).atanh()).clamp(-CERTAIN, CERTAIN).round() as i32
}

pub fn q_of_shown_centipawns(centipawns: i32) -> f32 {
    match centipawns as f32 {
        shown if shown.abs() >= CERTAIN => shown.signum(),
        shown => (shown / SCALE).tanh(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_centipawns_grow_with_the_expected_result_and_convert_back() {
        let results: Vec<f32> = (-1000_i16..=1000).map(|step| f32::from(step) / 1000.0).collect();
        let shown: Vec<i32> = results.iter().map(|q| shown_centipawns(*q)).collect();
        // The smallest step of a thousandth is 0.4 centipawns.
        assert!(shown.is_sorted(), "monotone");
        assert!(results.windows(4).all(|some| shown_centipawns(some[0]) < shown_centipawns(some[3])));
        for (q, shown) in results.iter().zip(&shown) {
            assert_eq!(shown_centipawns(-q), -shown);
            assert!((q_of_shown_centipawns(*shown) - q).abs() < 0.0013, "{q} {shown}");
        }
        for centipawns in [-10_000, -900, -35, 0, 1, 100, 1500, 10_000] {
            let back = shown_centipawns(q_of_shown_centipawns(centipawns));
            assert!((back - centipawns).abs() <= 1 + centipawns.abs() / 500, "{centipawns}: {back}");
        }
    }

    /// Typical values of our network a pawn, piece or queen ahead are shown as about the usual centipawns.
    #[test]
    fn the_scale_is_a_classical_one() {
        for (q, least, most) in [(0.25, 90, 120), (0.65, 290, 330), (0.985, 900, 1050), (0.999, 1450, 1600)] {
            let shown = shown_centipawns(q);
            assert!((least..=most).contains(&shown), "{q}: {shown}");
        }
        assert_eq!([shown_centipawns(1.0), shown_centipawns(-2.0)], [10_000, -10_000]);
    }
}
