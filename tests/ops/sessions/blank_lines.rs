//! Blank lines and lone brackets between the lines of an agent and of a person: `blame` and `attribution` name the same
//! author for each line.

use std::collections::BTreeMap;

use serde_json::Value;

use super::desk::Desk;

/// Returns the author of each line, by number.
fn by_line(groups: &Value) -> BTreeMap<u64, String> {
    let mut lines = BTreeMap::new();
    for group in groups.as_array().expect("a list") {
        let number = |key: &str| group[key].as_u64().expect("a number");
        let who = group["session"].as_str().or(group["owner"].as_str()).expect("an author");
        lines.extend((number("start")..=number("end")).map(|line| (line, who.to_owned())));
    }
    lines
}

/// Checks that both name the same author for each line of `path` that HEAD adds, and that blame names the author whose name the
/// line has, if it has one.
fn check(desk: &Desk, path: &str) {
    let found = desk.json(&["attribution", "HEAD"]);
    let file =
        found["files"].as_array().expect("a list").iter().find(|file| file["path"] == path).expect("it is changed");
    let counted = by_line(&file["owners"]);
    let head = desk.git(&["rev-parse", "HEAD"]);
    let blame = desk.json(&["blame", path]);
    let of_head = blame["lines"].as_array().expect("a list").iter().filter(|group| group["commit"] == head.as_str());
    let all = by_line(&blame["lines"]);
    let blamed = by_line(&Value::Array(of_head.cloned().collect()));
    assert_eq!(blamed, counted, "{}", desk.read(path));
    for (text, line) in desk.read(path).lines().zip(1..) {
        if let Some((_, name)) = text.split_once("by_") {
            let name = name.split('_').next().expect("a name");
            assert_eq!(all[&line], name, "{line}: {text}");
        }
    }
}

/// A function of `who`.
fn function(who: &str, name: &str) -> String {
    format!(
        "fn by_{who}_{name}() {{\n    let one = by_{who}_first_{name};\n\n    if one {{\n\
         \x20       by_{who}_then_{name}();\n    }}\n}}\n"
    )
}

/// Functions with blank lines between them.
fn file(functions: &[(&str, &str)]) -> String {
    functions.iter().map(|(who, name)| function(who, name)).collect::<Vec<_>>().join("\n")
}

#[rstest::rstest]
#[case::agent_first(&["a", "human", "a", "human", "a"])]
#[case::human_first(&["human", "a", "human", "a"])]
#[case::two_sessions(&["a", "human", "b", "human", "b", "a"])]
#[case::side_by_side(&["a", "a", "human", "human", "a"])]
fn both_name_the_same_authors_of_functions(
    #[case] order: &[&str],
    #[values((false, true), (true, false))] (is_new, is_reversed): (bool, bool),
) {
    let desk = Desk::new();
    let names: Vec<String> = (0..order.len()).map(|at| format!("n{at}")).collect();
    let all: Vec<(&str, &str)> = order.iter().copied().zip(names.iter().map(String::as_str)).collect();
    if !is_new {
        desk.write("code", "use std::fmt;\n");
        desk.commit_all();
    }
    let mut steps: Vec<usize> = (0..all.len()).collect();
    if is_reversed {
        steps.reverse();
    }
    let mut written: Vec<usize> = Vec::new();
    for step in steps {
        written.push(step);
        written.sort_unstable();
        let functions: Vec<_> = written.iter().map(|at| all[*at]).collect();
        let content = if is_new { file(&functions) } else { format!("use std::fmt;\n\n{}", file(&functions)) };
        match all[step].0 {
            "human" => desk.write("code", content),
            session => drop(desk.turn(session, &[("code", &content)])),
        }
    }
    desk.commit_all();
    check(&desk, "code");
    desk.finish();
}

/// Both write several hunks of a file that was committed before, with blank lines between them.
#[rstest::rstest]
#[case::agent_first(&["a", "human"])]
#[case::human_first(&["human", "a"])]
#[case::in_turn(&["a", "human", "a", "human"])]
fn both_name_the_same_authors_of_hunks(#[case] order: &[&str], #[values(false, true)] is_committed_in_parts: bool) {
    let desk = Desk::new();
    // These commits are dated before the hooks were enabled, so that only a record shows that we were in use.
    desk.turn("a", &[("h", "a wrote it\n")]);
    let mut lines: Vec<String> =
        (1..=30).map(|at| if at % 3 == 0 { String::new() } else { format!("old {at}") }).collect();
    let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    desk.write("code", text(&lines));
    desk.commit_all();
    for (step, who) in order.iter().enumerate() {
        // From the end on, so that the places before it stay.
        for place in (0..3).rev() {
            let at = 2 + place * 9 + step * 3;
            let new = ["{".into(), format!("by_{who}_{step}_{place}"), String::new(), "}".into(), String::new()];
            lines.splice(at..at, new);
        }
        match *who {
            "human" => desk.write("code", text(&lines)),
            session => drop(desk.turn(session, &[("code", &text(&lines))])),
        }
        if is_committed_in_parts {
            desk.commit_all();
            check(&desk, "code");
        }
    }
    if !is_committed_in_parts {
        desk.commit_all();
        check(&desk, "code");
    }
    desk.finish();
}
