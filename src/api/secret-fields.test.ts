import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "@hono/zod-openapi";
import { redact, secretField, secretNamesOf } from "./secret-fields.ts";

const hide = (schema: z.ZodType, value: unknown) => redact(value, secretNamesOf(schema));

test("hides marked fields at any depth, and nothing else", () => {
  const key = z.object({ id: z.string(), pem: secretField(z.string()), note: z.string().nullable() });
  const schema = z.object({
    id: z.string(),
    keys: z.array(key),
    byName: z.record(z.string(), key.partial()),
    either: z.union([z.object({ token: secretField(z.string()).nullish() }), z.null()]),
    publish: secretField(z.object({ url: z.string() })).optional(),
  });
  assert.deepEqual(
    hide(schema, {
      id: "1",
      keys: [{ id: "2", pem: "secret", note: null }],
      byName: { a: { pem: "secret", note: "pem" } },
      either: { token: "secret" },
      publish: { url: "https://secret" },
    }),
    {
      id: "1",
      keys: [{ id: "2", pem: "[redacted]", note: null }],
      byName: { a: { pem: "[redacted]", note: "pem" } },
      either: { token: "[redacted]" },
      publish: "[redacted]",
    },
  );
});

test("hides a result that is itself a secret", () => {
  assert.equal(hide(secretField(z.string()), "secret"), "[redacted]");
  assert.equal(hide(secretField(z.string()), null), null);
});

test("keeps absent and empty secrets, so that a reader sees that there are none", () => {
  const schema = z.object({ secret: secretField(z.string()).nullish() });
  assert.deepEqual(hide(schema, { secret: null }), { secret: null });
  assert.deepEqual(hide(schema, { secret: "" }), { secret: "" });
  assert.deepEqual(hide(schema, {}), {});
});

test("leaves values without marked fields as they are", () => {
  const value = { at: new Date(0), list: [1] };
  assert.equal(hide(z.object({ at: z.date(), list: z.array(z.number()) }), value), value);
});
