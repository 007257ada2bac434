//! What the promises say, checked from outside.
