// The package under test: where `cargo xtask js` left it, or where RG_JS_PACKAGE says.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export const folder =
  process.env.RG_JS_PACKAGE ?? fileURLToPath(new URL("../../../target/js", import.meta.url));

export const { RebalanceGuard } = createRequire(import.meta.url)(
  `${folder}/nodejs/rebalance_guard.js`,
);

/** Settings under which every run is the same. */
export const FIXED = {
  topic: "t",
  partitions: 8,
  window: 16,
  keys: 32,
  budget: 16,
  jitter: 0,
  commitInterval: 0,
  firstAssignment: 1n,
  jitterSeed: 0n,
  hashKey: [0n, 0n],
};

/** The code with which `act` fails, and its message. */
export function refusal(act) {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Error)) throw new TypeError(`thrown: ${error}`);
    return error.code;
  }
  return "nothing was thrown";
}
