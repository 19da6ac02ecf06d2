//! The places of values in a JSON text, so that one place can be changed without touching the rest. Accepts comments,
//! and commas before a closing bracket.

use jsonc_parser::{
    ParseOptions,
    ast::{ObjectPropName, Value},
    common::Ranged as _,
    parse_to_ast,
};

use crate::error::{Error, Result};

/// A value and where it is.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
    /// Of an object or a list.
    pub(super) items: Vec<Item>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Text(String),
    Other,
}

/// A value in a list, or a key with its value in an object.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) key: Option<String>,
    pub(super) start: usize,
    pub(super) node: Node,
}

/// Some programs begin a file with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Node {
    /// Returns the value under `key`; the last one, as all readers have it.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.position(key).map(|at| &self.items[at].node)
    }

    /// Returns where the value under `key` is among the items.
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.items.iter().rposition(|item| item.key.as_deref() == Some(key))
    }

    /// Returns the text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Parses `text`; none if it contains only blanks and comments.
pub(super) fn scan(text: &str) -> Result<Option<Node>> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let json = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let parsed = parse_to_ast(json, &jsonc_parser::CollectOptions::default(), &options)
        .map_err(|error| Error::user(format!("line {} is no JSON", error.line_display())))?;
    Ok(parsed.value.map(|value| node(&value, text.len() - json.len())))
}

/// Returns `value`, whose text begins `offset` bytes into the file.
fn node(value: &Value<'_>, offset: usize) -> Node {
    let item = |key, start, value| Item { key, start, node: node(value, offset) };
    let (kind, items) = match value {
        Value::Object(object) => {
            let key = |name: &ObjectPropName<'_>| Some(name.as_str().to_owned());
            let properties = object.properties.iter();
            (Kind::Object, properties.map(|it| item(key(&it.name), it.start() + offset, &it.value)).collect())
        }
        Value::Array(list) => {
            (Kind::List, list.elements.iter().map(|it| item(None, it.start() + offset, it)).collect())
        }
        Value::StringLit(text) => (Kind::Text(text.value.clone().into_owned()), Vec::new()),
        Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => (Kind::Other, Vec::new()),
    };
    Node { start: value.start() + offset, end: value.end() + offset, kind, items }
}
