import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsSchema } from "../../kernel/settings.ts";
import { createSecrets, parseKeys } from "../../store/index.ts";
import { setUpSrs } from "./setup.ts";

const settings = settingsSchema.parse({ email: { forward_domain: "Fwd.Example" } });
const secrets = createSecrets({ keys: parseKeys(Buffer.alloc(32, 7).toString("base64"), "test") });

test("decodes a return path in any process of the installation", () => {
  const [one, two] = [setUpSrs(settings, secrets), setUpSrs(settings, secrets)];
  const there = one.forward("a@sender.example", Date.now());
  assert.ok(there.ok);
  assert.deepEqual(two.reverse(there.address, Date.now()), { ok: true, address: "a@sender.example" });
});
