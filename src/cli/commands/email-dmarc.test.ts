import assert from "node:assert/strict";
import { test } from "node:test";
import { folderWith, runCli, startFakeApi } from "../cli.testing.ts";

const PATH = "/zones/z1/email/auth/dmarc-reports";
const reports = (enabled: boolean, content: string, status?: string) => ({
  enabled,
  ...(status !== undefined && { status }),
  records: { dmarc_records: [{ content }] },
});

test("shows the DMARC record, and enables and disables DMARC reports", async (t) => {
  const api = await startFakeApi(t, {
    "GET /zones": { result: [{ id: "z1", name: "example.com", status: "active" }] },
    [`GET ${PATH}`]: { result: reports(true, "v=DMARC1; p=none", "missing-dmarc-rua") },
    [`PATCH ${PATH}`]: { result: reports(true, "v=DMARC1; p=none; rua=mailto:r@mail.example.com") },
  });
  const cwd = await folderWith(t);
  const run = (...args: string[]) => runCli(["email", "dmarc", ...args], { cwd, api });
  const { stdout } = await run("get", "example.com");
  assert.match(stdout, /^reports +enabled$/m);
  assert.match(stdout, /^problem +the DMARC record lacks the report address; enable the reports again to add it$/m);
  assert.match(stdout, /^DMARC record +v=DMARC1; p=none$/m);
  assert.match((await run("enable", "example.com")).stdout, /^DMARC record +.*rua=mailto:r@mail\.example\.com$/m);
  assert.equal((await run("disable", "example.com")).code, 1);
  assert.equal((await run("disable", "example.com", "--yes")).code, 0);
  assert.deepEqual(api.bodies(`PATCH ${PATH}`), [{ enabled: true }, { enabled: false }]);
});
