//! Conversions: line endings, `ident`, encodings, filter commands; and the exact bytes kept beside.

use super::bench::{Bench, Scenario};
use super::child::Order;

/// A filter that turns `a` to `b` for storing and back, as a command run for each file.
const ROT: &str = "git config filter.rot.clean 'tr ab bc'; git config filter.rot.smudge 'tr bc ab'; echo '*.rot filter=rot' >.gitattributes";

#[rstest::rstest]
#[case::auto_crlf(
    "git init -q .; git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' >crlf; printf 'a\\nb\\n' >lf; printf 'a\\r\\nb\\n' >mixed; printf 'a\\r\\n\\0' >bin; commit",
    "printf 'c\\r\\n' >>crlf; printf 'c\\n' >>lf; printf 'd\\r\\n' >new"
)]
#[case::auto_crlf_input(
    "git init -q .; git config core.autocrlf input; printf 'a\\r\\nb\\r\\n' >crlf; printf 'a\\n' >lf; commit",
    "printf 'c\\r\\n' >>crlf; printf 'c\\r\\n' >>lf; printf 'd\\r\\n' >new"
)]
#[case::crlf_in_the_index(
    "git init -q .; printf 'a\\r\\nb\\r\\n' >crlf; commit; git config core.autocrlf true",
    "printf 'c\\r\\n' >>crlf; printf 'new\\r\\n' >new"
)]
#[case::crlf_in_the_index_text_auto(
    "git init -q .; printf 'a\\r\\nb\\r\\n' >crlf; commit; echo '* text=auto' >.gitattributes; git add .gitattributes; git commit -qm x",
    "printf 'c\\r\\n' >>crlf; printf 'new\\r\\n' >new"
)]
#[case::text_auto_eol_crlf(
    "git init -q .; echo '* text=auto eol=crlf' >.gitattributes; printf 'a\\r\\n' >a; printf 'b\\n' >b; commit",
    "printf 'x\\r\\n' >>a; printf 'y\\n' >>b; printf 'z\\r\\n' >c"
)]
#[case::text_set(
    "git init -q .; echo '*.txt text' >.gitattributes; printf 'a\\r\\n' >a.txt; printf 'a\\r\\n' >a.bin; commit",
    "printf 'x\\r\\n' >>a.txt; printf 'lone\\rcr\\r\\n' >>a.bin; printf 'lone\\rcr\\r\\n' >b.txt"
)]
#[case::text_unset(
    "git init -q .; git config core.autocrlf true; echo '*.raw -text' >.gitattributes; printf 'a\\r\\n' >a.raw; commit",
    "printf 'x\\r\\n' >>a.raw; printf 'x\\r\\n' >b.raw"
)]
#[case::core_eol(
    "git init -q .; git config core.eol crlf; echo '*.txt text' >.gitattributes; printf 'a\\r\\n' >a.txt; commit",
    "printf 'b\\r\\n' >>a.txt; printf 'c\\n' >>c.txt"
)]
#[case::safe_crlf(
    "git init -q .; git config core.autocrlf true; git config core.safecrlf warn; printf 'a\\r\\nb\\n' >a; commit",
    "printf 'c\\n' >>a"
)]
#[case::ident(
    "git init -q .; echo '*.c ident' >.gitattributes; printf '$Id$\\n' >a.c; commit; rm a.c; git checkout -q a.c",
    "echo x >>a.c; printf '$Id: whatever $ $Id$\\n' >b.c"
)]
#[case::encoding(
    "git init -q .; echo '*.u16 working-tree-encoding=UTF-16LE eol=lf' >.gitattributes; printf 'a\\0b\\0\\n\\0' >a.u16; commit",
    "printf 'c\\0\\n\\0' >>a.u16; printf 'd\\0' >d.u16"
)]
#[case::encoding_latin1(
    "git init -q .; echo '*.l1 working-tree-encoding=ISO-8859-1' >.gitattributes; printf 'caf\\xe9\\n' >a.l1; commit",
    "printf '\\xfc\\n' >>a.l1; printf '\\xdf' >b.l1"
)]
#[case::encoding_shift_jis(
    "git init -q .; echo '*.sj working-tree-encoding=SHIFT-JIS' >.gitattributes; printf '\\x82\\xa0\\n' >a.sj; commit",
    "printf '\\x82\\xa2\\n' >>a.sj"
)]
#[case::encoding_utf16(
    "git init -q .; echo '*.u16 working-tree-encoding=UTF-16 eol=lf' >.gitattributes; printf 'a\\nb\\n' | iconv -t UTF-16 >a.u16; commit",
    "printf 'caf\\xc3\\xa9\\n' | iconv -t UTF-16 >a.u16; printf 'x\\n' | iconv -t UTF-16 >b.u16"
)]
#[case::encoding_utf16_big_endian(
    "git init -q .; echo '*.u16 working-tree-encoding=UTF-16BE' >.gitattributes; printf 'a\\nb\\n' | iconv -t UTF-16BE >a.u16; commit",
    "printf 'x\\n' | iconv -t UTF-16BE >b.u16"
)]
#[case::encoding_utf16_with_mark(
    "git init -q .; echo '*.u16 working-tree-encoding=UTF-16LE-BOM' >.gitattributes; (printf '\\xff\\xfe'; printf 'a\\n' | iconv -t UTF-16LE) >a.u16; commit",
    "(printf '\\xff\\xfe'; printf 'b\\n' | iconv -t UTF-16LE) >b.u16"
)]
#[case::encoding_utf32(
    "git init -q .; echo '*.u32 working-tree-encoding=UTF-32' >.gitattributes; printf 'a\\n' | iconv -t UTF-32 >a.u32; commit",
    "printf 'b\\n' | iconv -t UTF-32 >b.u32"
)]
#[case::encoding_ibm(
    "git init -q .; echo '*.i working-tree-encoding=IBM037' >.gitattributes; printf 'a\\n' | iconv -t IBM037 >a.i; commit",
    "printf 'b\\n' | iconv -t IBM037 >b.i"
)]
#[case::macro_attribute(
    "git init -q .; printf '[attr]mine text eol=crlf\\n*.m mine\\n*.b binary\\n' >.gitattributes; printf 'a\\r\\n' >a.m; printf 'a\\r\\n' >a.b; commit",
    "printf 'x\\r\\n' >>a.m; printf 'x\\r\\n' >>a.b"
)]
#[case::nested_attributes(
    "git init -q .; mkdir -p d/e; echo '* text' >.gitattributes; echo '* -text' >d/.gitattributes; echo 'x text' >d/e/.gitattributes; for f in x d/x d/e/x d/e/y; do printf 'a\\r\\n' >$f; done; commit",
    "for f in x d/x d/e/x d/e/y d/e/z; do printf 'b\\r\\n' >>$f; done"
)]
#[case::info_attributes(
    "git init -q .; mkdir .git/info; echo '*.txt text' >.git/info/attributes; printf 'a\\r\\n' >a.txt; commit",
    "printf 'b\\r\\n' >>a.txt; printf 'b\\r\\n' >b.txt"
)]
#[case::attributes_file(
    "git init -q .; echo '*.txt text' >$W/attrs; git config core.attributesFile $W/attrs; printf 'a\\r\\n' >a.txt; commit",
    "printf 'b\\r\\n' >>a.txt; printf 'b\\r\\n' >b.txt"
)]
#[case::empty_attributes_file(
    "git init -q .; mkdir -p $W/home/.config/git; echo '*.txt text' >$W/home/.config/git/attributes; git config core.attributesFile ''; printf 'a\\r\\n' >a.txt; commit",
    "printf 'b\\r\\n' >>a.txt; printf 'b\\r\\n' >b.txt"
)]
#[case::old_crlf_attribute(
    "git init -q .; echo '*.txt crlf=input' >.gitattributes; printf 'a\\r\\n' >a.txt; commit",
    "printf 'b\\r\\n' >>a.txt"
)]
#[case::ignore_case(
    "git init -q .; git config core.ignoreCase true; echo '*.TXT text' >.gitattributes; printf 'a\\r\\n' >a.txt; commit",
    "printf 'b\\r\\n' >>a.txt"
)]
fn line_endings_and_encodings(#[case] first: &str, #[case] then: &str) {
    Scenario::new(first, then).check();
}

#[rstest::rstest]
#[case::clean_and_smudge("", "echo cab >>a.rot; echo abba >b.rot")]
#[case::clean_only("git config --unset filter.rot.smudge;", "echo cab >>a.rot; echo abba >b.rot")]
#[case::smudge_only("git config --unset filter.rot.clean;", "echo cab >>a.rot; echo abba >b.rot")]
#[case::placeholder(
    "git config filter.rot.clean 'cat; echo cleaned %f';",
    "echo cab >>a.rot; mkdir 'd d'; echo x >'d d/a b.rot'; echo \"it's\" >\"it's.rot\""
)]
#[case::failing_optional("git config filter.rot.clean false;", "echo cab >>a.rot; echo abba >b.rot")]
#[case::missing_optional("git config filter.rot.clean /no/such/command;", "echo cab >>a.rot; echo abba >b.rot")]
#[case::killed_optional("git config filter.rot.clean 'kill -9 $$';", "echo cab >>a.rot; echo abba >b.rot")]
#[case::not_reading("git config filter.rot.clean 'echo constant';", "seq 100000 >a.rot; echo x >b.rot")]
#[case::required("git config filter.rot.required true;", "echo cab >>a.rot; echo abba >b.rot")]
#[case::combined(
    "echo '*.rot filter=rot text eol=crlf ident' >.gitattributes;",
    "printf 'cab\\r\\n$Id$\\r\\n' >>a.rot; printf 'ab\\r\\n' >b.rot"
)]
#[case::large("", "seq 200000 >a.rot; yes ab | head -100000 >b.rot")]
#[case::executable("", "echo cab >>a.rot; chmod +x a.rot")]
#[case::link_is_not_filtered("", "ln -s aabb l.rot")]
#[case::many("", "for i in $(seq 30); do echo ab$i >$i.rot; done")]
#[case::to_nothing("git config filter.rot.clean 'cat >/dev/null';", "echo cab >>a.rot; echo abba >b.rot")]
fn filter_commands(#[case] setting: &str, #[case] then: &str) {
    // Git applies another filter than before only to files that have changed.
    let first = format!("git init -q .; {ROT}; echo aabb >a.rot; commit; {setting} touch -d '2 seconds ago' a.rot");
    Scenario::new(&first, then).check();
}

/// A server for `filter.<name>.process`, gitattributes(5), as strict as Git LFS.
const SERVER: &str = r#"
mkdir -p $W/bin; cat >$W/bin/server <<'END'
import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def read():
    head = i.read(4)
    if not head: sys.exit(0)
    n = int(head, 16)
    return None if n == 0 else i.read(n - 4)
def lines():
    out = []
    while (p := read()) is not None:
        assert p.endswith(b"\n"), p
        out.append(p[:-1])
    return out
def send(*texts):
    for t in texts: o.write(b"%04x" % (len(t) + 4) + t)
    o.write(b"0000"); o.flush()
assert lines() == [b"git-filter-client", b"version=2"]
send(b"git-filter-server\n", b"version=2\n")
capabilities = lines(); assert b"capability=clean" in capabilities
send(b"capability=clean\n", b"capability=smudge\n")
open(sys.argv[1], "a").write("start\n")
while True:
    command = dict(l.split(b"=", 1) for l in lines())
    data = b""
    while (p := read()) is not None: data += p
    open(sys.argv[1], "ab").write(command[b"command"] + b" " + command[b"pathname"] + b"\n")
    if b"error" in command[b"pathname"]: send(b"status=error\n"); continue
    if b"abort" in command[b"pathname"]: send(b"status=abort\n"); continue
    if b"die" in command[b"pathname"]: sys.exit(1)
    data = data.translate(bytes.maketrans(b"ab", b"bc") if command[b"command"] == b"clean" else bytes.maketrans(b"bc", b"ab"))
    send(b"status=success\n")
    for at in range(0, len(data), 60000):
        piece = data[at:at + 60000]; o.write(b"%04x" % (len(piece) + 4) + piece)
    o.write(b"0000"); send()
END
git init -q .; git config filter.long.process "python3 -I -S $W/bin/server $W/home/log"; echo '*.long filter=long' >.gitattributes
"#;

#[rstest::rstest]
#[case::success("echo cab >>a.long; echo abba >b.long; seq 30000 >big.long")]
#[case::many("for i in $(seq 17); do echo ab$i >$i.long; done")]
#[case::error("echo ab >error.long; echo ab >fine.long")]
#[case::abort("echo ab >abort.long")]
#[case::death("echo ab >die.long; echo ab >fine.long")]
fn long_running_filters(#[case] then: &str) {
    // The server's log would be in the home, and grow with each save.
    let server = SERVER.replace("$W/home/log", "/dev/null");
    Scenario::new(&format!("{server}echo aabb >a.long; commit"), then).check();
}

#[test]
fn git_uses_the_server_of_these_tests() {
    let bench = Bench::new(&format!("{SERVER}echo aabb >a.long; commit"));
    assert!(bench.world.root().join("home/log").exists());
}

/// A server that refuses a file has answered: another one would say the same of it.
#[rstest::rstest]
#[case::optional("false")]
#[case::required("true")]
fn a_server_that_refuses_files_is_not_started_for_each(#[case] required: &str) {
    let log = tempfile::NamedTempFile::new().expect("made");
    let server = SERVER.replace("$W/home/log", &log.path().display().to_string());
    let bench = Bench::new(&format!("{server}git config filter.long.required {required}; commit"));
    std::fs::write(&log, "").expect("written");
    bench.run("for i in 1 2 3 4 5 6 7 8 9; do echo ab >error$i.long; done");
    bench.save_with(&Order::default());
    let log = std::fs::read_to_string(&log).expect("the server has written it");
    let starts = log.lines().filter(|line| *line == "start").count();
    assert!(log.contains("clean error9.long") && starts <= 3, "{log}");
}

#[test]
fn a_required_server_that_cannot_clean_is_named() {
    let server = SERVER.replace("$W/home/log", "/dev/null").replace("capability=clean\\n\", b\"", "");
    assert!(!server.contains("send(b\"capability=clean"), "{server}");
    let bench = Bench::new(&format!("{server}commit; git config filter.long.required true; echo ab >a.long"));
    let saved = bench.save_with(&Order::default());
    let unfiltered = saved.0["unfiltered"].to_string();
    assert!(unfiltered.contains("its server does not announce the capability 'clean'"), "{}", saved.0);
}

#[test]
fn a_required_filter_that_fails_costs_no_file() {
    let bench = Bench::new(&format!(
        "git init -q .; {ROT}; echo aabb >a.rot; commit; git config filter.rot.clean false; git config filter.rot.required true; echo new >>a.rot; echo b >b.rot"
    ));
    // Git would store nothing at all.
    let bench = bench.oracle("git config --unset filter.rot.clean; git config --unset filter.rot.required; git add -A; git config filter.rot.clean false; git config filter.rot.required true");
    let saved = bench.save_with(&Order::default());
    let blob = bench.git(&["cat-file", "blob", &format!("{}:b.rot", saved.id().expect("a checkpoint"))]);
    assert_eq!(blob, "b");
}

/// What the checkpoint's own attributes would not bring back is kept beside the tree.
#[rstest::rstest]
#[case::auto_crlf_of_lf("git init -q .; git config core.autocrlf true", "printf 'a\\nb\\n' >f", false)]
#[case::auto_crlf_of_crlf("git init -q .; git config core.autocrlf true", "printf 'a\\r\\nb\\r\\n' >f", true)]
#[case::eol_crlf_of_crlf("git init -q .; echo 'f text eol=crlf' >.gitattributes", "printf 'a\\r\\n' >f", false)]
#[case::auto_crlf_of_mixed("git init -q .; git config core.autocrlf true", "printf 'a\\r\\nb\\n' >f", true)]
#[case::input_of_crlf("git init -q .; git config core.autocrlf input", "printf 'a\\r\\n' >f", true)]
#[case::input_of_lf("git init -q .; git config core.autocrlf input", "printf 'a\\n' >f", false)]
#[case::binary("git init -q .; git config core.autocrlf true", "printf 'a\\n\\0' >f", false)]
#[case::ident_unexpanded("git init -q .; echo 'f ident' >.gitattributes", "printf '$Id$\\n' >f", true)]
#[case::ident_absent("git init -q .; echo 'f ident' >.gitattributes", "printf 'none\\n' >f", false)]
#[case::filter_both_ways(
    "git init -q .; git config filter.r.clean 'tr a b'; git config filter.r.smudge 'tr b a'; echo 'f filter=r' >.gitattributes",
    "echo aa >f",
    false
)]
#[case::filter_loses(
    "git init -q .; git config filter.r.clean 'tr a b'; git config filter.r.smudge 'tr b a'; echo 'f filter=r' >.gitattributes",
    "echo ab >f",
    true
)]
#[case::filter_one_way(
    "git init -q .; git config filter.r.clean 'grep -v secret'; echo 'f filter=r' >.gitattributes",
    "printf 'a\\nsecret\\n' >f",
    true
)]
#[case::smudge_fails(
    "git init -q .; git config filter.r.clean 'tr a b'; git config filter.r.smudge false; echo 'f filter=r' >.gitattributes",
    "echo aa >f",
    true
)]
#[case::plain("git init -q .", "printf 'a\\r\\nb\\n' >f", false)]
#[case::lfs_like(
    "git init -q .; git config filter.lfs.clean \"sed s/a/pointer/\"; git config filter.lfs.smudge false; git config filter.lfs.required true; echo 'f filter=lfs' >.gitattributes",
    "echo aa >f",
    false
)]
fn exact_bytes_are_kept_where_needed(#[case] first: &str, #[case] then: &str, #[case] is_kept: bool) {
    // Committed by git, so that its index says the file is clean.
    for commits in ["", "; commit"] {
        let bench = Bench::new(&format!("{first}; {then}{commits}"));
        let saved = bench.save_warm_and_cold();
        let raw = saved.id().map(|id| bench.side(id, "raw")).unwrap_or_default();
        if !is_kept {
            assert!(raw.is_empty(), "{raw:?}");
            continue;
        }
        let raw_id = bench.git(&["hash-object", "--no-filters", "f"]);
        assert_eq!(raw, [format!("f {raw_id}")], "after{commits}");
        assert_eq!(bench.save().id(), saved.id(), "nothing has changed");
        bench.run("printf 'other\\r\\n' >g; rm f");
        let without = bench.save_warm_and_cold();
        assert!(!bench.side(without.id().expect("a checkpoint"), "raw").iter().any(|line| line.starts_with("f ")));
    }
}

/// Bytes that differ where the stored content does not.
#[test]
fn a_change_of_exact_bytes_alone_is_a_change() {
    let bench = Bench::new("git init -q .; git config core.autocrlf input; printf 'a\\nb\\n' >f; commit");
    assert!(!bench.save_warm_and_cold().is_created());
    bench.run("printf 'a\\r\\nb\\r\\n' >f");
    let saved = bench.save_warm_and_cold();
    assert!(saved.is_created() && bench.side(saved.id().expect("a checkpoint"), "raw").len() == 1, "{saved:?}");
    bench.run("printf 'a\\nb\\n' >f");
    let back = bench.save_warm_and_cold();
    assert!(back.is_created(), "{back:?}");
    assert!(bench.side(back.id().expect("a checkpoint"), "raw").is_empty());
}

/// Rules that change what unchanged files are stored as.
#[rstest::rstest]
#[case::attributes_appear(
    "git init -q .; printf 'a\\r\\n' >a.txt; printf 'b\\r\\n' >u.txt; git add a.txt; git commit -qm x",
    "echo '*.txt text' >.gitattributes; touch a.txt u.txt"
)]
#[case::attributes_vanish(
    "git init -q .; echo '*.txt text' >.gitattributes; printf 'a\\r\\n' >a.txt; commit",
    "rm .gitattributes; touch a.txt"
)]
#[case::setting_changes("git init -q .; printf 'a\\r\\n' >u.txt", "git config core.autocrlf true; touch u.txt")]
fn rules_may_change(#[case] first: &str, #[case] then: &str) {
    Scenario::new(first, then).without_hints().check();
}

#[test]
fn attributes_that_change_decide_again_which_bytes_are_kept() {
    let bench = Bench::new(
        // Old enough that git, too, takes them as clean without reading.
        "git init -q .; printf 'a\\r\\n' >crlf; printf 'a\\n' >lf; touch -d '1 hour ago' *; sleep 0.05; git add -A; git commit -qm 1",
    );
    let kept = |script: &str| {
        bench.run(script);
        let saved = bench.save();
        let raw = bench.side(saved.id().expect("saved"), "raw");
        raw.iter().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert!(kept("echo x >other; sleep 0.05").is_empty());
    assert_eq!(kept("echo '* text eol=crlf' >.gitattributes"), [".gitattributes", "lf", "other"]);
    assert!(kept("rm .gitattributes").is_empty());
}

/// The sizes of many blobs are read from packs, with those that are deltas, and of those that are not packed.
#[test]
fn many_files_that_an_earlier_setting_converted_keep_their_bytes() {
    let world = crate::support::World::new();
    let sh = |script: &str| {
        let output = world.command("sh").args(["-ec", script]).current_dir(world.repo()).output().expect("sh runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    world.git(&["init", "-q", "."]);
    sh("seq 40 >text; for i in $(seq 300); do { cat text; echo $i; } >f$i; done; git add .; git commit -qm base
        git repack -qadf; git cat-file --batch-all-objects --batch-check='%(deltabase)' | grep -qv 0000
        for i in $(seq 301 310); do echo $i >f$i; done; git add .; git commit -qm more; rm f*
        git config core.autocrlf true; git checkout -q .; touch -d 2020-01-01 *; git update-index -q --refresh
        git config core.autocrlf false; test $(cat f* | grep -c \"$(printf '\\r')\") = $((300 * 41 + 10))");
    let sums = "sha1sum f* | sort";
    let before = sh(sums);
    let id = world.json(&["save", "--json", "--allow-empty"])["id"].as_str().expect("an id").to_owned();
    sh("rm f*; git checkout -q .");
    assert_ne!(sh(sums), before);
    world.done(&["restore", &id]);
    assert_eq!(sh(sums), before);
}
