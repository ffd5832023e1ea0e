import assert from "node:assert/strict";
import { test } from "node:test";
import { inheritedSockets } from "./inherited-sockets.ts";

const named = (env: Record<string, string>) => Object.fromEntries(inheritedSockets(env, 42));

test("maps sockets by name", () => {
  assert.deepEqual(named({ LISTEN_FDS: "2", LISTEN_PID: "42", LISTEN_FDNAMES: "http:smtp" }), { http: 3, smtp: 4 });
  assert.deepEqual(named({ LISTEN_FDS: "1", LISTEN_PID: "42", LISTEN_FDNAMES: "reelpost.socket" }), { http: 3 });
  assert.deepEqual(named({ LISTEN_FDS: "1" }), { http: 3 });
});

test("ignores sockets meant for another process", () => {
  for (const env of [{}, { LISTEN_FDS: "1", LISTEN_PID: "41" }, { LISTEN_FDS: "0" }, { LISTEN_FDS: "x" }])
    assert.deepEqual(named(env as Record<string, string>), {});
});
