import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { isStoreError } from "../errors.ts";
import type { Secrets } from "./port.ts";

/** Tests the behaviour of every `Secrets` implementation. */
export function secretsConformance(create: () => Secrets): void {
  const refused = (err: unknown) => isStoreError(err, "cannotOpenSecret");

  test("an encrypted value can be decrypted with its context", () => {
    const secrets = create();
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), (plain, context) => {
        assert.equal(secrets.open(secrets.seal(plain, context), context), plain);
      }),
    );
    const long = "x".repeat(1_000_000);
    assert.equal(secrets.open(secrets.seal(long, "c"), "c"), long);
  });

  test("encrypting a value produces a different result each time, in visible ASCII without spaces", () => {
    const secrets = create();
    const sealed = new Set(Array.from({ length: 100 }, () => secrets.seal("value", "c")));
    assert.equal(sealed.size, 100);
    for (const each of sealed) assert.match(each, /^[!-~]+$/);
  });

  test("derived keys are stable, and differ by purpose", () => {
    const secrets = create();
    assert.deepEqual(secrets.derive("srs"), secrets.derive("srs"));
    assert.equal(Buffer.from(secrets.derive("srs")[0], "base64url").length, 32);
    assert.notDeepEqual(secrets.derive("srs"), secrets.derive("verp"));
  });

  test("rejects a secret that was encrypted for another context", () => {
    const secrets = create();
    assert.throws(() => secrets.open(secrets.seal("v", "script/a/KEY"), "script/b/KEY"), refused);
    assert.throws(() => secrets.open(secrets.seal("v", ""), "x"), refused);
  });

  test("rejects a modified or truncated value at any position", () => {
    const secrets = create();
    const sealed = secrets.seal("value", "c");
    for (let at = 0; at < sealed.length; at++) {
      assert.throws(() => secrets.open(sealed.slice(0, at), "c"), refused, `truncated at ${at}`);
      const other = sealed[at] === "A" ? "B" : "A";
      assert.throws(
        () => secrets.open(sealed.slice(0, at) + other + sealed.slice(at + 1), "c"),
        refused,
        `changed at ${at}`,
      );
    }
    for (const garbage of ["", "plain", "v1..", "v1.a.b.c", `${sealed}.x`, `${sealed}A`, ` ${sealed}`])
      assert.throws(() => secrets.open(garbage, "c"), refused, garbage);
  });
}
