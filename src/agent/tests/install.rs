//! Adding entries to files and removing them again.

use proptest::prelude::*;

use super::super::{
    dialects::{ALL, named},
    install::{File, Format, Scope, command, if_there, program_of},
};

const COMMAND: &str = "/bin/git-checkpoint hook --agent x";

fn file(name: &str) -> &'static File {
    &named(name).expect("it is in the table").files[0]
}

fn all_files() -> impl Iterator<Item = &'static File> {
    ALL.iter().flat_map(|dialect| dialect.files)
}

/// Puts in and takes out; checks what must hold for any text, and returns the text with it.
fn round(file: &File, text: Option<&str>) -> String {
    let with = file.install(text, COMMAND).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(file.install(Some(&with), COMMAND).expect("again"), with, "twice is once: {text:?}");
    assert_eq!(file.uninstall(&with).expect("out").as_deref(), text, "out gives what was there:\n{with}");
    assert!(file.is_ours(&with) && !text.is_some_and(|text| file.is_ours(text)));
    let moved = command("/opt/a b/git-checkpoint", "x");
    let updated = file.install(Some(&with), &moved).expect("with another program");
    assert!(
        updated == with || !["\"", " "].iter().any(|end| updated.contains(&format!("{end}{COMMAND}"))),
        "{updated}"
    );
    assert_eq!(file.uninstall(&updated).expect("out").as_deref(), text, "{updated}");
    with
}

#[test]
fn new_files_are_whole_and_go_whole() {
    for file in all_files() {
        let text = round(file, None);
        match file.format {
            Format::Json(shape) => {
                let value: serde_json::Value = serde_json::from_str(&text).expect("plain JSON");
                let map = shape.at.iter().fold(&value, |value, key| &value[key]);
                assert_eq!(map.as_object().expect("a map").len(), shape.events.len());
                assert!(text.ends_with("}\n"));
            }
            Format::Whole(_) => assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok()),
            _ => assert!(text.contains(COMMAND)),
        }
    }
}

#[test]
fn each_agent_has_its_files() {
    for dialect in ALL.iter().filter(|dialect| dialect.name != "generic") {
        let scopes: Vec<Scope> = dialect.files.iter().map(|file| file.scope).collect();
        assert!(scopes.contains(&Scope::User) && scopes.contains(&Scope::Project), "{}", dialect.name);
        assert!(!dialect.homes.is_empty() && !dialect.todo.is_empty());
    }
    assert!(all_files().all(|file| !file.path.starts_with('/') && !file.path.contains("..")));
}

#[test]
fn json_of_others_stays_as_it_is() {
    for text in [
        "",
        "\n",
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "\u{feff}{}",
        " {\"hooks\":{}} ",
        "{\"hooks\": {\n  }\n}\n",
        "{\"hooks\": {\"Stop\": []}}",
        "{\"hooks\": {\"Stop\": [ ], \"PreToolUse\": [\n]}}",
        "{\n\t\"model\": \"x\"\n}\n",
        "{\"a\":1,\"b\":[1,2]}",
        "{\r\n  \"a\": 1\r\n}\r\n",
        "{\n  // mine\n  \"a\": 1, // one\n  /* two */\n}\n",
        "{ // only a word\n}\n",
        "// nothing\n",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},\n    ]\n  }\n}\n",
        "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]},\"z\":0}",
        "{\"version\": 1}",
        "{\"version\": 1, \"hooks\": {}}",
        "{\n  \"hooks\": {},\n  \"version\": 1\n}\n",
        "{\"hooks\": {\"preToolUse\": [{\"command\": \"lint\"}], \"stop\": [{\"command\": \"git-checkpoint-not hook --agent x\"}]}}",
        "{\"k\": \"\\\"}{][\\u00e4\", \"n\": -1.5e3, \"t\": true, \"o\": null}",
    ] {
        for file in all_files().filter(|file| matches!(file.format, Format::Json(_))) {
            round(file, Some(text));
        }
    }
}

#[test]
fn entries_are_added_to_an_existing_list_of_cursor() {
    let with = round(
        file("cursor"),
        Some("{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"./x\" }]\n  }\n}\n"),
    );
    assert!(
        with.starts_with(
            "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"./x\" }, \
         {\"command\": \"[ ! -x /bin/git-checkpoint ] || exec /bin/git-checkpoint hook --agent x\", \"timeout\": 30}],\n    \
         \"sessionStart\": [{\"command\""
        ),
        "{with}"
    );
    let with = round(file("droid"), None);
    assert!(with.starts_with("{\n  \"SessionStart\": [{\"hooks\": [{\"type\": \"command\""), "{with}");
}

/// Some agents rewrite their settings in their own style.
#[test]
fn our_entries_are_found_in_a_reformatted_file() {
    for file in all_files().filter(|file| matches!(file.format, Format::Json(_))) {
        let with = file.install(Some("{\"a\": 1}"), COMMAND).expect("in");
        let value: serde_json::Value = serde_json::from_str(&with).expect("plain");
        for text in [format!("{value}"), format!("{value:#}\n")] {
            assert_eq!(file.install(Some(&text), COMMAND).expect("there"), text);
            let rest = file.uninstall(&text).expect("out").expect("something is left");
            let rest: serde_json::Value = serde_json::from_str(&rest).expect("plain");
            assert_eq!(rest, serde_json::json!({ "a": 1 }));
        }
    }
}

/// Files of versions that wrote nothing around the command.
#[test]
fn entries_of_earlier_versions_are_ours() {
    for ours in [COMMAND.to_owned(), command("/a b/it's/git-checkpoint", "x")] {
        let word = ours.strip_suffix(" hook --agent x").expect("it ends so");
        for file in all_files() {
            let with = file.install(None, &ours).expect("in");
            let older = [
                (format!("[ ! -x {word} ] || exec {ours}"), ours.clone()),
                (format!("[ -x {word} ] && {ours} || exit 0"), format!("{ours} || exit 0")),
                (format!("{{ [ -x {word} ] && {ours}; }}"), ours.clone()),
            ];
            let in_file = |text: &str| match file.format {
                Format::Script => text.to_owned(),
                _ => serde_json::Value::from(text).to_string().trim_matches('"').to_owned(),
            };
            let old = older.iter().fold(with.clone(), |text, (new, old)| text.replace(&in_file(new), &in_file(old)));
            assert_eq!(old == with, file.path.ends_with("plugin.json"), "{old}");
            assert!(file.is_ours(&old) && file.is_pristine(&old), "{old}");
            assert_eq!(file.commands(&old).iter().filter(|text| program_of(text).is_none()).count(), 0, "{old}");
            assert_eq!(file.install(Some(&old), &ours).expect("it is updated"), with);
            assert_eq!(file.uninstall(&old).expect("out"), None, "{old}");
        }
    }
}

#[test]
fn foreign_entries_beside_ours_stay() {
    let file = file("claude-code");
    let with = file.install(None, COMMAND).expect("in");
    let ours = format!("{{\"type\": \"command\", \"command\": \"{}\", \"timeout\": 30}}", if_there(COMMAND));
    for theirs in
        ["{\"type\": \"command\", \"command\": \"mine\"}", "{\"command\": \"git-checkpoint hook --agent x; rm y\"}"]
    {
        for beside in [format!("{ours}, {theirs}"), format!("{theirs},\n{ours}"), format!("{theirs}, // why\n {ours}")]
        {
            let text = with.replacen(&ours, &beside, 1);
            let rest = file.uninstall(&text).expect("out").expect("theirs is left");
            assert!(rest.contains(theirs) && !rest.contains(&ours), "{rest}");
            assert!(!beside.contains("// why") || rest.contains("// why"), "{rest}");
        }
    }
}

#[test]
fn malformed_settings_are_left_alone() {
    for text in [
        "[]",
        "{",
        "{\"hooks\": 1}",
        "{\"hooks\": {\"SessionStart\": {}}}",
        "{\"a\" 1}",
        "{} x",
        "{\"a\": nope}",
        "\"x",
    ] {
        assert!(file("claude-code").install(Some(text), COMMAND).is_err(), "{text}");
    }
    assert!(file("claude-code").install(Some(&"[".repeat(100_000)), COMMAND).is_err());
    for file in all_files().filter(|file| !matches!(file.format, Format::Json(_))) {
        assert!(file.install(Some("theirs\n"), COMMAND).is_err());
        assert_eq!(file.uninstall("theirs\n").expect("read").as_deref(), Some("theirs\n"));
    }
}

#[test]
fn commands_are_for_a_shell() {
    assert_eq!(command("/usr/bin/git-checkpoint", "codex"), "/usr/bin/git-checkpoint hook --agent codex");
    assert_eq!(command("/a b/it's/git-checkpoint", "amp"), r"'/a b/it'\''s/git-checkpoint' hook --agent amp");
    round(file("codex"), None);
}

fn blank() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", " ", "\n", "\n  ", "\r\n\t", "/* , */", " // }\n", "  "]).prop_map(str::to_owned)
}

/// JSON text of any layout.
fn any_text(depth: u32) -> BoxedStrategy<String> {
    let leaf = proptest::sample::select(vec!["1", "true", "null", "\"x\"", "\"// \\\" {\"", "[]", "{}", "-0.5"])
        .prop_map(str::to_owned);
    if depth == 0 {
        return leaf.boxed();
    }
    let key = proptest::sample::select(vec!["a", "b", "matcher", "command", "type", "name"]);
    let member = (key, blank(), blank(), any_text(depth - 1), blank())
        .prop_map(|(key, one, two, value, three)| format!("{one}\"{key}\":{two}{value}{three}"));
    let item = (blank(), any_text(depth - 1), blank()).prop_map(|(one, value, two)| format!("{one}{value}{two}"));
    prop_oneof![
        leaf,
        (proptest::collection::vec(member, 1..4), any::<bool>()).prop_map(|(members, comma)| format!(
            "{{{}{}}}",
            members.join(","),
            if comma { "," } else { "" }
        )),
        (proptest::collection::vec(item, 1..4)).prop_map(|items| format!("[{}]", items.join(","))),
        blank().prop_map(|blank| format!("{{{blank}}}")),
    ]
    .boxed()
}

/// The settings of an agent: foreign hooks, in any layout.
fn any_settings() -> impl Strategy<Value = String> {
    let event = proptest::sample::select(vec!["SessionStart", "PreToolUse", "Stop", "stop", "preToolUse", "Foreign"]);
    let list = prop_oneof![
        blank().prop_map(|blank| format!("[{blank}]")),
        (blank(), any_text(2), blank(), any::<bool>())
            .prop_map(|(one, item, two, comma)| format!("[{one}{item}{two}{}]", if comma { "," } else { "" })),
    ];
    let member = (blank(), event, blank(), list, blank())
        .prop_map(|(one, event, two, list, three)| (event, format!("{one}\"{event}\":{two}{list}{three}")));
    let map = (proptest::collection::vec(member, 0..4), blank()).prop_map(|(members, blank)| {
        let mut seen = std::collections::BTreeSet::new();
        let members: Vec<String> =
            members.into_iter().filter(|(event, _)| seen.insert(*event)).map(|(_, text)| text).collect();
        if members.is_empty() { format!("{{{blank}}}") } else { format!("{{{}}}", members.join(",")) }
    });
    let other = (blank(), any_text(2), blank()).prop_map(|(one, value, two)| format!("{one}\"other\":{value}{two}"));
    (proptest::option::of(map), proptest::option::of(other), blank(), blank(), blank()).prop_map(
        |(map, other, one, two, three)| {
            let hooks = map.map(|map| format!("{one}\"hooks\":{map}{two}"));
            let members: Vec<String> = [hooks, other].into_iter().flatten().collect();
            format!("{three}{{{}}}{two}", if members.is_empty() { one } else { members.join(",") })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn out_of_any_json_gives_what_was_there(text in any_settings()) {
        for name in ["claude-code", "cursor", "droid", "gemini"] {
            if file(name).install(Some(&text), COMMAND).is_ok() {
                round(file(name), Some(&text));
            }
        }
        prop_assert!(file("claude-code").install(Some(&text), COMMAND).is_ok(), "{text}");
    }

    #[test]
    fn any_text_never_panics(text in ".{0,60}") {
        for file in all_files() {
            let _ = (file.install(Some(&text), COMMAND).is_ok(), file.uninstall(&text).is_ok());
        }
    }
}
