//! Reads from an agent's own file of the conversation what its events lack: the model.
//!
//! The format of these files changes from version to version; unknown formats are ignored.

use serde_json::Value;

use crate::model::usage::is_model_name;

/// Returns the model of the last message in `text`: one JSON document, or one on each line, possibly without the
/// beginning.
pub(crate) fn model(text: &str) -> Option<String> {
    let in_lines = || text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).find_map(|it| named(&it));
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) => {
            let messages = map.get("messages").and_then(Value::as_array);
            messages.and_then(|all| all.iter().rev().find_map(named)).or_else(|| named(&Value::Object(map)))
        }
        _ => in_lines(),
    }
}

/// Returns the model that a message names, itself or in its `message`.
fn named(message: &Value) -> Option<String> {
    let name = message.pointer("/message/model").or_else(|| message.get("model"))?.as_str()?.trim();
    is_model_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::claude(
        "{\"type\":\"assistant\",\"message\":{\"model\":\"a-1\"}}\n\
         {\"type\":\"assistant\",\"message\":{\"model\":\"a-2\",\"content\":[{\"input\":{\"model\":\"b\"}}]}}\n\
         {\"type\":\"assistant\",\"message\":{\"model\":\"<synthetic>\"}}\n{\"type\":\"user\",\"message\":{}}\n",
        Some("a-2")
    )]
    #[case::gemini("{\n \"messages\": [\n {\"model\": \"g-1\"},\n {\"type\": \"user\"}\n ]\n}\n", Some("g-1"))]
    #[case::cut_beginning("el\":\"x\"}\n{\"model\":\"g-2\"}\n", Some("g-2"))]
    #[case::one_line("{\"model\":\"g-3\"}", Some("g-3"))]
    #[case::control("{\"model\":\"a\\u001b[31m\"}\n", None)]
    #[case::no_text("{\"model\":{}}\n[1]\n", None)]
    #[case::nonsense("model: a\n", None)]
    #[case::nothing("", None)]
    fn the_last_model_counts(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(model(text).as_deref(), expected);
    }
}
