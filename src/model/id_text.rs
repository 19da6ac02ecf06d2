//! Object ids as text, for JSON.

use gix::ObjectId;
use serde::{Serialize as _, Serializer};

/// Serializes an id as its hexadecimal digits.
pub(crate) fn serialize<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// Serializes an id that may be absent as its hexadecimal digits, or null.
pub(crate) fn serialize_optional<S: Serializer>(id: &Option<ObjectId>, serializer: S) -> Result<S::Ok, S::Error> {
    id.map(|id| id.to_string()).serialize(serializer)
}
