//! The stored form: what is written comes back, and nothing makes the parser panic.

use bstr::BString;
use gix::ObjectId;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use rstest::rstest;

use crate::model::{
    attribution::{
        Author, FileOwnership, Owner, Span,
        text::{Attribution, File},
    },
    contributor::Contributor,
    session::is_valid_id,
};

fn example() -> Attribution {
    let agent = Author {
        contributor: Contributor::Agent,
        session: Some("a b%".into()),
        turn: Some(2),
        agent: Some("claude-code".into()),
        model: None,
        agent_id: None,
    };
    let authors = vec![Author::plain(Contributor::Human), Author::plain(Contributor::Unknown), agent];
    let id = ObjectId::from_hex(b"0123456789012345678901234567890123456789").expect("an id");
    let span = |start, end, owner| Span { start, end, owner };
    let ownership = FileOwnership {
        path: "src/b c\n".into(),
        from: Some(BString::from(b"a\xff".to_vec())),
        spans: vec![
            span(1, 2, Owner::Base),
            span(3, 3, Owner::Author(2)),
            span(5, 9, Owner::Mixed { of: 0, over: Some(2), share: 30 }),
            span(10, 10, Owner::Mixed { of: 2, over: None, share: 0 }),
        ],
        removed: vec![(0, 3), (2, 1)],
        kept: 2,
        whole: None,
        is_cut_off: true,
    };
    let binary = FileOwnership { path: "a.bin".into(), whole: Some(Owner::Author(2)), ..FileOwnership::default() };
    Attribution { authors, files: vec![File { blob: Some(id), ownership }, File { blob: None, ownership: binary }] }
}

#[test]
fn the_text() {
    let expected = "attribution 1
author 0 agent session=a%20b%25 turn=2 agent=claude-code
author 1 human
file - a.bin
whole 0
file 0123456789012345678901234567890123456789 src/b c%0A
from a%FF
cut-off
1-2 base
3-3 0
5-9 1/0:30
10-10 0/base:0
removed 1 0
removed 3 1
removed 2 base
";
    let text = example().to_text();
    assert_eq!(String::from_utf8_lossy(&text), expected);
    assert_eq!(Attribution::from_text(&text), Ok(example().sorted()));
}

#[rstest]
#[case::version("attribution 2\n", "it does not begin")]
#[case::no_file("attribution 1\n1-1 base\n", "line 2")]
#[case::no_author("attribution 1\nfile - a\n1-1 0\n", "line 3")]
#[case::order("attribution 1\nfile - a\n2-2 base\n1-1 base\n", "line 4")]
#[case::overlap("attribution 1\nfile - a\n1-3 base\n3-4 base\n", "line 4")]
#[case::backwards("attribution 1\nfile - a\n3-2 base\n", "line 3")]
#[case::zero("attribution 1\nfile - a\n0-2 base\n", "line 3")]
#[case::share("attribution 1\nauthor 0 human\nfile - a\n1-1 0/0:101\n", "line 4")]
#[case::escape("attribution 1\nfile - a%61\n", "line 2")]
#[case::twice("attribution 1\nfile - a\nfile - a\n", "line 3")]
#[case::sum("attribution 1\nfile - a\n1-4294967295 base\nfile - b\n1-1 base\n", "line 5")]
#[case::late_author("attribution 1\nfile - a\nauthor 0 human\n", "line 3")]
#[case::number("attribution 1\nauthor 00 human\n", "line 2")]
fn wrong_texts_are_errors(#[case] text: &str, #[case] expected: &str) {
    let error = Attribution::from_text(text.as_bytes()).expect_err("it is wrong");
    assert!(error.starts_with(expected), "{error}");
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z%= \n]{0,8}"]
}

fn author() -> impl Strategy<Value = Author> {
    let contributors = prop::sample::select(vec![Contributor::Agent, Contributor::Human, Contributor::Unknown]);
    let text = || prop::option::of(value());
    (contributors, text(), any::<Option<u32>>(), text(), text(), text()).prop_map(
        |(contributor, session, turn, agent, model, agent_id)| Author {
            contributor,
            session: session.filter(|id| is_valid_id(id)),
            turn,
            agent,
            model,
            agent_id,
        },
    )
}

fn owner() -> impl Strategy<Value = Owner> {
    prop_oneof![
        any::<bool>().prop_map(|_| Owner::Base),
        (0..3u32).prop_map(Owner::Author),
        (0..3u32, prop::option::of(0..3u32), 0..=100u8).prop_map(|(of, over, share)| Owner::Mixed { of, over, share }),
    ]
}

fn ownership() -> impl Strategy<Value = FileOwnership> {
    let path = || prop::collection::vec(any::<u8>(), 1..9).prop_map(BString::from);
    let spans = prop::collection::vec((1..9u32, 0..9u32, owner()), 0..9);
    let removed = prop::collection::btree_map(0..3u32, 1..9u32, 0..4);
    let rest = (0..9u32, prop::option::of(owner()), any::<bool>());
    (path(), prop::option::of(path()), spans, removed, rest).prop_map(|(path, from, gaps, removed, rest)| {
        let mut spans = Vec::new();
        let mut line = 0;
        for (gap, length, owner) in gaps {
            spans.push(Span { start: line + gap, end: line + gap + length, owner });
            line += gap + length;
        }
        let (kept, whole, is_cut_off) = rest;
        FileOwnership { path, from, spans, removed: removed.into_iter().collect(), kept, whole, is_cut_off }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn an_attribution_comes_back(
        authors in prop::collection::vec(author(), 3),
        files in prop::collection::btree_map(prop::collection::vec(any::<u8>(), 1..9), ownership(), 0..4),
    ) {
        let files = files.into_iter().map(|(path, ownership)| {
            File { blob: None, ownership: FileOwnership { path: path.into(), ..ownership } }
        });
        let attribution = Attribution { authors, files: files.collect() }.sorted();
        let text = attribution.clone().to_text();
        prop_assert_eq!(Attribution::from_text(&text), Ok(attribution));
    }

    #[test]
    fn no_text_makes_the_parser_panic(at in any::<prop::sample::Index>(), length in 0..4usize, insert in prop_oneof![value(), "[0-9/:\\- base]{0,6}"]) {
        let mut text = example().to_text();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        text.splice(at..end, insert.into_bytes());
        if let Ok(attribution) = Attribution::from_text(&text) {
            let again = attribution.to_text();
            prop_assert!(Attribution::from_text(&again).is_ok());
        }
    }
}
