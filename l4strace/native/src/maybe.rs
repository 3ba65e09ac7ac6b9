//! A number that may be missing, in rows that are many.

use std::fmt;

/// Half as large as an `Option`: NaN stands for none.
#[derive(Clone, Copy)]
pub struct Maybe(f64);

impl Maybe {
    pub fn get(self) -> Option<f64> {
        Some(self.0).filter(|number| !number.is_nan())
    }
}

impl Default for Maybe {
    fn default() -> Maybe {
        Maybe(f64::NAN)
    }
}

impl From<Option<f64>> for Maybe {
    fn from(number: Option<f64>) -> Maybe {
        number.map_or_else(Maybe::default, Maybe)
    }
}

impl From<Maybe> for Option<f64> {
    fn from(number: Maybe) -> Option<f64> {
        number.get()
    }
}

impl PartialEq for Maybe {
    fn eq(&self, other: &Maybe) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for Maybe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Maybe;

    #[test]
    fn what_is_missing_is_equal() {
        assert_eq!(Maybe::default(), Maybe::from(None));
        assert_eq!(Maybe::from(Some(1.5)).get(), Some(1.5));
        assert_ne!(Maybe::default(), Maybe::from(Some(0.0)));
        assert_eq!(format!("{:?}", Maybe::from(Some(1.5))), "Some(1.5)");
    }
}
