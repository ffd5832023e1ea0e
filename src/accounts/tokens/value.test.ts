import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ids } from "../../kernel/index.ts";
import { makeTokenValue } from "./value.ts";

test("a token value can follow --token on the command line", () => {
  const made = (token: string) => makeTokenValue({ token: () => token } as unknown as Ids);
  assert.deepEqual(["-a-", "a--", "_a"].map(made), ["_a-", "a--", "_a"]);
});
