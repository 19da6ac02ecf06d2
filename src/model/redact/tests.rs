//! Secrets of every shape are replaced at any place; hashes and code stay.

use bstr::ByteSlice as _;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

fn redacted(text: &str) -> String {
    String::from_utf8(redact(text.as_bytes().to_vec())).expect("it was text")
}

/// Returns a secret of some shape, in what makes it one: text before, secret, text after.
fn planted() -> impl Strategy<Value = (&'static str, String, &'static str)> {
    // In pieces, or scanners of this repository would take them for real ones.
    let bare = prop_oneof![
        "AKI[A][A-Z0-9]{16}",
        "gh[p]_[A-Za-z0-9]{36}",
        "github_pa[t]_[A-Za-z0-9_]{60}",
        "glpa[t]-[A-Za-z0-9_-]{20}",
        "xox[b]-[0-9]{11}-[A-Za-z0-9]{24}",
        "sk_liv[e]_[A-Za-z0-9]{24}",
        "AIz[a][A-Za-z0-9_-]{35}",
        "sk-an[t]-api03-[A-Za-z0-9_-]{90}",
        "sk-pro[j]-[A-Za-z0-9_-]{40}7",
        "npm[_][A-Za-z0-9]{36}",
        "pyp[i]-[A-Za-z0-9_-]{100}",
        "eyJ[a][A-Za-z0-9_-]{20}\\.eyJ[A-Za-z0-9_-]{20}\\.[A-Za-z0-9_-]{30}",
        "SG[.][A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}",
        "h[f]_[A-Za-z0-9]{34}",
    ];
    let around = |before: &'static str, pattern: &'static str, after: &'static str| {
        pattern.prop_map(move |secret| (before, secret, after))
    };
    prop_oneof![
        (
            prop::sample::select(vec!["", " ", "\"", "\\n", "=", ": ", "x "]),
            bare,
            prop::sample::select(vec!["", " ", "\"", "\\n", "\n"])
        ),
        around("https://user:", "[a-zA-Z0-9]{8,20}", "@example.com/x"),
        around("https://", "[a-z0-9]{30}", "@example.com/x"),
        around("Authorization: Bearer ", "[A-Za-z0-9._-]{12,40}", "\r\n"),
        around("\\\"authorization\\\":\\\"Basic ", "[A-Za-z0-9+/]{12,40}=", "\\\""),
        around("password=", "[a-z]{4}[0-9]{4}[a-z]{4}", "\n"),
        around("PASSWORD='", "[a-z0-9!?]{8,20}", "'"),
        around("\"password\": \"", "[a-zA-Z0-9]{6,20}", "\""),
        around("\\\"api_key\\\": \\\"", "[a-zA-Z]{12}[0-9][a-zA-Z]{3}", "\\\""),
        around("token: ", "[a-z]{8}[0-9]{8}", "\n"),
        around("aws_secret_access_key = ", "[A-Za-z0-9/+]{39}[0-9]", "\n"),
        around(
            "-----BEGIN RSA PRIVATE KEY-----\n",
            "[A-Za-z0-9+/]{64}\n[A-Za-z0-9+/]{64}\n",
            "-----END RSA PRIVATE KEY-----\n"
        ),
        around(
            "-----BEGIN OPENSSH PRIVATE KEY-----\\n",
            "[A-Za-z0-9+/]{70}",
            "\\n-----END OPENSSH PRIVATE KEY-----\\n"
        ),
        around("-----BEGIN PRIVATE KEY-----\n", "[A-Za-z0-9+/]{64}", "\nand no end of it"),
    ]
}

/// Lines that must stay as they are.
const HARMLESS: &[&str] = &[
    "let token = self.next_token()?;\n",
    "fn password(&self) -> Option<&str> { self.password.as_deref() }\n",
    "password: String,\n",
    "const TOKEN: TokenKind = TokenKind::Identifier;\n",
    "export PASSWORD=$SECRET_FROM_VAULT1\n",
    "token: ${{ secrets.GITHUB_TOKEN }}\n",
    "commit 43f20f42ef15e2468d51187af0d66b47954049fd\n",
    "index 4cb29ea38f..f04eb26512 100644\n",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty\n",
    "{\"uuid\":\"5f3b8a52-7b1c-4e0d-9f5e-1c2d3e4f5a6b\"}\n",
    "{\"id\":\"toolu_01A09q90qw90lq917835lq9\",\"type\":\"tool_use\"}\n",
    "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"\n",
    "import { SomeVeryLongComponentName2 } from '../src/components/SomeVeryLongComponentName2/index';\n",
    "class HTTPServerConnectionPoolManagerFactoryV2Impl extends AbstractHTTPServer {}\n",
    "task-management-system-2-with-a-long-name and disk-usage-analyzer-3-of-them\n",
    "a sentence about bearer authentication, tokens, a password: what it is and why\n",
    "https://example.com:8080/path?x=1#@fragment and git@github.com:owner/repo.git\n",
    "ssh://git@example.com/owner/repository.git\n",
    "SELECT password_hash FROM users WHERE token_id = ?\n",
    "<input type=\"password\" name=\"password\">\n",
    "0123456789abcdefghijklmnopqrstuvwxyz\n",
];

#[test]
fn code_and_hashes_stay() {
    for line in HARMLESS {
        assert_eq!(redacted(line), *line);
    }
}

#[test]
fn an_image_stays() {
    let data: Vec<u8> =
        (0..750_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).rotate_left(13).to_be_bytes()).collect();
    let image = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, data);
    let text = format!("{{\"data\":\"{image}\"}}");
    assert_eq!(redacted(&text), text);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(768) })]

    #[test]
    fn planted_secrets_are_gone(
        (before, secret, after) in planted(),
        start in prop::sample::select(HARMLESS.to_vec()),
        end in prop::sample::select(HARMLESS.to_vec()),
    ) {
        let text = format!("{start}{before}{secret}{after}{end}");
        let out = redacted(&text);
        prop_assert!(out.starts_with(start), "{out}");
        // Nor a good part of it. The lines around it may have three of its letters by chance.
        let half = &secret.trim()[..secret.trim().len() / 2];
        let between = out[start.len()..].trim_end_matches(end);
        prop_assert!(!between.contains(half), "{text}\n{out}");
        prop_assert_eq!(redacted(&out), out);
    }

    #[test]
    fn random_text_is_gone(text in "[A-Za-z0-9]{40}") {
        // By chance, one in many looks like a name.
        let out = redacted(&format!("x: {text}\n"));
        let kinds = text.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
        prop_assert!(kinds < 17 || !out.contains(&text), "{out}");
    }

    #[test]
    fn any_bytes_will_do(parts in prop::collection::vec(prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        prop::sample::select(vec!["-----BEGIN PRIVATE KEY-----", "-----END X-----", "password=", "\\", "\"", "://", "@", "eyJ"]).prop_map(|text| text.as_bytes().to_vec()),
        Just(b"Ab3Cd4Ef5Gh6Ij7Kl8Mn9Op0Qr1".to_vec()),
    ], 0..12)) {
        let text = parts.concat();
        let once = redact(text.clone());
        prop_assert!(once.len() <= text.len() + 24 * text.len());
        if once == text {
            prop_assert!(text.find(b"-----BEGIN PRIVATE KEY-----").is_none());
        }
    }
}

/// Returns how long this thread has been running, whatever runs beside it.
fn busy() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::try_from(time).expect("it does not run backwards")
}

/// The time per byte does not grow with the length, whatever is repeated.
#[test]
fn it_takes_linear_time() {
    let times = |text: &str, count: usize| {
        let text = text.repeat(count).into_bytes();
        let start = busy();
        drop(redact(text));
        busy().saturating_sub(start)
    };
    for text in [
        "eyJ",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "://a:",
        "{\"text\":\"a line of prose\\n\"}\n",
        "Bearer ",
        "a",
    ] {
        let few = 200_000 / text.len();
        let best = |count: usize| (0..3).map(|_| times(text, count)).min().unwrap_or_default();
        let (short, long) = (best(few), best(few * 8));
        assert!(long < short * 40 + std::time::Duration::from_millis(200), "'{text}': {short:?}, then {long:?}");
    }
}

#[test]
#[ignore = "takes its time; run by hand in release"]
fn fifty_megabytes() {
    let lines = HARMLESS.concat();
    let text = lines.repeat((50 << 20) / lines.len()).into_bytes();
    let start = std::time::Instant::now();
    let length = redact(text).len();
    assert!(start.elapsed().as_secs() < 10, "{:?} for {length}", start.elapsed());
}

#[test]
fn text_that_a_rule_matches_contains_one_of_its_words() {
    for rule in &*RULES {
        // Places that match nothing cannot be made up.
        let pattern = format!("(?-u){}", rule.pattern.expression).replace(r"(?:\b|\\[nrt])", "").replace(r"\b", "");
        let matches =
            proptest::string::bytes_regex(&pattern.replace("|$)", ")")).expect("a pattern that can be matched");
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 200, ..Default::default() });
        let is_seen = |text: Vec<u8>| {
            let lower = text.to_ascii_lowercase();
            prop_assert!(rule.may_find(&lower, &Bytes::of(&lower)), "{}: {}", rule.pattern.name, text.as_bstr());
            Ok(())
        };
        runner.run(&matches, is_seen).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_logarithm_is_that_of_the_library() {
    for number in (1..10_000).chain([65_535, 65_536, 65_537, 1 << 31, u32::MAX]) {
        let (own, expected) = (log2(number), f64::from(number).log2());
        assert!((own - expected).abs() < 1e-12, "{number}: {own}, not {expected}");
    }
}
