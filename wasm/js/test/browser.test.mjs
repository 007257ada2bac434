import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Player } from "../player.mjs";
import { browser, tell } from "./browser.mjs";
import { RebalanceGuard, folder as built } from "./package.mjs";

const traces = fileURLToPath(new URL("../../../tests/traces/", import.meta.url));
const files = readdirSync(traces).filter((name) => name.endsWith(".jsonl")).sort();

const PAGE = `<!doctype html><meta charset="utf-8"><script type="module">
  const played = {};
  try {
    const { default: init, RebalanceGuard } = await import("/package/web/rebalance_guard.js");
    const { Player } = await import("/package/player.mjs");
    await init();
    for (const name of ${JSON.stringify(files)}) {
      const text = await (await fetch("/traces/" + name)).text();
      played[name] = [...new Player(RebalanceGuard, text).play()];
    }
    await fetch("/told", { method: "POST", body: JSON.stringify({ played }) });
  } catch (error) {
    await fetch("/told", { method: "POST", body: JSON.stringify({ error: String(error) }) });
  }
</script>`;

/** Says what is missing where nobody asked for a browser; `cargo xtask test` asks. */
const program = browser();
const skip = program === null && "no browser: install one (Debian: apt-get install chromium)";

test("every trace is answered in a browser as it is in Node", { skip }, async () => {
  const told = await tell(program, PAGE, { package: built, traces });
  const { error, played } = JSON.parse(told);
  assert.equal(error, undefined);
  assert.deepEqual(Object.keys(played), files);
  for (const name of files) {
    const text = readFileSync(traces + name, "utf8");
    assert.deepEqual(played[name], [...new Player(RebalanceGuard, text).play()], name);
  }
});

test("a page that cannot load the package says so", { skip }, async () => {
  const told = await tell(program, PAGE, { package: `${built}/nowhere`, traces });
  assert.match(JSON.parse(told).error, /Failed to fetch dynamically imported module/);
});
