#!/usr/bin/env node
// Plays a trace file on this package, as `rebalance-guard replay` does on the native guard:
//   node replay.mjs FILE
// One answer a line; the first that is not as expected ends it with exit code 1, and a file that
// cannot be played with 2. docs/trace-format.md in the repository is the format.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { Player } from "./player.mjs";

function main(path) {
  const { RebalanceGuard } = createRequire(import.meta.url)("./nodejs/rebalance_guard.js");
  const player = new Player(RebalanceGuard, readFileSync(path, "utf8"));
  for (const { line, shown, difference } of player.play()) {
    process.stdout.write(`${shown}\n`);
    if (difference !== null) {
      process.stderr.write(`line ${line}: ${difference}\n`);
      return 1;
    }
  }
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  if (process.argv.length !== 3) {
    process.stderr.write("usage: node replay.mjs FILE\n");
    process.exitCode = 2;
  } else {
    try {
      process.exitCode = main(process.argv[2]);
    } catch (error) {
      process.stderr.write(`${process.argv[2]}: ${error.message}\n`);
      process.exitCode = 2;
    }
  }
}
