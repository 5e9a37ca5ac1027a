//! In UTC.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use anyhow::Context;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month(Date);

impl FromStr for Month {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Month> {
        let parse = || {
            let (year, month) = text.split_once('-')?;
            Date::new(year.parse().ok()?, month.parse().ok()?, 1).ok()
        };
        parse().map(Month).with_context(|| format!("\"{text}\" is not a month like 2024-05"))
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.0.year(), self.0.month())
    }
}

impl Month {
    pub fn of(moment: Timestamp) -> Month {
        Month(moment.to_zoned(TimeZone::UTC).date().first_of_month())
    }

    pub fn next(self) -> Month {
        Month(self.0.checked_add(1.month()).expect("a year of four digits"))
    }

    pub fn start(self) -> Timestamp {
        self.0.to_zoned(TimeZone::UTC).expect("every day has a first moment in UTC").timestamp()
    }

    /// `2024/05`
    pub fn path(self) -> String {
        self.to_string().replace('-', "/")
    }

    pub fn was_over(self, moment: SystemTime) -> bool {
        Timestamp::try_from(moment).is_ok_and(|moment| moment >= self.next().start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_bounds() {
        let month: Month = "2023-12".parse().unwrap();
        assert_eq!(month.next().to_string(), "2024-01");
        assert_eq!(month.path(), "2023/12");
        assert_eq!(month.start().as_millisecond(), 1_701_388_800_000);
        assert_eq!(Month::of("2023-12-31T23:59:59Z".parse().unwrap()), month);
        let moment = |text: &str| SystemTime::from(text.parse::<Timestamp>().unwrap());
        assert!(!month.was_over(moment("2023-12-31T23:59:59Z")));
        assert!(month.was_over(moment("2024-01-01T00:00:00Z")));
        for bad in ["2024", "2024-13", "2024-0", "May 2024", "2024-05-01", "-1"] {
            assert!(bad.parse::<Month>().is_err(), "{bad}");
        }
    }
}
