use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    Fp32,
    /// Integers inside the network, floats at its outputs.
    Int8,
}

impl Precision {
    pub const ALL: [Precision; 2] = [Precision::Fp32, Precision::Int8];

    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Int8 => "int8",
        }
    }

    pub fn other(self) -> Precision {
        match self {
            Precision::Fp32 => Precision::Int8,
            Precision::Int8 => Precision::Fp32,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Precision, String> {
        let named = |precision: &Precision| precision.name().eq_ignore_ascii_case(text);
        Precision::ALL.into_iter().find(named).ok_or_else(|| "neither fp32 nor int8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood_in_any_case() {
        for precision in Precision::ALL {
            assert_eq!(precision.name().to_uppercase().parse(), Ok(precision));
            assert_eq!(precision.other().other(), precision);
        }
        assert!("fp16".parse::<Precision>().is_err());
    }
}
