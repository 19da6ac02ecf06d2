//! What each agent is answered: no answer by which one of them would stumble.

use serde_json::Value;

use super::super::{
    Reply,
    dialect::Dialect,
    dialects::{ALL, named},
    event::Moment,
};

const TEXT: &str = "Error: no\n\u{1b}[31mTo fix:\n1. go\n";
const SHOWN: &str = "Error: no\n[31mTo fix:\n1. go";

fn dialect(name: &str) -> &'static Dialect {
    named(name).expect("it is in the table")
}

fn is_json_or_nothing(reply: &Reply) -> bool {
    reply.stdout.is_empty() || serde_json::from_str::<Value>(&reply.stdout).is_ok_and(|value| value.is_object())
}

#[test]
fn going_on_is_silent() {
    for dialect in ALL {
        for moment in Moment::ALL {
            let reply = dialect.allow(moment);
            assert_eq!((reply.code, reply.stderr.as_str()), (0, ""), "{} {moment:?}", dialect.name);
            assert!(is_json_or_nothing(&reply));
        }
    }
}

#[test]
fn a_warning_lets_every_agent_continue() {
    for dialect in ALL {
        for moment in Moment::ALL {
            let reply = dialect.warn(moment, TEXT);
            // There, the code only lets the model read the text.
            let code = if dialect.name == "windsurf" && moment == Moment::PostTool { 2 } else { 0 };
            assert_eq!(reply.code, code, "{} {moment:?}", dialect.name);
            assert!(!reply.stdout.contains('\u{1b}') && !reply.stderr.contains('\u{1b}'));
            assert!(
                !reply.stdout.contains("deny") && !reply.stdout.contains("\"cancel\":true") || dialect.name == "kiro"
            );
        }
    }
}

#[test]
fn an_agent_that_shows_warnings_gets_their_text() {
    for dialect in ALL {
        let shown = Moment::ALL.into_iter().filter(|moment| dialect.shows(*moment)).collect::<Vec<_>>();
        let expected = match dialect.name {
            "cursor" => vec![Moment::SessionStart, Moment::PostTool, Moment::Compact],
            "kiro" => vec![Moment::SessionStart, Moment::Prompt],
            "windsurf" => vec![Moment::PostTool],
            "goose" => Vec::new(),
            _ => Moment::ALL.to_vec(),
        };
        assert_eq!(shown, expected, "{}", dialect.name);
        for moment in shown {
            let reply = dialect.warn(moment, "the warning");
            assert!(format!("{reply:?}").contains("the warning"), "{} {moment:?}", dialect.name);
        }
    }
}

/// The agent, the denial before a tool, the denial before a prompt: exit code, standard output, whether there is
/// standard error.
#[test]
fn a_denial_has_the_agents_own_form() {
    type No = (u8, &'static str, bool);
    let cases: [(&str, No, No); 13] = [
        ("claude-code", (2, "", true), (2, "", true)),
        ("codex", (2, "", true), (2, "", true)),
        ("gemini", (0, r#""decision":"deny""#, false), (0, r#""decision":"deny""#, false)),
        ("cursor", (0, r#""permission":"deny""#, false), (0, r#""continue":false"#, false)),
        ("copilot", (0, r#""permissionDecision":"deny""#, false), (0, r#""type":"progress""#, false)),
        ("opencode", (0, r#""deny":"#, false), (0, r#""deny":"#, false)),
        ("amp", (0, r#""deny":"#, false), (0, r#""deny":"#, false)),
        ("droid", (2, "", true), (2, "", true)),
        ("cline", (0, r#""cancel":true"#, false), (0, r#""cancel":true"#, false)),
        ("windsurf", (2, "", true), (2, "", true)),
        ("kiro", (2, "", true), (2, "", true)),
        ("goose", (2, r#""decision":"block""#, true), (0, "", false)),
        ("generic", (2, r#""decision":"deny""#, true), (2, r#""decision":"deny""#, true)),
    ];
    assert_eq!(cases.len(), ALL.len());
    for (name, tool, prompt) in cases {
        for (moment, (code, stdout, is_shown)) in [(Moment::PreTool, tool), (Moment::Prompt, prompt)] {
            let reply = dialect(name).deny(moment, TEXT);
            assert_eq!(reply.code, code, "{name} {moment:?}");
            assert!(reply.stdout.contains(stdout), "{name} {moment:?}: {}", reply.stdout);
            assert!(is_json_or_nothing(&reply), "{name}");
            assert_eq!(reply.stderr, if is_shown { format!("{SHOWN}\n") } else { String::new() }, "{name} {moment:?}");
        }
    }
}

/// A denial at a stop would keep the agent running forever.
#[test]
fn no_agent_is_kept_from_stopping() {
    for dialect in ALL.iter().filter(|dialect| dialect.name != "generic") {
        for moment in [Moment::Stop, Moment::SessionEnd, Moment::Interrupt, Moment::SubagentStop, Moment::SessionStart]
        {
            let reply = dialect.deny(moment, TEXT);
            assert_eq!(reply.code, 0, "{} {moment:?}", dialect.name);
            let is_no =
                ["\"decision\"", "\"continue\":false", "\"cancel\":true"].iter().any(|no| reply.stdout.contains(no));
            assert!(!is_no, "{} {moment:?}", dialect.name);
        }
    }
}

/// Before a tool, any exit code but 0 is a no to it, and so is the shell's where the program is gone.
#[test]
fn copilot_never_sees_an_exit_code() {
    for moment in Moment::ALL {
        assert_eq!(dialect("copilot").deny(moment, TEXT).code, 0);
    }
    for name in ["copilot", "gemini"] {
        let text = dialect(name).files[0].install(None, "git-checkpoint hook --agent x").expect("installed");
        assert!(text.contains("hook --agent x || exit 0"), "{text}");
    }
}

/// It fails hooks that print keys it does not know.
#[test]
fn codex_gets_only_keys_that_it_knows() {
    const KNOWN: [&str; 4] = ["systemMessage", "hookSpecificOutput", "hookEventName", "additionalContext"];
    for moment in Moment::ALL {
        for reply in [dialect("codex").deny(moment, TEXT), dialect("codex").warn(moment, TEXT)] {
            let value: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
            let inner = value.get("hookSpecificOutput").and_then(Value::as_object).into_iter().flatten();
            for (key, _) in value.as_object().into_iter().flatten().chain(inner) {
                assert!(KNOWN.contains(&key.as_str()), "{key}");
            }
        }
    }
}
