//! Smooths curves before they are thinned, which would keep their spikes.

use super::series::Point;

/// Exponential mean of the points up to each one, with a time constant of `share` of the curve's extent in x. Weights
/// depend on distances in x, so that curves with many and with few points are smoothed alike. Gaps stay gaps.
pub fn smoothed(points: &[Point], share: f64) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let constant = (last.0 - first.0) * share;
    if constant.is_nan() || constant <= 0.0 {
        return points.to_vec();
    }
    // Without the weight of an assumed value before the first point.
    let (mut sum, mut weight, mut before) = (0.0, 0.0, first.0);
    let mean = |&(x, y): &Point| {
        if y.is_nan() {
            return (x, y);
        }
        let kept = (-(x - before).max(0.0) / constant).exp();
        (sum, weight, before) = (sum * kept + y, weight * kept + 1.0, x);
        (x, sum / weight)
    };
    points.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_averaged_the_first_point_stays_and_gaps_stay_gaps() {
        let noisy = |x: i32| (f64::from(x), 5.0 + if x % 2 == 0 { 1.0 } else { -1.0 });
        let mut points: Vec<Point> = (0..1000).map(noisy).collect();
        points[500].1 = f64::NAN;
        let smooth = smoothed(&points, 0.05);
        assert_eq!((smooth.len(), smooth[0], smooth[500].1.is_nan()), (1000, (0.0, 6.0), true));
        assert!(smooth[100..].iter().all(|(_, y)| y.is_nan() || (y - 5.0).abs() < 0.1));
        assert_eq!(smoothed(&points[..1], 0.5), [points[0]]);
        assert!(smoothed(&[], 0.5).is_empty());
    }

    #[test]
    fn a_step_is_followed_within_the_time_constant_whatever_the_density() {
        let step = |x: f64| (x, if x < 50.0 { 0.0 } else { 1.0 });
        let dense: Vec<Point> = (0..=1000).map(|i| step(f64::from(i) / 10.0)).collect();
        let sparse: Vec<Point> = (0..=100).map(|i| step(f64::from(i))).collect();
        let at = |points: &[Point], x: f64| points.iter().find(|point| point.0 == x).unwrap().1;
        let (dense, sparse) = (smoothed(&dense, 0.1), smoothed(&sparse, 0.1));
        assert!((at(&dense, 60.0) - 0.63).abs() < 0.03 && (at(&sparse, 60.0) - 0.63).abs() < 0.05);
        assert!(at(&dense, 100.0) > 0.99);
    }
}
