/** A whole number: a BigInt, or a Number up to 2^53 - 1. A larger Number is refused (`not_exact`). */
export type Whole = bigint | number;
/** Monotonic time in one unit of yours, such as milliseconds; at most 2n ** 62n. */
export type Tick = Whole;

/** What is thrown. Nothing changed then, apart from counters. */
export interface GuardError extends Error {
  readonly code:
    | "type" | "missing" | "unknown_field" | "range" | "not_exact" | "ambiguous" | "topic_name"
    | "ticket" | "config" | "memory" | "snapshot" | "busy" | "partitions_full"
    | "negative_partition" | "dead" | "not_active" | "above_mark" | "resume_unknown"
    | "no_position" | "assignments_spent";
}

/** Settings; what is left out takes the product's default. Spans are in ticks. */
export interface Settings {
  /** The topic of calls that name none. */
  topic?: string;
  partitions?: Whole;
  window?: Whole;
  keys?: Whole;
  budget?: Whole;
  attemptsMax?: Whole;
  backoff?: Whole;
  backoffCap?: Whole;
  jitter?: Whole;
  lease?: Whole;
  commitInterval?: Whole;
  commitCount?: Whole;
  commitTimeout?: Whole;
  commitBackoff?: Whole;
  keyPolicy?: "required" | "optional";
  keyAge?: Whole | null;
  stormWindow?: Whole;
  stormRising?: Whole;
  stormAt?: Whole;
  stormCalm?: Whole;
  holdInStorm?: boolean;
  stallAfter?: Whole;
  journal?: Whole;
  metadataMax?: Whole;
  epoch?: Whole;
  /** Left out: from the clock and random bits, so that it rises from process to process. */
  firstAssignment?: Whole;
  /** Left out: random. */
  jitterSeed?: Whole;
  /** Left out: random, so that nobody can choose keys that collide. */
  hashKey?: readonly [Whole, Whole];
}

export interface Place {
  topic?: string;
  partition: Whole;
}

/** Where reading resumes: one of `committed`, `none` or `offset`; none of them: not known yet. */
export interface Resume {
  /** The group's committed offset: the next record to read. */
  committed?: Whole | null;
  /** The string that stands beside it in the group. */
  metadata?: string | Uint8Array | null;
  /** The group holds nothing; `offset` says where the client starts, if it is known. */
  none?: boolean;
  /** Alone: your own choice while the group holds something. */
  offset?: Whole | null;
}

export interface Offered extends Place {
  offset: Whole;
  /** Names the operation: bytes, or a string (its UTF-8). */
  key?: string | Uint8Array | null;
  attempts?: Whole;
  leaderEpoch?: Whole | null;
  namespace?: Whole;
}

/** Leave to run (or dead-letter) one record, once. `bytes` is what counts. */
export interface Ticket {
  readonly kind: "run" | "dead_letter";
  readonly attempt: number;
  readonly assignment: bigint;
  readonly sequence: bigint;
  readonly bytes: Uint8Array;
}

export type Why = "attempts_spent" | "permanent" | "no_usable_key";
export type Fenced = "not_owned" | "draining" | "sealed" | "lease_expired" | "dead";
export type Seen = "finished" | "in_flight" | "never" | "below_resume";
export type Ended = "drained" | "deadline" | "lost" | "replaced" | "rewound";
export type Storm = "calm" | "rising" | "storm";
export type Answer = "done" | "stale";

export type Verdict =
  | { verdict: "run"; ticket: Ticket }
  | { verdict: "park"; why: Why; ticket: Ticket }
  | { verdict: "skip"; why: "carried" | "duplicate_finished" | "duplicate_in_flight" }
  | { verdict: "hold"; why: "owed"; owed: bigint }
  | { verdict: "hold"; why: "resume_unknown" | "key_busy" | "window" | "budget" | "storm" }
  | { verdict: "refuse"; why: "fenced"; fenced: Fenced }
  | { verdict: "refuse"; why: "offset_regression"; last: bigint; seen: Seen }
  | { verdict: "refuse"; why: "offset_limit" };

/** `topic` is null only in the journal: a name that no assign named. */
interface At {
  topic: string;
  partition: number;
}

interface Tokened {
  assignment: bigint;
  group: bigint;
  /** `group.assignment`, the fencing token that every side effect carries. */
  token: string;
}

export type Output =
  | { kind: "rejoin"; backOff: bigint }
  | ({ kind: "sealed"; assignment: bigint; ended: Ended; mark: bigint | null; left: number } & At)
  | ({ kind: "gap"; from: bigint; to: bigint } & At)
  | ({ kind: "step_back"; from: bigint; to: bigint } & At)
  | ({
      kind: "metadata_ignored";
      why: "foreign" | "version" | "base" | "too_long" | "later_epoch";
    } & At)
  | { kind: "storm_began"; backOff: bigint }
  | { kind: "storm_ended" }
  | ({ kind: "commit"; offset: bigint; metadata: string } & At & Tokened)
  | ({ kind: "pause" } & At)
  | ({ kind: "resume" } & At)
  | ({ kind: "retry"; offset: bigint; ticket: Ticket } & At)
  | ({ kind: "dead_letter"; offset: bigint; why: Why; copies: number; ticket: Ticket } & At)
  | ({ kind: "stalled"; seek: bigint } & At)
  | { kind: "poll_budget"; until: bigint };

export interface Progress extends At, Tokened {
  phase: "active" | "draining" | "committing";
  /** The completion mark: every admitted record below is finished. */
  mark: bigint | null;
  confirmed: bigint | null;
  inHands: number;
  unfinished: number;
  owed: bigint | null;
  paused: boolean;
  deadline: bigint | null;
  idle: boolean;
}

export interface Waiting {
  why: "nothing_assigned" | "revoked" | "lost" | "lease_expired" | "dead";
  since: bigint;
}

export interface JournalEntry {
  at: bigint;
  topic: string | null;
  partition: number | null;
  assignment: bigint | null;
  offset: bigint | null;
  times: number;
  event:
    | "assigned" | "revoked" | "sealed" | "released" | "refused" | "stale_answer"
    | "input_refused" | "lease_expired" | "client_dead" | "storm_began" | "storm_ended"
    | "unknown";
  ended?: Ended;
  stored?: boolean;
  why?: string;
  fenced?: Fenced;
  last?: bigint;
  seen?: Seen;
}

export interface Counters {
  readonly run: bigint;
  readonly parked: bigint;
  readonly skippedFinished: bigint;
  readonly skippedInFlight: bigint;
  readonly skippedCarried: bigint;
  readonly heldOwed: bigint;
  readonly heldResumeUnknown: bigint;
  readonly heldKeyBusy: bigint;
  readonly heldWindow: bigint;
  readonly heldBudget: bigint;
  readonly heldStorm: bigint;
  readonly refusedFenced: bigint;
  readonly refusedRegression: bigint;
  readonly refusedOffsetLimit: bigint;
  readonly inputsRefused: bigint;
  readonly completed: bigint;
  readonly failed: bigint;
  readonly retried: bigint;
  readonly deadLettersAsked: bigint;
  readonly deadLettersFailed: bigint;
  readonly deadLettered: bigint;
  readonly abandoned: bigint;
  readonly staleAnswers: bigint;
  readonly staleInputs: bigint;
  readonly givenUp: bigint;
  readonly lostInHand: bigint;
  readonly assignments: bigint;
  readonly drained: bigint;
  readonly drainDeadlines: bigint;
  readonly lost: bigint;
  readonly replaced: bigint;
  readonly rewound: bigint;
  readonly commitsOffered: bigint;
  readonly commitsStored: bigint;
  readonly commitsRetried: bigint;
  readonly commitsRejected: bigint;
  readonly commitsNotMine: bigint;
  readonly metadataIgnored: bigint;
  readonly metadataDropped: bigint;
  readonly commitsGivenUp: bigint;
  readonly leasesExpired: bigint;
  readonly rebalances: bigint;
  readonly storms: bigint;
  readonly stalls: bigint;
  readonly pollBudgets: bigint;
  readonly lateTicks: bigint;
  readonly keysEvicted: bigint;
  readonly reportsDropped: bigint;
}

export interface PartitionCounters {
  readonly admitted: bigint;
  readonly skipped: bigint;
  readonly held: bigint;
  readonly refused: bigint;
  readonly finished: bigint;
  readonly stale: bigint;
  readonly assignments: bigint;
  readonly drained: bigint;
  readonly drainDeadlines: bigint;
  readonly lost: bigint;
  readonly replaced: bigint;
  readonly rewound: bigint;
}

/**
 * The safety core between a Kafka client and a side effect. It does no I/O, reads no clock and
 * calls nothing back: tell it what happened and when, pull `outputs()`, do what they say; call
 * `tick` no later than `pollTimeout()`. Every call throws a GuardError on bad input.
 */
export class RebalanceGuard {
  constructor(settings?: Settings);
  /** The guard of a snapshot; `settings` must be what `settings()` gave when it was taken. */
  static restore(now: Tick, settings: Settings, snapshot: Uint8Array): RebalanceGuard;
  /** Gives the memory back; the guard cannot be used afterwards. */
  free(): void;
  [Symbol.dispose](): void;

  assign(
    now: Tick,
    assign: { generation?: Whole | null; partitions: readonly (Place & Resume)[] },
  ): void;
  /** The late answer to an unknown start. */
  position(now: Tick, position: Place & Resume & { assignment: Whole }): Answer;
  /** `drain` is the time from now, `deadline` the tick at which the drain ends at the latest. */
  revoke(
    now: Tick,
    revoke: { partitions: readonly Place[] } & ({ drain: Whole } | { deadline: Tick }),
  ): void;
  lost(now: Tick, loss: { partitions: readonly Place[] } | { all: true } | { fatal: true }): void;
  rewind(now: Tick, rewind: Place & { offset: Whole }): void;
  groupOffset(now: Tick, seen: Place & { assignment: Whole; offset: Whole }): Answer;
  endOfPartition(now: Tick, end: Place & { assignment: Whole }): Answer;

  admit(now: Tick, record: Offered): Verdict;
  admitBatch(now: Tick, records: readonly Offered[]): Verdict[];
  complete(now: Tick, ticket: Ticket | Uint8Array): Answer;
  fail(now: Tick, ticket: Ticket | Uint8Array, options?: { permanent?: boolean }): Answer;
  abandon(now: Tick, ticket: Ticket | Uint8Array): Answer;
  deadLettered(now: Tick, ticket: Ticket | Uint8Array): Answer;
  commitAnswered(
    now: Tick,
    answer: Place & {
      assignment: Whole;
      offset: Whole;
      result: "stored" | "retry" | "rejected" | "not_mine" | "fatal";
    },
  ): Answer;

  /** Your client was polled: the only thing that renews the lease. */
  polled(now: Tick): void;
  tick(now: Tick): void;
  /** Everything owed now, in the order in which to do it. */
  outputs(): Output[];
  pollTimeout(): bigint | null;

  progress(place: Place): Progress | null;
  owned(): Progress[];
  isLive(ticket: Ticket | Uint8Array): boolean;
  inFlight(): number;
  storm(): Storm;
  waiting(): Waiting | null;
  journal(): JournalEntry[];
  counters(): Counters;
  partitionCounters(place: Place): PartitionCounters | null;
  settings(): Settings;
  snapshot(): Uint8Array;
  now(): bigint;
}
