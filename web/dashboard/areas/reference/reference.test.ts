import assert from "node:assert/strict";
import { test } from "node:test";
import { curlOf, fetchOf, requestUrl, type RequestValues } from "./examples.ts";
import { fieldsOf, notesOf, sampleOf, typeOf, type Schema } from "./schema.ts";

const request: RequestValues = {
  method: "put",
  path: "/accounts/{account_id}/values/{key}",
  params: { account_id: "a/b" },
  query: { limit: "5", cursor: "" },
  body: `{"name":"it's"}`,
  isJson: true,
};

test("builds the URL of a request and keeps placeholders without a value", () => {
  assert.equal(requestUrl(request), "/client/v4/accounts/a%2Fb/values/{key}?limit=5");
});

test("quotes the body of a command for the shell", () => {
  assert.equal(
    curlOf(request, "https://api.example.com"),
    String.raw`curl -X PUT 'https://api.example.com/client/v4/accounts/a%2Fb/values/{key}?limit=5' \
  -H "Authorization: Bearer $API_TOKEN" \
  --json '{"name":"it'\''s"}'`,
  );
  assert.match(curlOf({ ...request, isJson: false }, ""), /--data-binary '/);
  assert.match(
    fetchOf(request, ""),
    /method: "PUT",\n.*"content-type": "application\/json" },\n  body: JSON\.stringify\(/,
  );
});

const rules: Schema = {
  type: "object",
  required: ["name", "actions"],
  properties: {
    name: { type: "string", maxLength: 20, description: "Shown in lists" },
    priority: { type: ["integer", "null"], minimum: -Number.MAX_SAFE_INTEGER },
    actions: {
      type: "array",
      items: {
        type: "object",
        required: ["type"],
        properties: { type: { type: "string", enum: ["drop", "forward"] } },
      },
    },
  },
};

test("describes types and limits in words", () => {
  assert.equal(typeOf(rules.properties!["actions"]), "list of objects");
  assert.equal(typeOf(rules.properties!["priority"]), "integer | null");
  assert.equal(typeOf({ type: "array", items: { enum: ["a", "b"] } }), 'list of ("a" | "b")');
  assert.equal(notesOf(rules.properties!["name"]), "Shown in lists, at most 20 characters");
  assert.equal(notesOf(rules.properties!["priority"]), "");
});

test("lists nested fields under their parent", () => {
  assert.deepEqual(
    fieldsOf(rules).map(({ path, depth, isRequired }) => [path, depth, isRequired]),
    [
      ["name", 0, true],
      ["priority", 0, false],
      ["actions", 0, true],
      ["actions.type", 1, true],
    ],
  );
  assert.deepEqual(fieldsOf({ type: "string" }), []);
});

test("creates a minimal example body", () => {
  assert.deepEqual(sampleOf(rules), { name: "…", actions: [{ type: "drop" }] });
  assert.deepEqual(sampleOf({ anyOf: [{ type: "array", items: { type: "integer", minimum: 3 } }, rules] }), [3]);
});
