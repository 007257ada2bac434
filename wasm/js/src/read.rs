//! Arguments, read whole before the guard is touched: a getter of the caller's may do anything.

use js_sys::{Array, Object, Reflect, Uint8Array};
use rebalance_guard::{Assignment, Offset, Tick, Ticket};
use wasm_bindgen::{JsCast, JsValue};

use crate::error::{error, wrong};
use crate::names::NAME_BYTES_MAX;

/// What reading gives: the value, or what to throw.
pub(crate) type Read<T> = Result<T, JsValue>;

const SAFE_MAX: f64 = 9_007_199_254_740_991.0;

/// The fields of an argument, each asked for once.
#[derive(Debug)]
pub(crate) struct Fields {
    object: Object,
}

impl Fields {
    /// The fields of `value`, which may have no other than `known`.
    pub(crate) fn of(value: &JsValue, what: &str, known: &[&str]) -> Read<Self> {
        if !value.is_object() || Array::is_array(value) || value.is_function() {
            return Err(wrong(what, "an object"));
        }
        let object: Object = value.clone().unchecked_into();
        for key in Object::keys(&object).iter() {
            let key = key.as_string().unwrap_or_default();
            if !known.contains(&key.as_str()) {
                let list = known.join(", ");
                let message = format!("{what} has no field `{key}`; it may have: {list}");
                return Err(error("unknown_field", &message));
            }
        }
        Ok(Self { object })
    }

    /// The field, unless it is missing or undefined.
    pub(crate) fn get(&self, name: &str) -> Read<Option<JsValue>> {
        let value = Reflect::get(&self.object, &name.into())?;
        Ok((!value.is_undefined()).then_some(value))
    }

    /// The field.
    pub(crate) fn need(&self, name: &str) -> Read<JsValue> {
        self.get(name)?.ok_or_else(|| error("missing", &format!("`{name}` is missing: give it")))
    }

    /// A flag; false when missing.
    pub(crate) fn flag(&self, name: &str) -> Read<bool> {
        match self.get(name)? {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| wrong(name, "true or false")),
        }
    }

    /// A list.
    pub(crate) fn list(&self, name: &str) -> Read<Vec<JsValue>> {
        list(&self.need(name)?, name)
    }

    /// The name of the topic, or else the guard's default.
    pub(crate) fn topic(&self, default: Option<&str>) -> Read<String> {
        match self.get("topic")? {
            Some(value) => topic(&value),
            None => default.map(str::to_owned).ok_or_else(|| {
                error("missing", "`topic` is missing: give it here, or once when making the guard")
            }),
        }
    }

    /// The partition's number.
    pub(crate) fn index(&self) -> Read<i32> {
        signed(&self.need("partition")?, "partition")
    }

    /// An offset.
    pub(crate) fn offset(&self, name: &str) -> Read<Offset> {
        offset(&self.need(name)?, name)
    }

    /// An assignment's number.
    pub(crate) fn assignment(&self) -> Read<Assignment> {
        let value = whole(&self.need("assignment")?, "assignment")?;
        Assignment::new(value).ok_or_else(|| range("assignment", "1 or more"))
    }

    /// A small count; `default` when missing.
    pub(crate) fn small<T: TryFrom<u64>>(&self, name: &str, default: T) -> Read<T> {
        self.get(name)?.map_or(Ok(default), |value| narrow(&value, name))
    }
}

/// A list that is an array.
pub(crate) fn list(value: &JsValue, name: &str) -> Read<Vec<JsValue>> {
    if !Array::is_array(value) {
        return Err(wrong(name, "an array"));
    }
    Ok(Array::from(value).to_vec())
}

/// The name of a topic.
pub(crate) fn topic(value: &JsValue) -> Read<String> {
    let name = value.as_string().ok_or_else(|| wrong("topic", "a string"))?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let message = format!("a topic's name has 1 to {NAME_BYTES_MAX} bytes, not {}", name.len());
        return Err(error("topic_name", &message));
    }
    Ok(name)
}

/// A number out of its range.
pub(crate) fn range(name: &str, expected: &str) -> JsValue {
    error("range", &format!("`{name}` must be {expected}"))
}

/// A whole number from 0 to 2^64 - 1: a BigInt, or a Number that is certainly exact.
/// B146 (rustwasm/wasm-bindgen#1156): a Number above 2^53 - 1 may stand for another offset.
pub(crate) fn whole(value: &JsValue, name: &str) -> Read<u64> {
    if value.is_bigint() {
        let outside = || range(name, "between 0n and 2n ** 64n - 1n");
        return u64::try_from(value.clone()).map_err(|_| outside());
    }
    let number = exact(value, name)?;
    if number < 0.0 {
        return Err(range(name, "0 or more"));
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and 0 to 2^53 - 1"
    )]
    Ok(number as u64)
}

/// A whole number of 32 bits with its sign.
pub(crate) fn signed(value: &JsValue, name: &str) -> Read<i32> {
    let outside = || range(name, "between -2147483648 and 2147483647");
    if value.is_bigint() {
        let wide = i64::try_from(value.clone()).map_err(|_| outside())?;
        return i32::try_from(wide).map_err(|_| outside());
    }
    let number = exact(value, name)?;
    if number < f64::from(i32::MIN) || number > f64::from(i32::MAX) {
        return Err(outside());
    }
    #[allow(clippy::cast_possible_truncation, reason = "whole, and of 32 bits")]
    Ok(number as i32)
}

fn exact(value: &JsValue, name: &str) -> Read<f64> {
    let number = value.as_f64().ok_or_else(|| wrong(name, "a BigInt or a Number"))?;
    if number.fract() != 0.0 || number.abs() > SAFE_MAX || number.is_nan() {
        let message = format!(
            "`{name}` is the Number {number}, which is no whole number up to 2^53 - 1 and may have \
             lost digits: give a BigInt"
        );
        return Err(error("not_exact", &message));
    }
    Ok(number)
}

/// A whole number of a smaller type.
pub(crate) fn narrow<T: TryFrom<u64>>(value: &JsValue, name: &str) -> Read<T> {
    T::try_from(whole(value, name)?).map_err(|_| range(name, "smaller"))
}

/// An offset.
pub(crate) fn offset(value: &JsValue, name: &str) -> Read<Offset> {
    let outside = || {
        range(name, "between 0n and 2n ** 63n - 1n: negative numbers are a client's logical values")
    };
    if value.is_bigint() {
        let wide = i64::try_from(value.clone()).map_err(|_| outside())?;
        return Offset::try_from(wide).map_err(|_| outside());
    }
    Offset::new(whole(value, name)?).map_err(|_| outside())
}

/// A tick.
pub(crate) fn tick(value: &JsValue, name: &str) -> Read<Tick> {
    Tick::new(whole(value, name)?).ok_or_else(|| range(name, "at most 2n ** 62n"))
}

/// Bytes: as they are, or the UTF-8 of a string.
pub(crate) fn bytes(value: &JsValue, name: &str) -> Read<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return Ok(text.into_bytes());
    }
    let array = value.dyn_ref::<Uint8Array>();
    array.map(Uint8Array::to_vec).ok_or_else(|| wrong(name, "a Uint8Array or a string"))
}

/// A ticket as `admit` or `outputs` gave it, or its bytes.
pub(crate) fn ticket(value: &JsValue) -> Read<Ticket> {
    let bytes = match value.dyn_ref::<Uint8Array>() {
        Some(bytes) => bytes.clone(),
        None if value.is_object() => {
            let bytes = Reflect::get(value, &"bytes".into())?;
            bytes.dyn_into().map_err(|_| not_a_ticket())?
        }
        None => return Err(not_a_ticket()),
    };
    let bytes: [u8; Ticket::BYTES] = bytes.to_vec().try_into().map_err(|_| not_a_ticket())?;
    Ticket::from_bytes(&bytes).ok_or_else(not_a_ticket)
}

fn not_a_ticket() -> JsValue {
    error("ticket", "this is no ticket: give one that admit or outputs gave, unchanged")
}
