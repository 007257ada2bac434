//! One partition goes from guard to guard.

use rebalance_guard::{Config, Export, Resume};

use crate::metadata::telling;
use crate::strings::string;
use crate::support::{World, small, tick};
use crate::words::{offset, partition};

fn moved(from: &mut World, to: &mut World) {
    let mut room = [0; 256];
    let export = from.guard.export(partition("p0"), &mut room).expect("owned");
    from.lost("p0");
    assert!(to.guard.import(tick(0), Some(7), partition("p0"), export).is_ok());
}

#[test]
fn the_other_guard_goes_on_where_this_one_was() {
    let (mut from, mut to) = (World::with(telling()), World::with(telling()));
    from.assign("p0@100").finish("p0:100 p0:101");
    from.run("p0:102");
    from.finish("p0:103");
    moved(&mut from, &mut to);
    assert_eq!(to.mark("p0"), 102);
    assert_eq!(to.outputs(), [format!("commit p0=102 +{}", string(102, &[103]))]);
    assert_eq!(to.admit("p0:102"), "run");
    assert_eq!(to.admit("p0:103"), "skip: carried");
    assert_eq!(from.admit("p0:102"), "refuse: not owned");
}

#[test]
fn what_the_group_holds_already_is_not_committed_again() {
    let (mut from, mut to) = (World::with(telling()), World::with(telling()));
    from.assign("p0@100").finish("p0:100").commit_all();
    moved(&mut from, &mut to);
    assert_eq!((to.mark("p0"), to.outputs()), (101, Vec::new()));
}

#[test]
fn each_kind_of_start_is_exported_as_what_it_is() {
    let cases = [
        ("p0@?", Resume::Unknown),
        ("p0@none", Resume::Empty(None)),
        ("p0@none:50", Resume::Empty(Some(offset(50)))),
        ("p0@at:50", Resume::At(offset(50))),
    ];
    for (start, resume) in cases {
        let mut world = World::with(Config { partitions: 1, ..small() });
        world.assign(start);
        let export = world.guard.export(partition("p0"), &mut []);
        assert_eq!(export, Some(Export { resume, group: None }), "{start}");
    }
    let world = World::new();
    assert_eq!(world.guard.export(partition("p0"), &mut []), None);
}

#[test]
fn once_the_group_holds_an_offset_every_start_is_exported_as_committed() {
    for start in ["p0@none:50", "p0@at:50"] {
        let mut world = World::with(Config { partitions: 1, ..small() });
        world.assign(start).finish("p0:50").commit_all();
        let export = world.guard.export(partition("p0"), &mut []);
        let resume = Resume::committed(offset(51));
        assert_eq!(export, Some(Export { resume, group: Some(offset(51)) }), "{start}");
    }
}
