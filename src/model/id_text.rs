//! Object ids as text.

use gix::ObjectId;
use serde::{Serialize as _, Serializer};

/// How many digits of an id stored text has, for example a subject. It must not depend on a setting, which may change.
const STORED: usize = 10;

/// Returns `id` abbreviated for text that is stored.
pub(crate) fn stored(id: &ObjectId) -> String {
    id.to_hex_with_len(STORED).to_string()
}

/// Serializes an id as its hexadecimal digits.
pub(crate) fn serialize<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// Serializes an id that may be absent as its hexadecimal digits, or null.
pub(crate) fn serialize_optional<S: Serializer>(id: &Option<ObjectId>, serializer: S) -> Result<S::Ok, S::Error> {
    id.map(|id| id.to_string()).serialize(serializer)
}

/// Serializes ids as their hexadecimal digits.
pub(crate) fn serialize_list<S: Serializer>(ids: &[ObjectId], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(ToString::to_string))
}

/// An id that may be absent, as its hexadecimal digits, both ways.
pub(crate) mod optional {
    use gix::ObjectId;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(id: &Option<ObjectId>, serializer: S) -> Result<S::Ok, S::Error> {
        match id {
            Some(id) => serializer.collect_str(id),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ObjectId>, D::Error> {
        let text = String::deserialize(deserializer)?;
        ObjectId::from_hex(text.as_bytes()).map(Some).map_err(D::Error::custom)
    }
}
