use std::ops::Range;
use std::path::Path;

use anyhow::{Result, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::base::files::write_file;

/// Width and height in pixels.
const PANEL: (u32, u32) = (480, 340);

/// Curves with fewer points get dots, and axes that fit all points.
const MANY: usize = 20;

/// Colour-blind safe (Okabe and Ito 2008); the ninth curve repeats the first colour.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(120, 120, 120),
    RGBColor(240, 228, 66),
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Shown in the legend unless empty.
    pub label: String,
    /// (x, y) in drawing order; a y that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// Fits the curves, the long ones without their first twentieth.
    #[default]
    Fitted,
    LogX,
    /// 0 to 1 on both axes, with the diagonal.
    Unit,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Also names the y axis.
    pub title: String,
    pub x: &'static str,
    pub axes: Axes,
    /// The n-th curve has the same colour in every panel.
    pub curves: Vec<Curve>,
}

pub fn check_name(path: &Path) -> Result<()> {
    let is_svg = path.extension().is_some_and(|extension| extension == "svg");
    ensure!(is_svg, "{}: pictures are SVG: give a name that ends in .svg", path.display());
    Ok(())
}

/// Writes the panels in rows of `columns`. The file name must end in `.svg`.
pub fn write(path: &Path, panels: &[Panel], columns: usize) -> Result<()> {
    check_name(path)?;
    write_file(path, svg(panels, columns.max(1)).as_bytes())
}

fn svg(panels: &[Panel], columns: usize) -> String {
    let rows = panels.len().div_ceil(columns);
    let mut text = String::new();
    {
        let size = (PANEL.0 * columns as u32, PANEL.1 * rows.max(1) as u32);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).expect("writing to a string succeeds");
        for (area, panel) in root.split_evenly((rows.max(1), columns)).iter().zip(panels) {
            draw(area, panel).expect("writing to a string succeeds");
        }
    }
    text
}

type DrawError = Box<dyn std::error::Error>;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(area: &Area, panel: &Panel) -> Result<(), DrawError> {
    let scaled = |(x, y): (f64, f64)| (if panel.axes == Axes::LogX { x.log10() } else { x }, y);
    let curves: Vec<Vec<(f64, f64)>> =
        panel.curves.iter().map(|curve| curve.points.iter().copied().map(scaled).collect()).collect();
    let [x, y] = if panel.axes == Axes::Unit { [0.0..1.0, 0.0..1.0] } else { ranges(&curves) };
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(20)
        .caption(&panel.title, ("sans-serif", 16))
        .x_label_area_size(34)
        .y_label_area_size(52)
        .build_cartesian_2d(x, y.clone())?;
    let ends: Vec<f64> = curves.iter().filter_map(|points| points.last()).map(|point| point.1).collect();
    let power = |x: &f64| format!("{:.0e}", 10f64.powf(*x));
    let plain = |x: &f64| short(*x);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(6)
        .y_labels(7)
        .x_desc(panel.x)
        .x_label_formatter(if panel.axes == Axes::LogX { &power } else { &plain })
        .y_label_formatter(&plain)
        .draw()?;
    if panel.axes == Axes::Unit {
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], BLACK.mix(0.3)))?;
    }
    for (index, (curve, points)) in
        panel.curves.iter().zip(curves).enumerate().filter(|(_, c)| !c.1.is_empty())
    {
        let colour = COLOURS[index % COLOURS.len()];
        let inside = |point: &(f64, f64)| !(point.1 < y.start || y.end < point.1);
        let seen: Vec<(f64, f64)> = points.into_iter().filter(inside).collect();
        let parts = || seen.split(|point| !point.1.is_finite()).filter(|part| !part.is_empty());
        // A single point would be invisible as a line.
        let dotted = |part: &&[(f64, f64)]| seen.len() < MANY || part.len() == 1;
        let dots = parts().filter(dotted).flatten();
        chart.draw_series(dots.map(|point| Circle::new(*point, 2, colour.filled())))?;
        let mut label = Some(&curve.label);
        for part in parts() {
            let line = chart.draw_series(LineSeries::new(part.iter().copied(), colour.stroke_width(1)))?;
            if let Some(label) = label.take() {
                line.label(label)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(2)));
            }
        }
    }
    if panel.curves.iter().any(|curve| !curve.label.is_empty()) {
        chart
            .configure_series_labels()
            .position(legend_place(panel.axes, &ends, &y))
            .background_style(WHITE.mix(0.7))
            .label_font(("sans-serif", 11))
            .draw()?;
    }
    Ok(())
}

/// A corner away from the curves' ends.
fn legend_place(axes: Axes, ends: &[f64], y: &Range<f64>) -> SeriesLabelPosition {
    let mean = ends.iter().sum::<f64>() / ends.len().max(1) as f64;
    match axes {
        Axes::Unit => SeriesLabelPosition::UpperLeft,
        _ if mean > (y.start + y.end) / 2.0 => SeriesLabelPosition::LowerRight,
        _ => SeriesLabelPosition::UpperRight,
    }
}

/// Long curves count for y without their first twentieth, because losses are far higher there.
fn ranges(curves: &[Vec<(f64, f64)>]) -> [Range<f64>; 2] {
    let finite = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
    let x = reach(curves.iter().flatten().filter(finite).map(|point| point.0));
    let settled = x.start + (x.end - x.start) / 20.0;
    let heights = |curve: &'_ Vec<(f64, f64)>| {
        let from = if curve.len() < MANY { x.start } else { settled };
        let points: Vec<(f64, f64)> = curve.iter().filter(finite).copied().collect();
        points.into_iter().filter(move |point| point.0 >= from).map(|point| point.1)
    };
    let y = reach(curves.iter().flat_map(heights));
    let margin = (y.end - y.start) / 20.0;
    [x, y.start - margin..y.end + margin]
}

fn reach(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    match (high - low).partial_cmp(&0.0) {
        Some(std::cmp::Ordering::Greater) => low..high,
        Some(std::cmp::Ordering::Equal) => low - 0.5 * low.abs().max(1e-6)..high + 0.5 * high.abs().max(1e-6),
        _ => 0.0..1.0,
    }
}

fn short(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        1000.0.. => format!("{x:.0}"),
        10.0.. => format!("{x:.1}"),
        0.01.. => format!("{x:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => format!("{x:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(axes: Axes, points: &[(f64, f64)]) -> Panel {
        let curve = Curve { label: "a <b>".into(), points: points.to_vec() };
        Panel { title: "loss".into(), x: "samples", axes, curves: vec![curve] }
    }

    #[test]
    fn a_figure_has_titles_labels_and_lines() {
        let line: Vec<(f64, f64)> = (0..30).map(|i| (f64::from(i), 1.0 / f64::from(i + 1))).collect();
        let text = svg(&[panel(Axes::Fitted, &line), panel(Axes::Unit, &[(0.2, 0.3), (1.0, 1.0)])], 2);
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for part in ["loss", "samples", "a &lt;b&gt;", "<polyline"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("<circle").count(), 2, "few points are drawn as dots, up to the edge");
    }

    #[test]
    fn a_line_is_interrupted_where_a_value_is_missing() {
        let points: Vec<(f64, f64)> = (0..40)
            .map(|i| (f64::from(i), if i == 10 || i == 12 { f64::NAN } else { f64::from(i % 3) }))
            .collect();
        let text = svg(&[panel(Axes::Fitted, &points)], 1);
        let blue = |line: &&str| line.contains("<polyline") && line.contains("#0072B2");
        assert_eq!(text.lines().filter(blue).count(), 4, "three parts of the curve, and the legend\n{text}");
        assert_eq!(text.matches("<circle").count(), 1, "a point between two gaps is a dot");
    }

    #[test]
    fn no_points_and_nan_are_drawn_as_nothing() {
        for points in [&[][..], &[(1.0, f64::NAN)], &[(f64::NAN, 1.0), (2.0, 3.0)]] {
            for axes in [Axes::Fitted, Axes::LogX, Axes::Unit] {
                assert!(svg(&[panel(axes, points)], 1).contains("loss"));
            }
        }
        assert!(svg(&[], 3).starts_with("<svg"));
    }

    #[test]
    fn the_beginning_does_not_stretch_the_axis() {
        let few = vec![(0.0, 100.0), (50.0, 2.0), (100.0, 1.0)];
        assert_eq!(ranges(std::slice::from_ref(&few))[1].end, 100.0 + 99.0 / 20.0);
        let many: Vec<(f64, f64)> = few.into_iter().chain((60..90).map(|x| (f64::from(x), 1.5))).collect();
        assert_eq!(ranges(&[many]), [0.0..100.0, 0.95..2.05]);
    }

    #[test]
    fn numbers_on_an_axis_are_short() {
        let texts = [0.0, 0.2, -0.25, 1.0, 3.05, 12.34, 1500.0, 0.002].map(short);
        assert_eq!(texts, ["0", "0.2", "-0.25", "1", "3.05", "12.3", "1500", "2.0e-3"]);
    }

    #[test]
    fn another_picture_format_is_refused() {
        let error = write(Path::new("plot.gif"), &[], 1).unwrap_err().to_string();
        assert!(error.contains(".svg"), "{error}");
    }
}
