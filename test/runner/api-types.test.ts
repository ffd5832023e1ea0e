import assert from "node:assert/strict";
import { test } from "node:test";
import { apiTypes, type ApiDocument } from "../../scripts/api-types.ts";

const document = (schema: object): ApiDocument => ({
  paths: {
    "/zones/{zone_id}": {
      patch: {
        operationId: "zones-patch",
        summary: "Update a zone",
        parameters: [
          { name: "zone_id", in: "path", required: true, schema: { type: "string" } },
          { name: "account.id", in: "query", schema: { type: "integer" } },
        ],
        requestBody: { content: { "application/json": { schema } } },
        responses: {
          200: { content: { "application/json": { schema: { type: "object", properties: { result: schema } } } } },
          "4XX": {},
        },
      },
      get: { operationId: "zones-export", responses: { 200: { content: { "text/plain": {} } } } },
    },
  },
});
const typeOf = (schema: object) => /result: (.*);\n {2}};\n}/.exec(apiTypes(document(schema)))?.[1];

test("writes path, query, body and result of each operation under its method and path", () => {
  const types = apiTypes(document({ type: "object", properties: { name: { type: "string" } }, required: ["name"] }));
  assert.match(
    types,
    /\/\*\* Update a zone \*\/\n {2}"PATCH \/zones\/\{zone_id\}": \{\n {4}path: \{ zone_id: string \};\n {4}query: \{ "account\.id"\?: number \};\n {4}body: \{ name: string \};\n {4}result: \{ name: string \};/,
  );
  assert.match(types, /"GET \/zones\/\{zone_id\}": \{\n.*\n.*\n {4}body: undefined;\n {4}result: undefined;/);
});

test("translates the schemas that the document uses", () => {
  for (const [schema, expected] of [
    [{ type: ["string", "null"] }, "(string | null)"],
    [{ enum: ["a", "b"] }, '("a" | "b")'],
    [{ const: true }, "true"],
    [{ type: "array", items: { type: "number" } }, "(number)[]"],
    [{ type: "array", prefixItems: [{ type: "string" }, { type: "boolean" }] }, "[string, boolean]"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "(string | null)"],
    [{ allOf: [{ $ref: "#/components/schemas/A" }, { type: "object" }] }, '(Schemas["A"] & Record<string, never>)'],
    [{ type: "object", additionalProperties: { type: "string" } }, "Record<string, string>"],
    [{ type: "object", properties: { a: {} }, additionalProperties: {} }, "{ a?: unknown; [more: string]: unknown }"],
    [{}, "unknown"],
  ] as const)
    assert.equal(typeOf(schema), expected);
});

test("lets requests omit fields that have a default", () => {
  const types = apiTypes(
    document({ type: "object", properties: { ttl: { type: "integer", default: 1 } }, required: ["ttl"] }),
  );
  assert.match(types, /body: \{ ttl\?: number \};\n {4}result: \{ ttl: number \};/);
});
