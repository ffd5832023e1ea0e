import assert from "node:assert/strict";
import { test } from "node:test";
import { expectErrorKind } from "../accounts.testing.ts";
import { createPasswordHasher } from "./password-hash.ts";
import { CHEAP } from "./sign-in.testing.ts";

test("a hash contains the parameters of scrypt and another salt each time", async () => {
  const hasher = createPasswordHasher();
  const hashes = await Promise.all([hasher.hash("secret"), hasher.hash("secret")]);
  for (const hash of hashes) {
    assert.match(hash, /^scrypt\$ln=15,r=8,p=3\$[\w-]{22}\$[\w-]{43}$/);
    assert.ok(await hasher.verify("secret", hash));
    assert.ok(!(await hasher.verify("Secret", hash)));
  }
  assert.notEqual(hashes[0], hashes[1]);
});

test("a password is verified with the parameters of its hash", async () => {
  const hash = await createPasswordHasher(CHEAP).hash("secret");
  const hasher = createPasswordHasher({ ...CHEAP, ln: 5 });
  assert.ok(await hasher.verify("secret", hash));
  assert.deepEqual([hasher.isOutdated(hash), hasher.isOutdated(await hasher.hash("secret"))], [true, false]);
});

test("no password matches if the user has none", async () => {
  assert.equal(await createPasswordHasher(CHEAP).verify("secret", undefined), false);
});

test("the number of passwords that wait to be hashed is limited", async () => {
  const hasher = createPasswordHasher(CHEAP);
  const results = await Promise.allSettled(Array.from({ length: 40 }, () => hasher.verify("secret", undefined)));
  const failures = results.filter((result) => result.status === "rejected");
  assert.equal(failures.length, 6);
  for (const { reason } of failures) expectErrorKind("signInBusy")(reason);
});
