use std::sync::Arc;

use rebalance_guard::Partition;

use super::*;

fn record() -> OwnedRecord {
    OwnedRecord {
        topic: Arc::from("orders"),
        partition: Partition::new(0, 3),
        offset: 41,
        key: Some(b"customer-7".to_vec()),
        payload: Some(br#"{"order":"A-1"}"#.to_vec()),
        headers: Vec::new(),
        leader_epoch: None,
        timestamp_ms: None,
    }
}

fn with_payload(payload: &str) -> OwnedRecord {
    OwnedRecord { payload: Some(payload.as_bytes().to_vec()), ..record() }
}

fn key(template: &str, record: &OwnedRecord) -> Result<String, String> {
    let template = KeyTemplate::parse(template).expect("a template");
    template.evaluate(record).map_err(|no_key| no_key.why)
}

fn refusal(template: &str) -> (usize, String) {
    let error = KeyTemplate::parse(template).expect_err("no template");
    assert!(!error.remedy.is_empty());
    (error.column, error.what)
}

#[test]
fn the_default_names_the_place_of_the_record() {
    let template = KeyTemplate::default();
    assert_eq!(template.to_string(), "{topic}/{partition}/{offset}");
    assert_eq!(template.evaluate(&record()), Ok("orders/3/41".to_owned()));
}

#[test]
fn a_lone_part_is_the_key_as_it_is() {
    let record = with_payload(r#"{"order":"50% of a:b/c"}"#);
    assert_eq!(key("{json:/order}", &record), Ok("50% of a:b/c".to_owned()));
    assert_eq!(key("order-{json:/order}", &record), Ok("order-50% of a:b/c".to_owned()));
}

#[test]
fn joined_parts_cannot_be_mistaken_for_each_other() {
    let template = "{json:/a}:{json:/b}";
    let one = key(template, &with_payload(r#"{"a":"a","b":"b:c"}"#));
    let other = key(template, &with_payload(r#"{"a":"a:b","b":"c"}"#));
    assert_eq!(one, Ok("a:b%3Ac".to_owned()));
    assert_eq!(other, Ok("a%3Ab:c".to_owned()));
    // What looks escaped already is not what was escaped.
    let looks = key(template, &with_payload(r#"{"a":"a%3Ab","b":"c"}"#));
    assert_eq!(looks, Ok("a%253Ab:c".to_owned()));
}

#[test]
fn every_pair_of_values_gets_a_key_of_its_own() {
    let values = ["a", ":", "a:", ":a", "%", "%3A", "x:", "-", ":-", "-:", "a:-b", "3A", "é", "%é"];
    for template in ["{json:/a}:{json:/b}", "<{json:/a}x:-y{json:/b}>", "{json:/a}é-{json:/b}"] {
        let mut keys = std::collections::HashMap::new();
        for pair in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
            let payload = serde_json::json!({ "a": pair.0, "b": pair.1 }).to_string();
            let key = key(template, &with_payload(&payload)).expect("a key");
            assert_eq!(keys.insert(key, pair), None, "{template}");
        }
        assert_eq!(keys.len(), values.len() * values.len());
    }
}

#[test]
fn parts_without_a_separator_are_refused() {
    let nothing = "nothing tells the end of one part from the start of the next";
    assert_eq!(refusal("{key}{offset}"), (6, nothing.to_owned()));
    let letters = "`and2` may occur in a value, so it cannot end one";
    assert_eq!(refusal("{key}and2{offset}"), (6, letters.to_owned()));
    let percent = "`%` may occur in a value, so it cannot end one";
    assert_eq!(refusal("{key}%{offset}"), (6, percent.to_owned()));
}

#[test]
fn a_template_that_is_one_key_for_many_records_is_refused() {
    let same = "every record would get the same key, and all but the first would be skipped";
    for template in ["", "orders", "{topic}", "{topic}/{partition}", "{{key}}"] {
        assert_eq!(refusal(template), (1, same.to_owned()), "{template}");
    }
    let repeats = "an offset repeats in every partition of every topic";
    for template in ["{offset}", "{topic}/{offset}", "{partition}/{offset}"] {
        assert_eq!(refusal(template), (1, repeats.to_owned()), "{template}");
    }
}

#[test]
fn errors_name_the_column_and_the_remedy() {
    let error = KeyTemplate::parse("order-{jsn:/id}").expect_err("no such part");
    assert_eq!(
        error.to_string(),
        "key template, column 7: there is no part `{jsn:/id}`; the parts are {key}, {header:NAME}, \
         {json:/pointer}, {topic}, {partition} and {offset}"
    );
    assert_eq!(refusal("é:{key"), (3, "this `{` is never closed".to_owned()));
    assert_eq!(refusal("{key:{offset}"), (1, "this `{` is never closed".to_owned()));
    assert_eq!(refusal("{key}:}x"), (7, "this `}` closes nothing".to_owned()));
    assert_eq!(refusal("{}"), (1, "there is no part `{}`".to_owned()));
    assert_eq!(refusal("{header:}"), (1, "there is no part `{header:}`".to_owned()));
    assert_eq!(refusal("{key:x}"), (1, "there is no part `{key:x}`".to_owned()));
    assert_eq!(refusal("{Key}"), (1, "there is no part `{Key}`".to_owned()));
}

#[test]
fn pointers_are_checked_at_parse() {
    let start = "`order` is no JSON pointer: it does not begin with `/`";
    assert_eq!(refusal("{json:order}"), (7, start.to_owned()));
    let tilde = "`/a~b` is no JSON pointer: `~` stands alone";
    assert_eq!(refusal("x{json:/a~b}"), (10, tilde.to_owned()));
    assert_eq!(refusal("{json:/a~}").0, 9);
}

#[test]
fn braces_as_text_are_doubled() {
    assert_eq!(key("{{{key}}}", &record()), Ok("{customer-7}".to_owned()));
}

#[test]
fn pointers_follow_names_and_indices() {
    let payload = r#"{"":1,"a/b":{"m~n":[10,{"x":"deep"},[]]},"0":"zero","a":[["in"]]}"#;
    let record = with_payload(payload);
    assert_eq!(key("{json:/a~1b/m~0n/1/x}", &record), Ok("deep".to_owned()));
    assert_eq!(key("{json:/a~1b/m~0n/0}", &record), Ok("10".to_owned()));
    assert_eq!(key("{json:/0}", &record), Ok("zero".to_owned()));
    assert_eq!(key("{json:/a/0/0}", &record), Ok("in".to_owned()));
    assert_eq!(key("{json:/}", &record), Ok("1".to_owned()));
    assert_eq!(key("{json:}", &with_payload(" \"whole\" ")), Ok("whole".to_owned()));
    for missing in ["/b", "/a/1", "/a/00", "/a/-", "/a/+0", "/a/0/0/x", "/0/x", "//x"] {
        let template = format!("{{json:{missing}}}");
        let why = format!("{template} is missing in this payload");
        assert_eq!(key(&template, &record), Err(why));
    }
}

#[test]
fn numbers_keep_their_exact_text() {
    for number in ["9007199254740993", "-0", "1.10", "1e400", "123456789012345678901234567890"] {
        let record = with_payload(&format!(r#"{{"n": {number} }}"#));
        assert_eq!(key("{json:/n}", &record), Ok(number.to_owned()));
    }
}

#[test]
fn truth_values_and_escapes_are_text() {
    let record =
        with_payload(r#"{"t":true,"f":false,"s":"a\u00e9\n\"\ud83d\ude00","k\u0065y":"v"}"#);
    assert_eq!(key("{json:/t}", &record), Ok("true".to_owned()));
    assert_eq!(key("{json:/f}", &record), Ok("false".to_owned()));
    assert_eq!(key("{json:/s}", &record), Ok("aé\n\"😀".to_owned()));
    assert_eq!(key("{json:/key}", &record), Ok("v".to_owned()));
}

#[test]
fn what_names_nothing_is_no_key() {
    let cases = [
        (r#"{"v":null}"#, "{json:/v} is null in this payload"),
        (r#"{"v":{"a":1}}"#, "{json:/v} is an object, which names nothing"),
        (r#"{"v":[1]}"#, "{json:/v} is an array, which names nothing"),
        (r#"{"v":""}"#, "{json:/v} is blank"),
        (r#"{"v":" \t\u00a0"}"#, "{json:/v} is blank"),
        (r#"{"w":1}"#, "{json:/v} is missing in this payload"),
    ];
    for (payload, why) in cases {
        assert_eq!(key("{json:/v}", &with_payload(payload)), Err(why.to_owned()), "{payload}");
    }
    let joined = key("{topic}:{json:/v}", &with_payload(r#"{"v":""}"#));
    assert_eq!(joined, Err("{json:/v} is blank".to_owned()), "text around it names nothing either");
}

#[test]
fn payloads_that_are_no_json_are_no_key() {
    let broken: [&[u8]; 9] = [
        b"",
        b"{",
        b"{\"v\":1",
        b"{\"v\":1}x",
        b"{\"v\":01}",
        b"\xff",
        b"{\"v\":\"\xff\"}",
        b"{\"v\":\"\\ud800\"}",
        b"{\"w\":\"\xff\",\"v\":1}",
    ];
    for payload in broken {
        let record = OwnedRecord { payload: Some(payload.to_vec()), ..record() };
        let why = key("{json:/v}", &record).expect_err("no key");
        assert!(why.starts_with("{json:/v} cannot be read: "), "{why}");
    }
    // B139 (tulios/kafkajs#185)
    let tombstone = OwnedRecord { payload: None, ..record() };
    assert_eq!(key("{json:/v}", &tombstone), Err("{json:/v} has no payload to look in".to_owned()));
    assert_eq!(key("{key}", &tombstone), Ok("customer-7".to_owned()));
}

#[test]
fn a_name_that_occurs_twice_is_ambiguous() {
    let twice = key("{json:/v}", &with_payload(r#"{"v":"a","v":"b"}"#)).expect_err("no key");
    assert!(twice.contains("`v` occurs twice"), "{twice}");
    let elsewhere = with_payload(r#"{"w":1,"w":2,"v":"a"}"#);
    assert_eq!(key("{json:/v}", &elsewhere), Ok("a".to_owned()));
}

#[test]
fn deep_payloads_do_no_harm() {
    for open in ["[", "{\"v\":"] {
        let record = with_payload(&open.repeat(200_000));
        assert!(key("{json:/v}", &record).is_err());
    }
    let deep = format!(r#"{{"w":{}{},"v":"a"}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(key("{json:/v}", &with_payload(&deep)), Ok("a".to_owned()));
}

#[test]
fn headers_count_by_their_last() {
    let header = |value: Option<&[u8]>| ("id".to_owned(), value.map(<[u8]>::to_vec));
    let with = |headers: Vec<_>| OwnedRecord { headers, ..record() };
    let last = with(vec![header(Some(b"old")), header(Some(b"new"))]);
    assert_eq!(key("{header:id}", &last), Ok("new".to_owned()));
    let cases = [
        (vec![], "{header:id} is missing in this record"),
        (vec![header(Some(b"old")), header(None)], "{header:id} is null in this record"),
        (vec![header(Some(b"\xff"))], "{header:id} is not UTF-8 in this record"),
        (vec![header(Some(b""))], "{header:id} is blank"),
    ];
    for (headers, why) in cases {
        assert_eq!(key("{header:id}", &with(headers)), Err(why.to_owned()));
    }
    assert_eq!(key("{header:ID}", &last), Err("{header:ID} is missing in this record".to_owned()));
}

#[test]
fn record_keys_of_any_bytes_stay_apart() {
    let with = |bytes: &[u8]| OwnedRecord { key: Some(bytes.to_vec()), ..record() };
    assert_eq!(key("{key}", &with(b"\xff\x00a")), Ok("%FF\0a".to_owned()));
    assert_eq!(key("{key}", &with(b"%FF\x00a")), Ok("%25FF\0a".to_owned()));
    assert_eq!(key("{key}", &with("é".as_bytes())), Ok("é".to_owned()));
    assert_eq!(key("{key}:{offset}", &with(b"a:%")), Ok("a%3A%2525:41".to_owned()));
    // B130 (confluentinc/parallel-consumer#318): a missing key is an answer, not an accident.
    let none = OwnedRecord { key: None, ..record() };
    assert_eq!(key("{key}", &none), Err("{key} is null in this record".to_owned()));
    assert_eq!(key("{key}", &with(b"")), Err("{key} is blank".to_owned()));
}
