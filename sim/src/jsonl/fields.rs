//! The fields of one JSON object, each taken once; what is left over is an error.

use serde_json::{Map, Value};

/// Why a line cannot be used; the line's number is added outside.
pub(super) type Bad = String;

/// The fields of an object.
#[derive(Clone, Debug)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn of(value: Value, what: &str) -> Result<Self, Bad> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            other => Err(format!("{what} must be an object, not {other}")),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Takes the field as it is; `null` counts as left out.
    pub(super) fn any(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Takes the field, `null` included.
    pub(super) fn raw(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(super) fn u64(&mut self, name: &str) -> Result<Option<u64>, Bad> {
        self.any(name).map(|value| whole(&value, name)).transpose()
    }

    pub(super) fn need_u64(&mut self, name: &str) -> Result<u64, Bad> {
        self.u64(name)?.ok_or_else(|| missing(name))
    }

    pub(super) fn small<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>, Bad> {
        let number = self.u64(name)?;
        let fits = |n: u64| T::try_from(n).map_err(|_| format!("`{name}` is too large: {n}"));
        number.map(fits).transpose()
    }

    pub(super) fn i32(&mut self, name: &str) -> Result<Option<i32>, Bad> {
        let number = |value: Value| {
            let found = value.as_i64().and_then(|n| i32::try_from(n).ok());
            found.ok_or_else(|| format!("`{name}` must be a whole number of 32 bits, not {value}"))
        };
        self.any(name).map(number).transpose()
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Bad> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{name}` must be a string, not {other}")),
        }
    }

    pub(super) fn need_text(&mut self, name: &str) -> Result<String, Bad> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, Bad> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(format!("`{name}` must be true or false, not {other}")),
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Vec<Value>, Bad> {
        match self.any(name) {
            Some(Value::Array(list)) => Ok(list),
            None => Err(missing(name)),
            Some(other) => Err(format!("`{name}` must be a list, not {other}")),
        }
    }

    /// Nothing may be left.
    pub(super) fn end(self, what: &str) -> Result<(), Bad> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("{what} has no field `{name}`: check its spelling")),
        }
    }
}

pub(super) fn missing(name: &str) -> Bad {
    format!("`{name}` is missing")
}

fn whole(value: &Value, name: &str) -> Result<u64, Bad> {
    value.as_u64().ok_or_else(|| {
        format!("`{name}` must be a whole number from 0 to 18446744073709551615, not {value}")
    })
}
