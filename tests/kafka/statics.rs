//! Static membership.

use std::time::Duration;

use rebalance_guard_host::gateway::{Event, GatewayError, Protocol};
use rebalance_guard_tests::kafka::{Member, eventually, unique};

use super::Stage;

/// B104 (twmb/franz-go#479): of two processes with one id the older is fenced, and ends.
#[test]
fn a_classic_member_whose_instance_id_is_taken_ends_and_says_what_to_change() {
    let Some(stage) = Stage::new("twins", 2) else { return };
    stage.produce(0, 20);
    let id = unique("instance");
    let twin = |name: &str| {
        let mut settings = stage.settings(Protocol::Cooperative, name);
        settings.instance_id = Some(id.clone());
        Member::start(settings)
    };
    let older = twin("older");
    stage.wait_for_effects(20);
    let newer = twin("newer");
    eventually("the older ends", || older.has_ended());
    let lost = older.count(|event| matches!(event, Event::EverythingLost { .. }));
    let error = older.ended().expect_err("fatal");
    assert!(matches!(error, GatewayError::Fatal { .. }), "{error}");
    assert!(error.to_string().contains("--instance-id"), "{error}");
    assert_eq!(lost, 1);
    stage.produce(20, 20);
    stage.assert_all_took_effect_once(40);
    newer.leave();
    assert_eq!(stage.committed(), stage.log_ends());
}

/// Under KIP-848 a restart inside the dead process's session is refused fatally; a
/// new client gets in when the broker has given the old one up.
#[test]
fn a_kip_848_member_restarted_inside_its_own_session_waits_it_out() {
    let Some(stage) = Stage::new("restart", 2) else { return };
    stage.produce(0, 20);
    let id = unique("instance");
    let killed = stage.process(Protocol::Consumer, "killed", &[&format!("instance={id}")]);
    stage.wait_for_effects(20);
    killed.signal("-KILL");
    let mut settings = stage.settings(Protocol::Consumer, "restarted");
    settings.instance_id = Some(id);
    let restarted = Member::start(settings);
    stage.produce(20, 20);
    stage.assert_all_took_effect_once(40);
    let refused = |event: &Event| matches!(event, Event::EverythingLost { .. });
    assert!(restarted.count(refused) >= 1, "it was refused at first: {:?}", restarted.events());
    restarted.leave();
    assert_eq!(stage.committed(), stage.log_ends());
}

/// A classic static member comes back to its partitions; the group does not even notice.
#[test]
fn a_classic_member_killed_and_restarted_under_its_id_goes_on_where_it_was() {
    let Some(stage) = Stage::new("static", 2) else { return };
    let id = unique("instance");
    stage.ledger.slow_down(Duration::from_millis(5));
    let killed = stage.process(Protocol::Eager, "killed", &[&format!("instance={id}")]);
    stage.produce(0, 400);
    eventually("it works", || stage.ledger.effects() > 50);
    killed.signal("-KILL");
    let restarted = stage.process(Protocol::Eager, "restarted", &[&format!("instance={id}")]);
    stage.assert_all_took_effect_once(400);
    assert_eq!(restarted.leave(), Some(0));
    assert_eq!(stage.committed(), stage.log_ends());
    // Same generation, two processes: the second half of the token orders them.
    let calls = stage.ledger.calls();
    let token_of = |name: &str| calls.iter().find(|call| call.member == name).map(|c| c.token);
    let (old, new) = (token_of("killed").expect("calls"), token_of("restarted").expect("calls"));
    assert!(new > old, "{new:?} is above {old:?}");
    assert_eq!(stage.ledger.fenced(), []);
}
