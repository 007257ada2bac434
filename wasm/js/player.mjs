// A trace file told to a guard, in Node and in browsers. docs/trace-format.md in the repository is
// the format.

const NO_ASSIGNMENT = 2n ** 64n - 1n;
const NO_TICKET = new Uint8Array(24).fill(255, 4, 20);
const TICK_MAX = 2n ** 62n;

/** Refusals of the guard; any other code is a line that cannot be played. */
const REFUSALS = [
  "partitions_full", "negative_partition", "dead", "not_active", "above_mark", "resume_unknown",
  "no_position", "assignments_spent",
];
const IGNORED = {
  foreign: "foreign or damaged",
  version: "of another version",
  base: "written for another offset",
  too_long: "longer than metadata_max",
  later_epoch: "contradicted by a later leader epoch",
};
const REPORTS = ["sealed", "gap", "step_back", "metadata_ignored"];
const KINDS = { stalled: "stall", storm_began: "storm", storm_ended: "storm" };

/** JSON whose whole numbers are BigInts: offsets go beyond 2^53. */
export function parse(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = text.replace(tokens, (token) =>
    /^-?\d+$/.test(token) ? `{"whole number":"${token}"}` : token,
  );
  return JSON.parse(marked, (_, value) => {
    const digits = value?.["whole number"];
    return digits === undefined ? value : BigInt(digits);
  });
}

/** The other way, fields in their order. */
export function show(value) {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(show).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${show(field)}`).join(",")}}`;
}

const hex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

function settings(line) {
  if (line.do !== "config") throw new Error("the first line must be a config");
  const { do: _, topics: __, ...given } = line;
  const named = Object.entries(given).map(([name, value]) => [camel(name), value]);
  const fixed = { topic: "t", firstAssignment: 1n, jitterSeed: 0n, hashKey: [0n, 0n] };
  return { ...fixed, ...Object.fromEntries(named) };
}

/** A file on its way through a guard. */
export class Player {
  constructor(RebalanceGuard, text) {
    this.RebalanceGuard = RebalanceGuard;
    const lines = text.split("\n").map((line, index) => [index + 1, line.trim()]);
    const [first, ...rest] = lines.filter(([, line]) => line !== "");
    this.lines = rest.map(([number, line]) => [number, parse(line)]);
    this.guard = new RebalanceGuard(settings(parse(first[1])));
    this.now = 0n;
    this.tickets = new Map();
    this.names = new Map();
    this.snapshots = new Map();
  }

  /** Every line's answer, as text; ends with what differs, if something does. */
  *play() {
    for (const [number, line] of this.lines) {
      this.now = line.now ?? this.now + (line.plus ?? 0n);
      const said = this.call(line);
      const pulled = line.pull === false ? [] : this.guard.outputs();
      const shown = Array.isArray(said) ? { verdicts: said } : { ...said };
      shown.outputs = pulled.map(({ kind }) => this.kind(kind));
      const details = pulled.map((output) => this.detail(output));
      const whole = { line: number, now: this.now, ...shown };
      if (details.length > 0) whole.details = details;
      const difference = this.difference(line, said, shown);
      yield { line: number, shown: show(whole), difference };
      if (difference !== null) return;
    }
  }

  kind(kind) {
    return REPORTS.includes(kind) ? "report" : (KINDS[kind] ?? kind);
  }

  /** An output in the words of the format. */
  detail(output) {
    const kind = this.kind(output.kind);
    const at = { kind, topic: output.topic, partition: output.partition };
    const { from, to, offset } = output;
    switch (output.kind) {
      case "rejoin":
      case "storm_began":
        return { kind, back_off: output.backOff };
      case "storm_ended":
        return { kind, ended: true };
      case "sealed": {
        const { assignment, ended, mark, left } = output;
        return { ...at, assignment, ended, mark, left };
      }
      case "gap":
      case "step_back":
        return { ...at, from, to };
      case "metadata_ignored":
        return { ...at, metadata_ignored: IGNORED[output.why] };
      case "commit":
        return { ...at, offset, token: output.token, metadata: output.metadata };
      case "retry":
        return { ...at, offset, ticket: this.handed(output) };
      case "dead_letter": {
        const { why, copies } = output;
        return { ...at, offset, ticket: this.handed(output), why, copies };
      }
      case "stalled":
        return { ...at, seek: output.seek };
      case "poll_budget":
        return { kind, until: output.until };
      default:
        return at;
    }
  }

  place(topic, partition, offset, assignment) {
    return `${topic ?? "t"}/${partition}@${offset}/${assignment}`;
  }

  /** Keeps the ticket of a retry or dead letter under its record's name; that name. */
  handed({ topic, partition, offset, ticket }) {
    const name = this.names.get(this.place(topic, partition, offset, ticket.assignment));
    if (name === undefined) return "";
    const all = this.tickets.get(name);
    all.push(ticket);
    return `${name}#${all.length}`;
  }

  ticket({ ticket, ticket_hex }) {
    if (ticket_hex !== undefined) return hex(ticket_hex);
    return this.named(ticket);
  }

  named(name) {
    const [, base, nth] = name.match(/^(.*)#(\d+)$/) ?? [];
    if (this.tickets.has(base)) return this.tickets.get(base)[Number(nth) - 1] ?? NO_TICKET;
    return this.tickets.get(name)?.[0] ?? NO_TICKET;
  }

  record(line) {
    const { topic, partition, offset, key, key_hex, attempt, leader_epoch, namespace } = line;
    const record = { partition, offset, key: key_hex === undefined ? key : hex(key_hex) };
    if (topic !== undefined) record.topic = topic;
    if (attempt !== undefined) record.attempts = attempt;
    if (leader_epoch !== undefined) record.leaderEpoch = leader_epoch;
    if (namespace !== undefined) record.namespace = namespace;
    return record;
  }

  verdict(line, { verdict, why, ticket, owed, fenced, last, seen }) {
    if (ticket !== undefined && line.as !== undefined) {
      const place = this.place(line.topic, line.partition, line.offset, ticket.assignment);
      this.names.set(place, line.as);
      this.tickets.set(line.as, [ticket]);
    }
    const duplicate = /^duplicate_(\w+)$/.exec(why ?? "");
    if (duplicate) return { verdict, why: "duplicate", first: duplicate[1] };
    return { verdict, why, offset: owed, fence: fenced, seen, last };
  }

  /** Tells one line; what is answered to it. */
  call(line) {
    if (line.do === "admit") return this.verdict(line, this.guard.admit(this.now, this.record(line)));
    if (line.do === "admit_batch") {
      const verdicts = this.guard.admitBatch(this.now, line.records.map((one) => this.record(one)));
      return verdicts.map((verdict, index) => this.verdict(line.records[index], verdict));
    }
    try {
      return { answer: this.tell(line) ?? "done" };
    } catch (error) {
      if (!REFUSALS.includes(error.code)) throw error;
      return { answer: "refused", why: error.code };
    }
  }

  tell(line) {
    const { guard, now } = this;
    const place = line.topic === undefined ? {} : { topic: line.topic };
    place.partition = line.partition;
    const current = () => line.assignment ?? guard.progress(place)?.assignment ?? NO_ASSIGNMENT;
    const { committed, metadata, none, offset, partitions, result } = line;
    switch (line.do) {
      case "assign":
        return guard.assign(now, { generation: line.generation || null, partitions });
      case "position": {
        const resume = { committed, metadata, none, offset };
        return guard.position(now, { ...place, ...resume, assignment: current() });
      }
      case "revoke": {
        const until = line.drain === undefined ? line.deadline : now + line.drain;
        return guard.revoke(now, { partitions, deadline: until > TICK_MAX ? TICK_MAX : until });
      }
      case "lost":
        if (line.fatal) return guard.lost(now, { fatal: true });
        return guard.lost(now, line.all ? { all: true } : { partitions });
      case "eof":
        return guard.endOfPartition(now, { ...place, assignment: current() });
      case "rewind":
        return guard.rewind(now, { ...place, offset });
      case "group_offset":
        return guard.groupOffset(now, { ...place, assignment: current(), offset });
      case "complete":
        return guard.complete(now, this.ticket(line));
      case "fail":
        return guard.fail(now, this.ticket(line), { permanent: line.permanent ?? false });
      case "abandon":
        return guard.abandon(now, this.ticket(line));
      case "dead_lettered":
        return guard.deadLettered(now, this.ticket(line));
      case "commit_answer":
        return guard.commitAnswered(now, { ...place, assignment: current(), offset, result });
      case "polled":
        return guard.polled(now);
      case "tick":
        return guard.tick(now);
      case "snapshot":
        guard.tick(now);
        this.snapshots.set(line.as, [guard.settings(), guard.snapshot()]);
        return undefined;
      case "restore":
        return this.restore(line);
      default:
        throw new Error(`there is nothing to do called ${line.do}`);
    }
  }

  restore(line) {
    if (!this.snapshots.has(line.from)) {
      throw new Error("this package goes on from snapshots of the same file alone");
    }
    const [settings, bytes] = this.snapshots.get(line.from);
    const restored = this.RebalanceGuard.restore(this.now, settings, bytes);
    this.guard.free();
    this.guard = restored;
  }

  /** The first expectation that does not hold, or null. */
  difference(line, said, shown) {
    if (Array.isArray(line.expect)) {
      if (line.expect.length !== said.length) return `${said.length} verdicts`;
      for (const [index, expected] of line.expect.entries()) {
        const found = this.fields(`verdict ${index + 1} `, expected, said[index]);
        if (found !== null) return found;
      }
    } else if (line.expect) {
      const found = this.fields("", line.expect, shown);
      if (found !== null) return found;
    }
    if (line.expect_state) {
      const found = this.fields("state ", line.expect_state, this.state(line.expect_state));
      if (found !== null) return found;
    }
    for (const expected of [line.expect_commit ?? []].flat()) {
      const { offset, expect: _, ...place } = expected;
      const mark = this.guard.progress(place)?.mark ?? null;
      if (mark !== offset) return `commit of ${show(place)}: expected ${offset}, is ${mark}`;
    }
    return null;
  }

  fields(name, expected, found) {
    for (const [field, wanted] of Object.entries(expected)) {
      const [one, other] = [show(wanted), show(found[field] ?? null)];
      if (one !== other) return `${name}${field}: expected ${one}, is ${other}`;
    }
    return null;
  }

  state(asked) {
    const { guard } = this;
    const owed = guard.owned().filter(({ owed }) => owed !== null);
    const short = ({ topic, partition }) => (topic === "t" ? `${partition}` : `${topic}/${partition}`);
    return {
      storm: guard.storm(),
      in_flight: guard.inFlight(),
      waiting: guard.waiting()?.why ?? null,
      live: asked.live?.filter((name) => guard.isLive(this.named(name))),
      owed: Object.fromEntries(owed.map((one) => [short(one), one.owed])),
    };
  }
}
