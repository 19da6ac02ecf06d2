//! Codex runs only trusted hooks; we make it trust ours through its interface for programs.

use super::{World, ends, home, put, read, world};
use crate::support::{processes::described, program};

/// Answers as `codex app-server` does, with a hook of ours and a foreign one.
const SERVER: &str = r#"#!/bin/sh
[ "$1" = app-server ] || exit 9
hooks=$HOME/.codex/hooks.json
while read -r line; do
	printf '%s\n' "$line" >>"$HOME/heard"
	case $line in
	*'"initialize"'*) echo '{"id":1,"result":{}}' ;;
	*hooks/list*)
		echo '{"method":"configWarning","params":{}}'
		printf '{"id":2,"result":{"data":[{"hooks":[%s,%s,%s]}]}}\n' \
			"{\"key\":\"$hooks:stop:0:0\",\"eventName\":\"stop\",\"command\":\"[ ! -x $PROGRAM ] || exec $PROGRAM hook --agent codex\",\"sourcePath\":\"$hooks\",\"currentHash\":\"sha256:1\"}" \
			"{\"key\":\"$hooks:stop:1:0\",\"eventName\":\"stop\",\"command\":\"theirs\",\"sourcePath\":\"$hooks\",\"currentHash\":\"sha256:2\"}" \
			"{\"key\":\"/x/hooks.json:stop:0:0\",\"eventName\":\"stop\",\"command\":\"$PROGRAM hook --agent codex\",\"sourcePath\":\"/x/hooks.json\",\"currentHash\":\"sha256:3\"}" ;;
	*batchWrite*) echo "$ANSWER" ;;
	esac
done
"#;

fn run(world: &World, answer: &str, code: i32) -> String {
    let program = program();
    let path = format!("{}:/usr/bin:/bin", world.root().join("bin").display());
    let output = world
        .command(program)
        .env("PATH", path)
        .env("PROGRAM", program)
        .env("ANSWER", answer)
        .args(["enable", "--agent", "codex", "--trust"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(code), "{}", described(&output));
    String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
}

#[test]
fn ours_are_trusted_and_no_others() {
    let world = world();
    put(&world.root().join("bin/codex"), SERVER, 0o755);
    let said = run(&world, r#"{"id":3,"result":{"status":"ok"}}"#, 0);
    assert!(said.contains("trusted           stop") && !said.contains("/hooks'"), "{said}");
    let heard = read(&home(&world).join("heard"));
    let written = heard.lines().last().expect("it was asked");
    let written: serde_json::Value = serde_json::from_str(written).expect("JSON");
    let key = format!("{}:stop:0:0", home(&world).join(".codex/hooks.json").display());
    let expected = serde_json::json!({ key: { "trusted_hash": "sha256:1" } });
    assert_eq!(written["params"]["edits"][0]["value"], expected);
}

#[test]
fn if_codex_cannot_be_reached_enable_explains_how_to_trust_the_hooks() {
    let world = world();
    let said = run(&world, "", 1);
    assert!(said.contains("'codex' is not in $PATH") && said.contains("trust them with '/hooks'"), "{said}");
    put(&world.root().join("bin/codex"), SERVER, 0o755);
    let said = run(&world, r#"{"id":3,"error":{"message":"not allowed"}}"#, 1);
    assert!(said.contains("Codex does not answer 'config/batchWrite'") && said.contains("not allowed"), "{said}");
    put(&world.root().join("bin/codex"), "#!/bin/sh\nexit 1\n", 0o755);
    run(&world, "", 1);
    let said = ends(&world, 128, &["enable", "--agent", "gemini", "--trust"]);
    assert!(said.contains("'--trust' is for codex"), "{said}");
    assert!(home(&world).join(".codex/hooks.json").exists(), "it is installed all the same");
}
