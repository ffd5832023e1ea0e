import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi } from "../cli.testing.ts";

const entry = (number: number) => ({
  id: String(number).padStart(32, "0"),
  when: "2026-11-20T12:00:00.000Z",
  action: { type: "delete", result: true },
  actor: { type: "user", id: "1", email: "ann@example.com", ip: "192.0.2.7" },
  interface: "API",
  owner: { id: ACCOUNT },
  resource: { type: "dns_records", id: `r${number}` },
  metadata: { operation: "delete-record", summary: "Delete a DNS record", user_log: false },
});

test("lists changes with the filters of the command line", async (t) => {
  const api = await startFakeApi(t, {
    [`GET /accounts/${ACCOUNT}/audit_logs`]: ({ path }) => {
      const page = Number(new URL(path, "http://x").searchParams.get("page"));
      return { result: [entry(page)], result_info: { page, per_page: 1, total_count: 3 } };
    },
    "GET /user/audit_logs": { result: [], result_info: { total_count: 0 } },
  });
  const cwd = await folderWith(t);
  const { code, stdout } = await runCli(
    ["audit", "list", "--actor", "ann@example.com", "--since", "2026-11-20", "--zone", "example.com", "--limit", "2"],
    { cwd, api },
  );
  assert.equal(code, 0);
  const { searchParams } = new URL(api.seen[0]!.path, "http://x");
  assert.deepEqual(Object.fromEntries(searchParams), {
    since: "2026-11-20T00:00:00.000Z",
    "actor.email": "ann@example.com",
    "zone.name": "example.com",
    page: "1",
    per_page: "2",
  });
  assert.deepEqual(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.replaceAll(/ {2,}/g, "  ")),
    [
      "time  user  from  action  resource  change",
      "2026-11-20 12:00:00 UTC  ann@example.com  192.0.2.7  delete  dns_records r1  Delete a DNS record",
      "2026-11-20 12:00:00 UTC  ann@example.com  192.0.2.7  delete  dns_records r2  Delete a DNS record",
    ],
  );
  assert.deepEqual((await runCli(["audit", "list", "--mine", "--json"], { cwd, api })).json, []);
});
