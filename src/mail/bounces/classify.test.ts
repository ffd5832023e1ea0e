import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { suppressionFor } from "./classify.ts";

test("a failure is classified by what it means for the address", () => {
  const table: [Parameters<typeof suppressionFor>[0], ReturnType<typeof suppressionFor>][] = [
    [{ status: "5.1.1" }, "hard_bounce"],
    [{ status: "5.1.10" }, "hard_bounce"],
    [{ status: "5.1.2" }, "hard_bounce"],
    [{ status: "5.2.1" }, "hard_bounce"],
    [{ status: "5.4.4" }, "hard_bounce"],
    [{ status: "5.1.8" }, undefined],
    [{ status: "5.1.7" }, undefined],
    [{ status: "5.2.2" }, "soft_bounce"],
    [{ status: "5.3.4" }, "soft_bounce"],
    [{ status: "5.7.1", text: "no such user" }, undefined],
    [{ status: "5.7.26" }, undefined],
    [{ status: "5.6.0" }, undefined],
    [{ status: "4.4.1" }, "soft_bounce"],
    [{ status: "5.1.1", expired: true }, "soft_bounce"],
    [{ status: "2.0.0" }, undefined],
    [{ status: "5.0.0", code: 550, text: "550 User unknown" }, "hard_bounce"],
    [{ status: "5.0.0", code: 550, text: "550 rejected" }, "soft_bounce"],
    [{ status: "5.0.0", code: 554, text: "554 User unknown" }, "soft_bounce"],
    [{ status: "5.0.0", code: 550, text: "550 User unknown", guessed: true }, "soft_bounce"],
    [{ status: "5.1.1", guessed: true }, "hard_bounce"],
  ];
  for (const [failed, reason] of table) assert.equal(suppressionFor(failed), reason, JSON.stringify(failed));
});

test("text of any length is classified quickly", () => {
  const ms = cpuMs(
    () => void suppressionFor({ status: "5.0.0", code: 550, text: `${"user ".repeat(50_000)}${"x".repeat(100_000)}` }),
  );
  assert.ok(ms < 1000, `${ms} ms`);
});
