use proptest::prelude::*;

use super::*;

fn asked(choice: &str, env: &[(&str, &str)]) -> Result<(usize, usize), String> {
    let value = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    parse(choice, &value).map_err(|error| error.to_string())
}

#[test]
fn the_shard_that_is_meant() {
    assert_eq!(asked("2/8", &[]), Ok((2, 8)));
    assert_eq!(asked("auto", &[("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", "4")]), Ok((3, 4)));
    assert_eq!(asked("auto", &[("CIRCLE_NODE_INDEX", "0"), ("CIRCLE_NODE_TOTAL", "4")]), Ok((1, 4)));
    let array = [
        ("SLURM_ARRAY_TASK_ID", "7"),
        ("SLURM_ARRAY_TASK_MIN", "3"),
        ("SLURM_ARRAY_TASK_STEP", "2"),
        ("SLURM_ARRAY_TASK_COUNT", "4"),
    ];
    assert_eq!(asked("auto", &array), Ok((3, 4)));
    assert_eq!(asked("auto/4", &array), Ok((3, 4)));
    assert!(asked("auto/5", &array).unwrap_err().contains("SLURM_ARRAY_TASK_ID is one of 4, not of 5"));
    let step = [("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")];
    assert_eq!(asked("auto", &step), Ok((2, 2)));
    assert!(
        asked("auto", &[&array[..], &step].concat()).unwrap_err().contains("both SLURM_PROCID and SLURM_ARRAY_TASK_ID")
    );
    // --array=1,4,7
    let list = |id| {
        [
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_MAX", "7"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ]
    };
    assert!(asked("auto", &list("4")).unwrap_err().contains("no plain range"));
    // what starts several within a job of another counts
    let nested = [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("PARALLEL_SEQ", "3")];
    assert_eq!(asked("auto/4", &nested), Ok((3, 4)));
    assert_eq!(asked("auto/6", &[("JOB_COMPLETION_INDEX", "5")]), Ok((6, 6)));
    assert_eq!(asked("auto/6", &[("PARALLEL_SEQ", "5")]), Ok((5, 6)));
}

#[test]
fn no_shard() {
    for (choice, said) in [
        ("3", "K/N is wanted"),
        ("0/3", "no shard 0 of 3"),
        ("4/3", "no shard 4 of 3"),
        ("x/3", "K is no number: `x`"),
        ("1/1000000000", "too many"),
        ("1/18446744073709551615", "too many"),
        ("1/", "N is no number: ``"),
        ("-1/3", "K is no number"),
        ("auto", "nothing in the environment"),
        ("auto/3", "nothing in the environment"),
    ] {
        let error = asked(choice, &[]).unwrap_err();
        assert!(error.contains(said) && error.contains(choice), "{error}");
    }
    assert!(asked("auto/3", &[("JOB_COMPLETION_INDEX", "18446744073709551615")]).is_err());
    assert!(asked("auto/3", &[("JOB_COMPLETION_INDEX", "3")]).unwrap_err().contains("no shard 4 of 3"));
}

fn load(name: &str, files: &[(&str, u64)]) -> Load {
    Load { name: name.to_owned(), files: files.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect() }
}

#[test]
fn a_tarball_stays_with_those_that_share_it() {
    let mut loads = Vec::new();
    for stack in ["x", "y", "z"] {
        loads.extend((0..6).map(|number| load(&format!("{stack}{number}"), &[(stack, 1 << 30)])));
    }
    let shares = share_out(&loads, 3);
    let of: BTreeSet<usize> = shares.iter().copied().collect();
    assert_eq!(of.len(), 3);
    assert!(shares.chunks(6).all(|stack| stack.iter().all(|share| *share == stack[0])));
}

proptest! {
    #[test]
    fn nothing_is_far_from_its_share(sizes in prop::collection::vec(0u64..(64 << 20), 40..120), of in 1usize..9) {
        let loads: Vec<Load> = sizes.iter().enumerate().map(|(n, size)| load(&n.to_string(), &[(&n.to_string(), *size)])).collect();
        let shares = share_out(&loads, of);
        let weight = |shard: usize| loads.iter().zip(&shares).filter(|(_, s)| **s == shard).map(|(l, _)| l.whole()).sum::<u64>();
        let most = (0..of).map(weight).max().unwrap();
        let mean = loads.iter().map(Load::whole).sum::<u64>() / of as u64;
        prop_assert!(most <= mean + (66 << 20));
        // one more moves few of the others
        let mut more = loads.clone();
        more.push(load("new", &[]));
        let moved = shares.iter().zip(share_out(&more, of)).filter(|(a, b)| *a != b).count();
        prop_assert!(moved <= loads.len() / 2, "{moved} of {}", loads.len());
    }
}
