//! git-checkpoint-session(1) says what is so.

use std::collections::BTreeSet;

use serde_json::Value;

use super::desk::Desk;

fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("man/git-checkpoint-session.1");
    std::fs::read_to_string(path).expect("the page is there").replace("\\-", "-")
}

#[test]
fn every_field_is_there() {
    let desk = Desk::new();
    let mut found = vec![
        desk.json(&["session", "start", "a"]),
        desk.json(&["session", "prompt", "a", "-m", "a wish"]),
        desk.json(&["session", "list"]),
        desk.json(&["session", "show", "a"]),
        desk.json(&["session", "cwd", "a"]),
        desk.json(&["session", "handoff", "a"]),
    ];
    let mut stopped = desk.json(&["session", "stop", "a"]);
    // A checkpoint is described elsewhere.
    stopped["checkpoint"] = Value::Null;
    found.push(stopped);
    found.extend([desk.json(&["session", "adopt", "a"]), desk.json(&["session", "forget", "a"])]);
    let mut fields = BTreeSet::new();
    for value in &found {
        collect(value, &mut fields);
    }
    let page = page();
    let shown: BTreeSet<String> = page
        .split("\n.nf\n")
        .skip(1)
        .filter_map(|block| block.split("\n.fi").next())
        .flat_map(|block| block.split('"').skip(1).step_by(2).map(Into::into))
        .collect();
    assert_eq!(shown, fields);
}

fn collect(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            fields.insert(key.clone());
            collect(value, fields);
        }),
        Value::Array(items) => items.iter().for_each(|value| collect(value, fields)),
        _ => {}
    }
}
