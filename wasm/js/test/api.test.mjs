import assert from "node:assert/strict";
import { test } from "node:test";

import { FIXED, RebalanceGuard, refusal } from "./package.mjs";

const BIG = 9007199254740993n;

function assigned(more = {}) {
  const guard = new RebalanceGuard({ ...FIXED, ...more });
  guard.assign(0, { generation: 7, partitions: [{ partition: 3, committed: BIG }] });
  return guard;
}

/** Everything that can be read, to see that nothing changed. */
function seen(guard) {
  return [guard.snapshot(), guard.settings()];
}

test("an offset above 2^53 goes in and comes out exactly", () => {
  const guard = assigned();
  const { verdict, ticket } = guard.admit(1, { partition: 3, offset: BIG, key: "k" });
  assert.equal(verdict, "run");
  assert.equal(guard.complete(2, ticket), "done");
  const outputs = guard.outputs();
  assert.deepEqual(outputs, [
    {
      kind: "commit",
      topic: "t",
      partition: 3,
      offset: BIG + 1n,
      assignment: 1n,
      group: 7n,
      token: "7.1",
      metadata: "",
    },
  ]);
  assert.deepEqual(guard.outputs(), []);
});

test("a ticket is plain, has its numbers as BigInts and is answered once", () => {
  const guard = assigned();
  const { ticket } = guard.admit(1, { partition: 3, offset: BIG, key: "k" });
  assert.deepEqual(
    { ...ticket, bytes: ticket.bytes.length },
    { kind: "run", attempt: 0, assignment: 1n, sequence: ticket.sequence, bytes: 24 },
  );
  assert.equal(typeof ticket.sequence, "bigint");
  assert.equal(guard.isLive(structuredClone(ticket)), true);
  assert.equal(guard.complete(2, ticket.bytes), "done");
  assert.equal(guard.complete(2, ticket), "stale");
  assert.equal(guard.isLive(ticket), false);
});

test("a Number that may have lost digits is refused, whatever the field", () => {
  const guard = assigned();
  const before = seen(guard);
  const record = (offset) => () => guard.admit(1, { partition: 3, offset, key: "k" });
  assert.equal(refusal(record(9007199254740992)), "not_exact");
  assert.equal(refusal(record(0.5)), "not_exact");
  assert.equal(refusal(record(NaN)), "not_exact");
  assert.equal(refusal(record(Infinity)), "not_exact");
  assert.equal(refusal(record(-1)), "range");
  assert.equal(refusal(record(-1n)), "range");
  assert.equal(refusal(record(2n ** 63n)), "range");
  assert.equal(refusal(record(2n ** 64n)), "range");
  assert.equal(refusal(record("1")), "type");
  assert.equal(refusal(record(undefined)), "missing");
  assert.equal(refusal(() => guard.tick(2 ** 53)), "not_exact");
  assert.equal(refusal(() => guard.tick(2n ** 62n + 1n)), "range");
  assert.equal(refusal(() => new RebalanceGuard({ ...FIXED, hashKey: [2 ** 53, 0] })), "not_exact");
  assert.deepEqual(seen(guard), before);
});

test("a message says what to do", () => {
  const guard = assigned();
  assert.throws(() => guard.admit(1, { partition: 3, offset: 2 ** 53, key: "k" }), {
    name: "Error",
    code: "not_exact",
    message:
      "`offset` is the Number 9007199254740992, which is no whole number up to 2^53 - 1 and " +
      "may have lost digits: give a BigInt",
  });
  assert.throws(() => guard.rewind(1, { topic: "u", partition: 3, offset: 0 }), {
    code: "not_active",
    message:
      "partition 3 of topic (never assigned) is not owned or being handed over: " +
      "it cannot be rewound",
  });
  assert.throws(() => new RebalanceGuard({ ...FIXED, commitCount: 0 }), {
    code: "config",
    message: "`commitCount` must be at least 1",
  });
});

test("a wrong argument leaves everything as it was", () => {
  const guard = assigned();
  const before = seen(guard);
  const codes = [
    () => guard.assign(5, { partitions: [{ topic: "new", partition: 0, committed: 1, offset: 1 }] }),
    () => guard.assign(5, { partitions: {} }),
    () => guard.assign(5, { partitions: [{ topic: "x".repeat(250), partition: 0 }] }),
    () => guard.admit(5, { partition: 3, offset: 1, keys: "typo" }),
    () => guard.revoke(5, { partitions: [{ partition: 3 }] }),
    () => guard.lost(5, {}),
    () => guard.complete(5, { bytes: new Uint8Array(3) }),
    () => guard.commitAnswered(5, { partition: 3, assignment: 1, offset: 1, result: "ok" }),
    () => guard.commitAnswered(5, { partition: 3, assignment: 0, offset: 1, result: "stored" }),
    () => guard.admitBatch(5, [{ partition: 3, offset: BIG, key: "k" }, { partition: 3 }]),
  ].map(refusal);
  assert.deepEqual(codes, [
    "ambiguous",
    "type",
    "topic_name",
    "unknown_field",
    "ambiguous",
    "ambiguous",
    "ticket",
    "type",
    "range",
    "missing",
  ]);
  assert.deepEqual(seen(guard), before);
});

test("a refused assign leaves neither partitions nor names behind", () => {
  const guard = new RebalanceGuard({ ...FIXED, partitions: 1 });
  const partitions = [{ topic: "a", partition: 0 }, { topic: "b", partition: 0 }];
  assert.equal(refusal(() => guard.assign(0, { partitions })), "partitions_full");
  assert.deepEqual(guard.owned(), []);
  assert.equal(guard.counters().inputsRefused, 1n);
  guard.assign(0, { partitions: [{ topic: "b", partition: 0 }] });
  assert.deepEqual(guard.owned().map(({ topic, partition }) => [topic, partition]), [["b", 0]]);
});

// B140 (rustwasm/wasm-bindgen#1578)
test("a call from inside another finds the guard free", () => {
  const guard = assigned();
  let inner;
  const record = {
    partition: 3,
    get offset() {
      inner = guard.admit(1, { partition: 3, offset: BIG, key: "inner" }).verdict;
      return BIG + 1n;
    },
    key: "outer",
  };
  assert.equal(guard.admit(1, record).verdict, "run");
  assert.equal(inner, "run");
  const thrower = { get partition() { throw new RangeError("mine"); } };
  assert.throws(() => guard.progress(thrower), { name: "RangeError", message: "mine" });
  assert.equal(guard.inFlight(), 2);
});

test("keys are bytes or the UTF-8 of a string", () => {
  const guard = assigned();
  const admit = (offset, key) => guard.admit(1, { partition: 3, offset, key });
  assert.equal(admit(BIG, "é").verdict, "run");
  const again = admit(BIG + 1n, new Uint8Array([0xc3, 0xa9]));
  assert.deepEqual(again, { verdict: "skip", why: "duplicate_in_flight" });
  assert.equal(admit(BIG + 2n, null).why, "no_usable_key");
  assert.equal(refusal(() => admit(BIG + 3n, 5)), "type");
});

test("names and partitions are never glued together", () => {
  const guard = new RebalanceGuard({ ...FIXED, topic: undefined });
  guard.assign(0, {
    partitions: [
      { topic: "a-1", partition: 2, committed: 5 },
      { topic: "a", partition: 12, committed: 6 },
    ],
  });
  assert.equal(guard.progress({ topic: "a-1", partition: 2 }).mark, 5n);
  assert.equal(guard.progress({ topic: "a", partition: 12 }).mark, 6n);
  assert.equal(guard.progress({ topic: "a-1", partition: 12 }), null);
  assert.equal(refusal(() => guard.progress({ partition: 12 })), "missing");
});

test("a hand-over fences, drains, commits and is told in the journal", () => {
  const guard = assigned();
  const first = guard.admit(1, { partition: 3, offset: BIG, key: "k" });
  guard.revoke(2, { partitions: [{ partition: 3 }], drain: 100 });
  const refused = guard.admit(3, { partition: 3, offset: BIG + 1n, key: "l" });
  assert.deepEqual(refused, { verdict: "refuse", why: "fenced", fenced: "draining" });
  assert.equal(guard.progress({ partition: 3 }).deadline, 102n);
  guard.complete(4, first.ticket);
  const [sealed, commit] = guard.outputs();
  assert.deepEqual(sealed, {
    kind: "sealed", topic: "t", partition: 3, assignment: 1n,
    ended: "drained", mark: BIG + 1n, left: 0,
  });
  const { partition, assignment, offset } = commit;
  const stored = { partition, assignment, offset, result: "stored" };
  assert.equal(guard.commitAnswered(5, stored), "done");
  assert.deepEqual(guard.waiting(), { why: "revoked", since: 5n });
  const events = guard.journal().map(({ event }) => event);
  assert.deepEqual(events, ["assigned", "revoked", "refused", "sealed", "released"]);
});

test("failures come back as retries, then as dead letters", () => {
  const guard = assigned({ attemptsMax: 2, backoff: 10 });
  const { ticket } = guard.admit(1, { partition: 3, offset: BIG, key: "k" });
  guard.fail(2, ticket);
  assert.equal(guard.pollTimeout(), 12n);
  guard.tick(12);
  const [retry] = guard.outputs();
  assert.deepEqual([retry.kind, retry.offset, retry.ticket.attempt], ["retry", BIG, 1]);
  guard.fail(13, retry.ticket, { permanent: true });
  const [dead] = guard.outputs();
  assert.deepEqual([dead.kind, dead.why, dead.ticket.kind], ["dead_letter", "permanent", "dead_letter"]);
  assert.equal(guard.deadLettered(14, dead.ticket), "done");
  assert.equal(guard.outputs()[0].offset, BIG + 1n);
});

test("metadata is committed, and read by the next owner", () => {
  const guard = assigned();
  guard.admit(1, { partition: 3, offset: BIG, key: "a" });
  guard.complete(2, guard.admit(1, { partition: 3, offset: BIG + 1n, key: "b" }).ticket);
  const { offset, metadata } = guard.outputs().find(({ kind }) => kind === "commit");
  assert.equal(offset, BIG);
  const next = new RebalanceGuard(FIXED);
  next.assign(0, { partitions: [{ partition: 3, committed: offset, metadata }] });
  assert.equal(next.admit(1, { partition: 3, offset, key: "a" }).verdict, "run");
  const carried = next.admit(1, { partition: 3, offset: offset + 1n, key: "b" });
  assert.deepEqual(carried, { verdict: "skip", why: "carried" });
});

test("a snapshot goes on where it was taken, and no damaged one is taken", () => {
  const guard = assigned();
  const { ticket } = guard.admit(1, { partition: 3, offset: BIG, key: "k" });
  const bytes = guard.snapshot();
  const next = RebalanceGuard.restore(2, guard.settings(), bytes);
  assert.equal(next.complete(2, ticket), "done");
  assert.equal(next.outputs()[0].offset, BIG + 1n);
  for (let at = 0; at < bytes.length; at += 1) {
    const damaged = bytes.slice();
    damaged[at] ^= 1;
    assert.equal(refusal(() => RebalanceGuard.restore(2, FIXED, damaged)), "snapshot", `byte ${at}`);
  }
  assert.equal(refusal(() => RebalanceGuard.restore(2, { ...FIXED, lease: 1 }, bytes)), "snapshot");
});

test("settings have the product's defaults, and identities of their own", () => {
  const [one, two] = [new RebalanceGuard(), new RebalanceGuard()].map((guard) => guard.settings());
  assert.deepEqual([one.partitions, one.lease, one.keyAge, one.metadataMax], [64, 270000n, null, 3072]);
  assert.ok(one.firstAssignment > BigInt(Date.UTC(2024, 0)) << 20n);
  assert.notDeepEqual(one.hashKey, two.hashKey);
  assert.equal(refusal(() => new RebalanceGuard({ partition: 1 })), "unknown_field");
});

test("tables for which there is no memory are refused", () => {
  const huge = { ...FIXED, keys: 2 ** 28, partitions: 2 ** 20 };
  assert.equal(refusal(() => new RebalanceGuard(huge)), "memory");
});
