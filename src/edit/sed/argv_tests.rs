use super::*;

fn parse(argv: &[&str]) -> Invocation {
    Invocation::parse(&words(argv), false).expect("sed would start")
}

fn scripts(call: &Invocation) -> Vec<&str> {
    call.pieces.iter().map(|p| std::str::from_utf8(&p.text).expect("text")).collect()
}

fn files(call: &Invocation) -> Vec<&str> {
    call.files.iter().map(|f| std::str::from_utf8(&f.name).expect("text")).collect()
}

#[test]
fn first_operand_is_the_script_and_knows_all_flags() {
    let call = parse(&["sed", "s/(a)/b/", "f", "-E", "-i", "g"]);
    assert_eq!(scripts(&call), ["s/(a)/b/"]);
    assert_eq!(call.pieces[0].kind, PieceKind::Operand);
    assert!(call.pieces[0].flags.extended);
    assert_eq!(files(&call), ["f", "g"]);
    assert_eq!(call.files.iter().map(|f| f.index).collect::<Vec<_>>(), [2, 5]);
    assert!(!call.has_late_flags());
}

#[test]
fn expression_knows_only_the_flags_before_it() {
    let call = parse(&["sed", "-e", "a", "-E", "-eb", "-z", "--expression=c", "--exp", "d", "f"]);
    assert_eq!(scripts(&call), ["a", "b", "c", "d"]);
    let at: Vec<_> = call.pieces.iter().map(|p| (p.index, p.offset)).collect();
    assert_eq!(at, [(2, 0), (4, 2), (6, 13), (8, 0)]);
    let seen: Vec<_> = call.pieces.iter().map(|p| (p.flags.extended, p.flags.null_data)).collect();
    assert_eq!(seen, [(false, false), (true, false), (true, true), (true, true)]);
    assert!(call.has_late_flags());
}

#[test]
fn clusters() {
    let call = parse(&["sed", "-nie", "p", "f"]);
    assert_eq!(call.in_place.as_deref(), Some(&b"e"[..]));
    assert_eq!(scripts(&call), ["p"]);
    let call = parse(&["sed", "-i", "-nre", "p", "-l", "5", "-l7", "-sub", "f"]);
    assert_eq!(call.in_place.as_deref(), Some(&b""[..]));
    assert!(call.quiet && call.separate && call.unbuffered && call.flags.extended);
    assert_eq!(files(&call), ["f"]);
}

#[test]
fn last_in_place_wins() {
    let call = parse(&["sed", "-i.orig", "-e", "p", "--in-place", "f"]);
    assert_eq!(call.in_place.as_deref(), Some(&b""[..]));
    let call = parse(&["sed", "-i", "-e", "p", "--in-pl=.bak", "f"]);
    assert_eq!(call.in_place.as_deref(), Some(&b".bak"[..]));
}

#[test]
fn double_dash_and_single_dash() {
    let call = parse(&["sed", "-e", "p", "-", "--", "-n", "--x"]);
    assert_eq!(files(&call), ["-", "-n", "--x"]);
    assert!(!call.quiet);
}

#[test]
fn posixly_correct_stops_at_the_first_operand() {
    let call = Invocation::parse(&words(["sed", "p", "-n", "f"]), true).expect("sed would start");
    assert_eq!(files(&call), ["-n", "f"]);
}

#[test]
fn abbreviations() {
    assert!(parse(&["sed", "--qu", "p"]).quiet);
    assert!(parse(&["sed", "--sil", "p"]).quiet);
    assert!(parse(&["sed", "--zero", "p"]).flags.null_data);
    let error = |argv: &[&str]| Invocation::parse(&words(argv), false).expect_err("sed would refuse").to_string();
    assert_eq!(error(&["sed", "--s", "p"]), "ambiguous option --s");
    assert_eq!(error(&["sed", "--f", "p"]), "ambiguous option --f");
    assert_eq!(error(&["sed", "--frob", "p"]), "unknown option --frob");
    assert_eq!(error(&["sed", "-nx", "p"]), "unknown option -x");
    assert_eq!(error(&["sed", "--quiet=1", "p"]), "option --quiet takes no argument");
    assert_eq!(error(&["sed", "-n", "-e"]), "option -e wants an argument");
    assert_eq!(error(&["sed", "-n"]), "no script");
    assert_eq!(error(&["sed", "--vers"]), "--version asks for a text only, nothing is edited");
}

#[test]
fn backups() {
    let path = |suffix: &str, file: &str| {
        parse(&["sed", &format!("-i{suffix}"), "p"]).backup_path(file.as_bytes()).map(|p| p.display().to_string())
    };
    assert_eq!(path("", "a/b"), None);
    assert_eq!(path("*", "a/b"), None);
    assert_eq!(path(".bak", "a/b").as_deref(), Some("a/b.bak"));
    assert_eq!(path("bak/*", "a/b").as_deref(), Some("bak/a/b"));
    assert_eq!(path("*_*x", "b").as_deref(), Some("b_bx"));
    assert_eq!(parse(&["sed", "p", "f"]).backup_path(b"f"), None);
}
