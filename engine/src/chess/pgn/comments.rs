//! The text of comments, and the commands in them, such as `[%clk 0:05:00]`.

use shakmaty::Square;

/// A comment as a tree keeps it: without surrounding blanks, with line feeds, and without braces, which other readers
/// would take for its end.
pub(super) fn tidy(comment: &str) -> String {
    let lines = comment.replace("\r\n", "\n").replace('\r', "\n");
    lines.replace('{', "(").replace('}', ")").trim().to_owned()
}

/// The place of `[%name argument]`, and its argument.
fn find<'a>(comment: &'a str, name: &str) -> Option<(std::ops::Range<usize>, &'a str)> {
    let mut from = 0;
    loop {
        let at = from + comment[from..].find("[%")?;
        let rest = &comment[at + 2..];
        let length = rest.find(']')?;
        if let Some(argument) = rest[..length].strip_prefix(name)
            && argument.starts_with(|c: char| c.is_ascii_whitespace())
        {
            return Some((at..at + 2 + length + 1, argument.trim()));
        }
        from = at + 2;
    }
}

pub(super) fn command<'a>(comment: &'a str, name: &str) -> Option<&'a str> {
    find(comment, name).map(|(_, argument)| argument)
}

/// Puts the command first, in place of the others of its name.
pub(super) fn with_command(comments: &[String], name: &str, argument: Option<&str>) -> Vec<String> {
    let mut comments = comments.to_vec();
    for comment in &mut comments {
        while let Some((place, _)) = find(comment, name) {
            let rest = comment[place.end..].trim_start().to_owned();
            comment.replace_range(place.start.., &rest);
        }
    }
    comments.retain(|comment| !comment.trim().is_empty());
    if let Some(argument) = argument {
        let command = format!("[%{name} {argument}]");
        match comments.first_mut() {
            Some(first) => *first = format!("{command} {first}"),
            None => comments.push(command),
        }
    }
    comments
}

/// The text without its commands.
pub fn without_commands(comment: &str) -> String {
    let mut text = comment.to_owned();
    while let Some(at) = text.find("[%") {
        let Some(length) = text[at..].find(']') else { break };
        text.replace_range(at..=at + length, " ");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In seconds, of `1:02:03.4`.
pub fn seconds(time: &str) -> Option<f64> {
    let add = |seconds: f64, part: &str| Some(60.0 * seconds + part.trim().parse::<f64>().ok()?);
    time.split(':').try_fold(0.0, add).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

/// An arrow of `[%cal Ge2e4]` or a square of `[%csl Rd5]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// `G`, `R`, `Y` or `B`.
    pub color: char,
    pub from: Square,
    pub to: Option<Square>,
}

impl Shape {
    /// Reads the arguments of `[%cal …]` or `[%csl …]`, without malformed ones.
    pub fn read(argument: &str) -> impl Iterator<Item = Shape> + '_ {
        argument.split(',').filter_map(|word| {
            let word = word.trim();
            let color = word.chars().next().filter(|color| "GRYB".contains(*color))?;
            let square = |at: usize| word.get(at..at + 2)?.parse().ok();
            match word.len() {
                3 => Some(Shape { color, from: square(1)?, to: None }),
                5 => Some(Shape { color, from: square(1)?, to: Some(square(3)?) }),
                _ => None,
            }
        })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.color, self.from)?;
        self.to.map_or(Ok(()), |to| write!(f, "{to}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_replaced_and_removed() {
        let comment = "good [%clk 0:05:01] and [%clkx 3] [%eval 0.3,12]";
        assert_eq!(command(comment, "clk"), Some("0:05:01"));
        assert_eq!((command(comment, "eval"), command(comment, "emt")), (Some("0.3,12"), None));
        assert_eq!((command("[%clk", "clk"), command("[%clk 1", "clk")), (None, None));
        assert_eq!(without_commands(comment), "good and");
        let comments = ["[%csl Ra1][%csl Gb2] text".to_owned(), "[%csl Ra1]".to_owned()];
        assert_eq!(with_command(&comments, "csl", Some("Yc3")), ["[%csl Yc3] text"]);
        assert_eq!(with_command(&comments, "csl", None), ["text"]);
        assert_eq!(with_command(&[], "cal", Some("Ge2e4")), ["[%cal Ge2e4]"]);
        assert_eq!(tidy(" a {b}\r\nc\r "), "a (b)\nc");
    }

    #[test]
    fn times_and_shapes_are_read() {
        assert_eq!((seconds("1:02:03.5"), seconds("7"), seconds("x")), (Some(3723.5), Some(7.0), None));
        let shapes: Vec<Shape> = Shape::read("Ge2e4, Rd5,Xa1,Ga9,G").collect();
        assert_eq!(shapes.iter().map(Shape::to_string).collect::<Vec<_>>(), ["Ge2e4", "Rd5"]);
        assert_eq!(shapes[0].to, Some(Square::E4));
    }
}
