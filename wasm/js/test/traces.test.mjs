import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Player, parse, show } from "../player.mjs";
import { RebalanceGuard } from "./package.mjs";

const folder = fileURLToPath(new URL("../../../tests/traces/", import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort();

/** The binary whose native guard answers the same files; cargo xtask test --part js gives it. */
const binary = process.env.RG_BINARY;

test("there are traces, and a binary to compare with", () => {
  assert.ok(files.length > 90, `${files.length} files`);
  assert.ok(binary, "RG_BINARY names no binary of rebalance-guard");
});

for (const name of files) {
  test(`${name} is answered as it expects, and as the native guard answers it`, () => {
    const player = new Player(RebalanceGuard, readFileSync(folder + name, "utf8"));
    const played = [];
    for (const { line, shown, difference } of player.play()) {
      assert.equal(difference, null, `line ${line}`);
      played.push(shown);
    }
    const native = execFileSync(binary, ["replay", folder + name], { encoding: "utf8" });
    assert.deepEqual(played, native.trimEnd().split("\n"));
  });
}

test("whole numbers beyond 2^53 are read and shown exactly, also beside digits in strings", () => {
  const text = '{"offset":9007199254740993,"key":"a \\"1\\" 9007199254740993","more":[0,null,true]}';
  assert.equal(parse(text).offset, 9007199254740993n);
  assert.equal(show(parse(text)), text);
});

test("a line that is answered otherwise ends the replay with both values", () => {
  const text =
    '{"do":"config"}\n{"do":"tick","now":5,"expect":{"outputs":["stall"]}}\n{"do":"tick"}\n';
  const played = [...new Player(RebalanceGuard, text).play()];
  assert.equal(played.length, 1);
  assert.equal(played[0].line, 2);
  assert.equal(played[0].difference, 'outputs: expected ["stall"], is []');
});
