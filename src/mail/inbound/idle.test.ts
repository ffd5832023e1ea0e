import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { idleCrowd } from "./idle.testing.ts";

/** Node raises its file descriptor limit to the maximum; the clients run in their own process. */
const limit =
  process.platform === "win32"
    ? 1024
    : Number(
        execFileSync("/bin/sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).trim().replace("unlimited", "1000000"),
      );
const held = limit >= 12_000 ? 10_000 : Math.max(100, limit - 400);

test(`${held} idle clients stay connected while well-behaved ones are served`, async (t) => {
  if (held < 10_000)
    t.diagnostic(`this system allows ${limit} file descriptors: the test uses fewer than 10,000 clients`);
  await idleCrowd(t, { count: held, connections: held + 100 });
});

test("serves well-behaved clients and keeps its limit of 200 slots while 4,000 clients are stuck in DATA", (t) =>
  idleCrowd(t, { count: 4000, connections: 200, inData: true }));
