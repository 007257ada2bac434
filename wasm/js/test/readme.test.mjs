import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { RebalanceGuard } from "./package.mjs";

const here = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

test("the README's example prints what it says", () => {
  const text = here("../README.md");
  const code = text.match(/```js\n([\s\S]*?)```/)[1].replace(/^import .*\n/, "");
  const printed = [];
  const log = { log: (line) => printed.push(line) };
  new Function("RebalanceGuard", "console", code)(RebalanceGuard, log);
  assert.equal(printed.length, 1);
  assert.ok(text.includes(`It prints \`${printed[0]}\`.`), printed[0]);
});

test("the declarations name every method and no other", () => {
  const body = here("../types.d.ts").split("export class RebalanceGuard {")[1];
  const declared = [...body.matchAll(/^ {2}(?!constructor|static)(\w+)\(/gm)].map(([, name]) => name);
  const own = Object.getOwnPropertyNames(RebalanceGuard.prototype);
  const methods = own.filter((name) => !name.startsWith("_") && name !== "constructor");
  assert.deepEqual(declared.sort(), methods.sort());
});
