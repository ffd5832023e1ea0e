import assert from "node:assert/strict";
import { test } from "node:test";
import { isStoreError } from "../errors.ts";
import { parsePostgresUrl } from "./postgres-address.ts";

const urlsOf = (url: string) => parsePostgresUrl(url).hosts.map((host) => host.url);

test("splits a connection string with several hosts into one string per host", () => {
  const url = "postgres://user:p%40ss@h1:5432,h2:5433,[::1]:5434/db?sslmode=require&target_session_attrs=read-write";
  assert.deepEqual(urlsOf(url), [
    "postgres://user:p%40ss@h1:5432/db?sslmode=require",
    "postgres://user:p%40ss@h2:5433/db?sslmode=require",
    "postgres://user:p%40ss@[::1]:5434/db?sslmode=require",
  ]);
  assert.deepEqual(
    parsePostgresUrl(url).hosts.map(({ label }) => label),
    ["h1:5432", "h2:5433", "[::1]:5434"],
  );
  assert.equal(parsePostgresUrl(url).label, "h1:5432,h2:5433,[::1]:5434/db");
});

test("reads hosts, such as Unix socket directories, from the query string", () => {
  assert.deepEqual(urlsOf("postgresql:///db?host=/run/a,/run/b&port=5433,5434"), [
    "postgresql:///db?host=%2Frun%2Fa&port=5433",
    "postgresql:///db?host=%2Frun%2Fb&port=5434",
  ]);
});

test("does not change a connection string with one host", () => {
  assert.deepEqual(urlsOf("postgres://user:secret@db.internal/reelpost"), [
    "postgres://user:secret@db.internal/reelpost",
  ]);
});

test("rejects invalid connection strings and those that allow a standby, without revealing the password", () => {
  for (const url of [
    "mysql://user:very-secret@h1/db",
    "very-secret",
    "postgres://user:very-secret@h1:x/db",
    "postgres://user:very-secret@h1,h2/db?target_session_attrs=standby",
  ])
    assert.throws(
      () => parsePostgresUrl(url),
      (err) => isStoreError(err, "unreachable") && !err.message.includes("very-secret"),
      url,
    );
});
