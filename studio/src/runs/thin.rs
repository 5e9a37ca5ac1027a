//! Downsamples curves for the screen.

type Point = (f64, f64);

/// Returns at most `count` points. Gaps (NaN) are kept unless they exceed a quarter of `count`.
pub fn thinned(points: &[Point], count: usize) -> Vec<Point> {
    if points.len() <= count.max(3) {
        return points.to_vec();
    }
    let (gaps, measured): (Vec<Point>, Vec<Point>) = points.iter().partition(|(_, y)| y.is_nan());
    if gaps.len() > count / 4 || !points.is_sorted_by(|a, b| a.0 <= b.0) {
        return largest_triangles(&measured, count);
    }
    let mut kept = largest_triangles(&measured, count - gaps.len());
    kept.extend(gaps);
    kept.sort_by(|a, b| a.0.total_cmp(&b.0));
    kept
}

/// Largest-triangle-three-buckets (Steinarsson 2013) for points without gaps: keeps the first and the last point, and
/// of each bucket the point that spans the largest triangle with its neighbours.
fn largest_triangles(points: &[Point], count: usize) -> Vec<Point> {
    let count = count.max(3);
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= count {
        return points.to_vec();
    }
    let inner = &points[1..points.len() - 1];
    let stretch = |index: usize| {
        let bound = |index: usize| index * inner.len() / (count - 2);
        &inner[bound(index)..bound(index + 1)]
    };
    let mut kept = vec![first];
    for index in 0..count - 2 {
        let next = if index + 1 < count - 2 { mean(stretch(index + 1)) } else { last };
        let from = kept[index];
        let area =
            |(x, y): Point| ((from.0 - next.0) * (y - from.1) - (from.0 - x) * (next.1 - from.1)).abs();
        let best = stretch(index).iter().copied().max_by(|a, b| area(*a).total_cmp(&area(*b)));
        kept.push(best.expect("there are more points than stretches"));
    }
    kept.push(last);
    kept
}

fn mean(points: &[Point]) -> Point {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    (x / n, y / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_and_both_ends_are_kept() {
        let mut points: Vec<Point> = (0..10_000).map(|x| (f64::from(x), 1.0)).collect();
        points[7_345].1 = 9.0;
        let thin = thinned(&points, 100);
        assert_eq!(thin.len(), 100);
        assert!(thin.contains(&(7_345.0, 9.0)));
        assert_eq!((thin[0], thin[99]), (points[0], points[9_999]));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn gaps_stay_where_they_are() {
        let mut points: Vec<Point> = (0..10_000).map(|x| (f64::from(x), f64::from(x % 7))).collect();
        points[5_000].1 = f64::NAN;
        let thin = thinned(&points, 100);
        let gaps: Vec<f64> = thin.iter().filter(|(_, y)| y.is_nan()).map(|(x, _)| *x).collect();
        assert_eq!((thin.len(), gaps), (100, vec![5_000.0]));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        points.iter_mut().step_by(2).for_each(|point| point.1 = f64::NAN);
        assert!(thinned(&points, 100).iter().all(|(_, y)| !y.is_nan()), "too many to keep");
    }

    #[test]
    fn short_curves_stay_as_they_are() {
        assert_eq!(thinned(&[], 10), []);
        assert_eq!(thinned(&[(1.0, 2.0)], 10), [(1.0, 2.0)]);
        let four = [(0.0, 0.0), (1.0, 5.0), (2.0, 1.0), (3.0, 0.0)];
        assert_eq!(thinned(&four, 4), four);
        assert_eq!(thinned(&four, 1), [four[0], four[1], four[3]], "never fewer than three");
    }
}
