import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { UserError } from "../../../kernel/index.ts";
import { checkCacheTtl, expiryOf } from "./checks.ts";

const NOW = 1_700_000_000_500;
const refused = (message: string) => (error: UserError) => (assert.equal(error.message, message), true);

describe("expiration of a put", () => {
  test("is absent, absolute or relative, and the relative one takes precedence", () => {
    assert.equal(expiryOf({}, NOW), null);
    assert.equal(expiryOf({ expiration: "1700000060" }, NOW), 1_700_000_060_000);
    assert.equal(expiryOf({ ttl: "60" }, NOW), 1_700_000_060_000);
    assert.equal(expiryOf({ expiration: "1", ttl: "61" }, NOW), 1_700_000_061_000);
  });
  test("is rejected with the messages of the real service if it is invalid", () => {
    assert.throws(
      () => expiryOf({ ttl: "nonsense" }, NOW),
      refused("Invalid expiration_ttl of nonsense. Please specify integer greater than 0."),
    );
    assert.throws(
      () => expiryOf({ ttl: "0" }, NOW),
      refused("Invalid expiration_ttl of 0. Please specify integer greater than 0."),
    );
    assert.throws(
      () => expiryOf({ ttl: "59" }, NOW),
      refused("Invalid expiration_ttl of 59. Expiration TTL must be at least 60."),
    );
    assert.throws(
      () => expiryOf({ expiration: "nonsense" }, NOW),
      refused(
        "Invalid expiration of nonsense. Please specify integer greater than the current number of seconds since the UNIX epoch.",
      ),
    );
    assert.throws(
      () => expiryOf({ expiration: "1700000000" }, NOW),
      refused(
        "Invalid expiration of 1700000000. Please specify integer greater than the current number of seconds since the UNIX epoch.",
      ),
    );
    assert.throws(
      () => expiryOf({ expiration: "1700000059" }, NOW),
      refused("Invalid expiration of 1700000059. Expiration times must be at least 60 seconds in the future."),
    );
    assert.throws(() => checkCacheTtl("29"), refused("Invalid cache_ttl of 29. Cache TTL must be at least 30."));
  });
});
