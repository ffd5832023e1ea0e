import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoles } from "./roles.ts";
import { d1OptionsOf } from "./serve-modules.ts";

test("only processes that query D1 have database files, and only the API process runs imports and exports", () => {
  const of = (...roles: string[]) => d1OptionsOf(parseRoles(roles));
  assert.deepEqual(of(), { files: true, transfers: true });
  assert.deepEqual(of("api"), { files: true, transfers: true });
  for (const role of ["workers", "smtp"]) assert.deepEqual(of(role), { files: true, transfers: false });
  for (const role of ["encode", "playback", "live", "outbound", "dns"])
    assert.deepEqual(of(role), { files: false, transfers: false });
});
