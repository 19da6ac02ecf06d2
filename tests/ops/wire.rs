//! Listing and fetching by gix, against git's own servers, and what git's own programs answer to the same question.

use std::path::PathBuf;

use bstr::BString;
use git_checkpoint::testing::git::{Repo, wire};
use gix::ObjectId;

use crate::support::{
    World,
    servers::{Asks, WebServer},
};

const PREFIX: &str = "refs/checkpoints/";

/// A repository that has refs to share, and one that has none, with the ways to the first.
struct Pair {
    world: World,
    web: Option<WebServer>,
}

/// How the one reaches the other.
#[derive(Clone, Copy, Debug)]
enum Way {
    Path,
    FileUrl,
    Http,
}

impl Pair {
    fn new(format: &str) -> Self {
        let world = World::new();
        world.sh(&format!(
            "git init -q --object-format={format} there && git init -q --object-format={format} here && cd there \
             && git commit -q --allow-empty -m base && for n in 1 2 3; do \
             echo $n >f; git add f; git update-ref refs/checkpoints/test/$n $(git commit-tree -m $n $(git write-tree)); done \
             && git update-ref refs/other/x HEAD"
        ));
        Self { world, web: None }
    }

    fn root(&self) -> PathBuf {
        self.world.repo().canonicalize().expect("it exists")
    }

    fn here(&self) -> Repo {
        Repo::open(&self.root().join("here")).expect("a repository")
    }

    fn url(&mut self, way: Way) -> String {
        let root = self.root();
        match way {
            Way::Path => root.join("there").display().to_string(),
            Way::FileUrl => format!("file://{}", root.join("there").display()),
            Way::Http => self.web.insert(WebServer::start(&root, Asks::default())).url("there"),
        }
    }

    /// What git says is there.
    fn expected(&self) -> Vec<(BString, ObjectId)> {
        let refs = self.world.sh("git -C there for-each-ref --format='%(refname) %(objectname)' refs/checkpoints");
        let parsed = refs.lines().map(|line| {
            let (name, id) = line.split_once(' ').expect("two words");
            (name.into(), ObjectId::from_hex(id.as_bytes()).expect("an id"))
        });
        parsed.collect()
    }

    /// How many objects the packs have.
    fn packed(&self) -> usize {
        let counted = self.world.sh("git -C here count-objects -v");
        let packed = counted.lines().find_map(|line| line.strip_prefix("in-pack: ")).expect("git counts");
        packed.parse().expect("a number")
    }

    fn has(&self, id: ObjectId) -> bool {
        self.world.sh(&format!("git -C here cat-file -e {id} 2>/dev/null && echo yes || echo no")).trim() == "yes"
    }
}

#[rstest::rstest]
fn lists_and_fetches_what_git_says_is_there(
    #[values(Way::Path, Way::FileUrl, Way::Http)] way: Way,
    #[values("sha1", "sha256")] format: &str,
) {
    let mut pair = Pair::new(format);
    let url = pair.url(way);
    let expected = pair.expected();
    assert_eq!(wire::list(&pair.here(), &url, PREFIX).expect("listed"), Ok(expected.clone()));
    assert!(expected.iter().all(|(_, id)| !pair.has(*id)), "listing fetches nothing");
    assert!(wire::fetch(&pair.here(), &url, PREFIX, &[], None).expect("fetched"));
    assert!(expected.iter().all(|(_, id)| pair.has(*id)));
    pair.world.sh("git -C here fsck --strict");
    let left = pair.world.sh("ls here/.git/objects/pack | grep -E 'keep|tmp' || true");
    assert_eq!(left, "", "nothing keeps the pack for ever");
    // Again, with something new, and with what is here already.
    pair.world.sh("cd there && echo more >f && git add f && git update-ref refs/checkpoints/test/4 \
         $(git commit-tree -p refs/checkpoints/test/3 -m more $(git write-tree))");
    let before = pair.packed();
    let haves: Vec<_> = expected.iter().map(|(_, id)| *id).collect();
    assert!(wire::fetch(&pair.here(), &url, "refs/checkpoints/test/4", &haves, None).expect("fetched"));
    assert!(pair.expected().iter().all(|(_, id)| pair.has(*id)));
    assert_eq!(pair.packed(), before + 3, "only the new commit, its tree and its blob");
}

#[test]
fn a_fetch_over_http_takes_three_requests_and_names_no_commit_of_the_users_code() {
    let mut pair = Pair::new("sha1");
    pair.world.sh("cd here && for n in 1 2 3 4 5; do git commit -q --allow-empty -m $n; done");
    let url = pair.url(Way::Http);
    assert!(wire::fetch(&pair.here(), &url, PREFIX, &[], None).expect("fetched"));
    let requests = pair.web.as_ref().expect("a server").take_requests();
    assert_eq!(requests.len(), 3, "{requests:#?}");
    assert!(requests.iter().map(|request| request.sent).sum::<usize>() < 1000, "{requests:#?}");
}

#[test]
fn only_the_refs_below_the_prefix_cross_the_wire() {
    let mut pair = Pair::new("sha1");
    pair.world
        .sh("cd there && for n in $(seq 3000); do echo create refs/heads/b$n HEAD; done | git update-ref --stdin");
    let url = pair.url(Way::Http);
    assert_eq!(wire::list(&pair.here(), &url, PREFIX).expect("listed").expect("a connection").len(), 3);
    let requests = pair.web.as_ref().expect("a server").take_requests();
    let received: usize = requests.iter().map(|request| request.received).sum();
    assert!(received < 2000, "{received} bytes: {requests:#?}");
}

#[test]
fn a_server_of_the_first_version_is_left_to_git() {
    let pair = Pair::new("sha1");
    let web = WebServer::start(&pair.root(), Asks { is_old: true, ..Asks::default() });
    assert!(wire::list(&pair.here(), &web.url("there"), PREFIX).expect("an answer").is_err());
}

#[rstest::rstest]
#[case::bundle("git -C there bundle create -q ../x.bundle --all", "ROOT/x.bundle")]
#[case::helper("true", "ext::sh -c true")]
#[case::policy("git -C here config protocol.allow user", "ROOT/there")]
#[case::policy_of_another("git -C here config protocol.ext.allow user", "ROOT/there")]
#[case::older_protocol("git -C here config protocol.version 0", "ROOT/there")]
#[case::relative_path("true", "../there")]
#[case::home("true", "~/there")]
#[case::encoded("true", "file://ROOT/%74here")]
#[case::file_of_a_host("true", "file://host/there")]
#[case::option("true", "--upload-pack=x")]
#[case::ssh("true", "ssh://127.0.0.1:1/x")]
#[case::scp("true", "Host:x")]
#[case::daemon("true", "git://127.0.0.1:1/x")]
fn what_only_git_can_reach_is_left_to_git(#[case] script: &str, #[case] url: &str) {
    let pair = Pair::new("sha1");
    pair.world.sh(script);
    let url = url.replace("ROOT", &pair.root().display().to_string());
    assert!(wire::list(&pair.here(), &url, PREFIX).expect("an answer").is_err());
}

#[rstest::rstest]
#[case::not_there("ROOT/nowhere", "the other side does not answer")]
#[case::no_repository("ROOT", "the other side does not answer")]
#[case::no_server("http://127.0.0.1:1/x", "cannot connect to the other side")]
fn what_is_not_there_is_an_error(#[case] url: &str, #[case] said: &str) {
    let pair = Pair::new("sha1");
    let url = url.replace("ROOT", &pair.root().display().to_string());
    let error = wire::list(&pair.here(), &url, PREFIX).expect_err("nothing answers");
    assert!(error.to_string().contains(said), "{error}: {:?}", error.causes());
}

/// As `git ls-remote` shows it.
#[test]
fn a_symbolic_ref_has_the_id_of_what_it_names() {
    let mut pair = Pair::new("sha1");
    pair.world.sh("cd there && git symbolic-ref refs/checkpoints/test/s refs/checkpoints/test/1");
    for way in [Way::Path, Way::Http] {
        let url = pair.url(way);
        assert_eq!(wire::list(&pair.here(), &url, PREFIX).expect("listed"), Ok(pair.expected()));
    }
}

#[test]
fn two_object_formats_are_refused_in_one_sentence() {
    let pair = Pair::new("sha1");
    pair.world.sh("git init -q --object-format=sha256 third && git -C third commit -q --allow-empty -m x");
    let url = pair.root().join("third").display().to_string();
    let error = wire::list(&pair.here(), &url, PREFIX).expect_err("another format");
    assert_eq!(
        error.to_string(),
        "the objects of the other side have ids of sha256, and those of this repository of sha1: they cannot be exchanged"
    );
}

#[rstest::rstest]
#[case::malformed_tree("printf '40000 .git\\0%s' \"$(git -C there rev-parse HEAD^{tree} | xxd -r -p)\" >t")]
#[case::missing_blob("printf '100644 f\\0aaaaaaaaaaaaaaaaaaaa' >t")]
fn malformed_objects_are_refused_and_nothing_is_stored(#[case] tree: &str) {
    let mut pair = Pair::new("sha1");
    pair.world.sh(&format!(
        "{tree}; id=$(git -C there hash-object --literally -w -t tree ../t) && \
         git -C there update-ref refs/checkpoints/test/bad $(printf \
         'tree %s\\nauthor a <a> 1 +0000\\ncommitter a <a> 1 +0000\\n\\nx\\n' $id | git -C there hash-object --literally -w -t commit --stdin)"
    ));
    for way in [Way::Path, Way::Http] {
        let url = pair.url(way);
        wire::fetch(&pair.here(), &url, "refs/checkpoints/test/bad", &[], None).expect_err("refused");
        assert_eq!(pair.world.sh("ls here/.git/objects/pack; find here/.git/objects -type f"), "");
    }
}

#[rstest::rstest]
fn what_the_other_side_lacks_is_said(
    #[values(Way::Path, Way::Http)] way: Way,
    #[values("^{tree}", ":f")] object: &str,
) {
    let mut pair = Pair::new("sha1");
    let id = pair.world.sh(&format!("git -C there rev-parse 'refs/checkpoints/test/1{object}'")).trim().to_owned();
    pair.world.sh(&format!("rm there/.git/objects/{}/{}", &id[..2], &id[2..]));
    let url = pair.url(way);
    let error = wire::fetch(&pair.here(), &url, "refs/checkpoints/test/1", &[], None).expect_err("it is damaged");
    assert!(
        error.causes().iter().any(|cause| cause.contains("corruption on the remote side")),
        "{error}: {:?}",
        error.causes()
    );
    assert!(!error.message().contains("store"), "it is not the fault of our disk: {error}");
}

/// Answers in which there is no pack, though all was said.
#[test]
fn a_server_that_sends_no_pack_is_asked_once() {
    let pair = Pair::new("sha1");
    let forged = |body: &[u8], count: usize| {
        let is_fetch = body.windows(13).any(|part| part == b"command=fetch");
        // A client that goes on asking gets an end sometime.
        let answer = if count < 50 { "0014acknowledgments\n0008NAK\n0000" } else { "" };
        is_fetch.then(|| answer.into())
    };
    let web = WebServer::start(&pair.root(), Asks { forged: Some(forged), ..Asks::default() });
    let error = wire::fetch(&pair.here(), &web.url("there"), PREFIX, &[], None).expect_err("there is no pack");
    let requests = web.take_requests();
    assert_eq!(requests.len(), 3, "{error}: {requests:#?}");
    assert!(error.causes().iter().any(|cause| cause.contains("sends no pack")), "{error}: {:?}", error.causes());
}

#[test]
fn a_pack_that_is_too_large_is_refused_and_nothing_is_stored() {
    let mut pair = Pair::new("sha1");
    pair.world.sh("cd there && head -c 200000 /dev/urandom >f && git add f && \
         git update-ref refs/checkpoints/test/big $(git commit-tree -m big $(git write-tree))");
    for way in [Way::Path, Way::Http] {
        let url = pair.url(way);
        let fetch = |limit| wire::fetch(&pair.here(), &url, "refs/checkpoints/test/big", &[], Some(limit));
        fetch(100_000).expect_err("refused");
        assert_eq!(pair.world.sh("find here/.git/objects -type f"), "");
    }
    let url = pair.url(Way::Path);
    wire::fetch(&pair.here(), &url, "refs/checkpoints/test/big", &[], Some(1_000_000)).expect("small enough");
}

#[test]
fn an_answer_that_is_cut_anywhere_changes_nothing_and_the_next_one_works() {
    let pair = Pair::new("sha1");
    for cut in [0, 10, 150, 190, 200, 220, 260, 300, 400, 500] {
        let web = WebServer::start(&pair.root(), Asks { cut_after: Some(cut), ..Asks::default() });
        wire::fetch(&pair.here(), &web.url("there"), PREFIX, &[], None).expect_err("it is cut");
        assert_eq!(pair.world.sh("find here/.git/objects -type f"), "", "cut after {cut} bytes");
    }
    let web = WebServer::start(&pair.root(), Asks::default());
    assert!(wire::fetch(&pair.here(), &web.url("there"), PREFIX, &[], None).expect("fetched"));
}
