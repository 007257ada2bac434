// Compiled, never run: what the declarations allow, and what they do not.
import { RebalanceGuard, type Output, type Verdict } from "../nodejs/rebalance_guard";
import start, { RebalanceGuard as InBrowser } from "../web/rebalance_guard";

const guard = new RebalanceGuard({ topic: "orders", keyPolicy: "optional" });
guard.assign(0, { partitions: [{ partition: 3, committed: 5n, metadata: "" }, { partition: 4 }] });
const verdict: Verdict = guard.admit(1n, { partition: 3, offset: 5, key: new Uint8Array(2) });
if (verdict.verdict === "run") guard.fail(2, verdict.ticket, { permanent: true });
if (verdict.verdict === "hold" && verdict.why === "owed") verdict.owed satisfies bigint;

function offset(output: Output): bigint | null {
  return output.kind === "commit" ? output.offset : null;
}
guard.outputs().map(offset) satisfies (bigint | null)[];
guard.progress({ partition: 3 })?.mark satisfies bigint | null | undefined;
void start().then(() => new InBrowser().free());

// @ts-expect-error: an offset is no string
guard.admit(1, { partition: 3, offset: "5" });
// @ts-expect-error: no such result
guard.commitAnswered(1, { partition: 3, assignment: 1n, offset: 5n, result: "ok" });
// @ts-expect-error: a revoke says until when
guard.revoke(1, { partitions: [] });
