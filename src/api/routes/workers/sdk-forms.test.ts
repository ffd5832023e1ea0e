import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiDocument } from "../../openapi.ts";
import { workerRoutes } from "./index.ts";
import { CODE, startWorkersApi, WORKERS } from "./workers.testing.ts";

const SCRIPT = `${WORKERS}/scripts/hello`;

/** Returns a form as the SDK sends it: branches instead of JSON, modules under `files`. */
function sdkForm(files: Record<string, string>, nameless = false): FormData {
  const form = new FormData();
  form.append("metadata[main_module]", Object.keys(files)[0]!);
  form.append("metadata[compatibility_date]", "2026-10-01");
  for (const [name, text] of [
    ["A", "1"],
    ["B", "2"],
  ]) {
    form.append("metadata[bindings][][type]", "plain_text");
    form.append("metadata[bindings][][name]", name!);
    form.append("metadata[bindings][][text]", text!);
  }
  for (const [name, content] of Object.entries(files))
    form.append(
      nameless ? "files[]" : `files[${name}]`,
      new File([content], name.split("/").at(-1)!, { type: "application/javascript+module" }),
    );
  return form;
}

test("accepts the SDK's forms, even with the content type of a script", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("put", SCRIPT, {
    body: sdkForm({ "worker.js": CODE }, true),
    headers: { "content-type": "application/javascript" },
  });
  assert.deepEqual((await ok("get", `${SCRIPT}/settings`)).bindings, [
    { type: "plain_text", name: "A", text: "1" },
    { type: "plain_text", name: "B", text: "2" },
  ]);
  const uploaded = await ok("put", SCRIPT, {
    body: sdkForm({
      "src/main.js": `export * from "./lib/x.js"; export { default } from "./lib/x.js";`,
      "src/lib/x.js": CODE,
    }),
  });
  assert.equal(uploaded.entry_point, "src/main.js");
  assert.deepEqual(
    (await ok("get", `${WORKERS}/workers/hello/versions/latest`, { query: { include: "modules" } })).modules.map(
      ({ name }: { name: string }) => name,
    ),
    ["src/main.js", "src/lib/x.js"],
  );

  const patch = new FormData();
  patch.append("settings[tags][]", "x");
  patch.append("settings[logpush]", "true");
  const settings = await ok("patch", `${SCRIPT}/settings`, { body: patch });
  assert.deepEqual([settings.tags, settings.logpush, settings.bindings.length], [["x"], true, 2]);
  assert.match(
    (
      await refused("put", SCRIPT, {
        body: '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\nb',
        headers: { "content-type": "application/javascript" },
      })
    ).join(" "),
    /^400 10021 Malformed multipart/,
  );
});

test("the SDK pages through deployments until a page is empty", async (t) => {
  const { ok } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: sdkForm({ "worker.js": CODE }) });
  const first = await ok("get", `${SCRIPT}/deployments`);
  assert.deepEqual([first.items.length, first.items], [1, first.deployments]);
  assert.deepEqual((await ok("get", `${SCRIPT}/deployments`, { query: { page: 2 } })).items, []);
});

test("every operation has a unique id and a description", () => {
  const routes = workerRoutes({
    scripts: undefined as never,
    assets: undefined as never,
    routing: { routes: undefined as never, domains: undefined as never, isActive: true },
    objectNamespaces: undefined as never,
  });
  const ids = routes.map(({ operation }) => operation.id);
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
  const { paths } = openApiDocument(routes, "0") as { paths: Record<string, object> };
  assert.ok(Object.keys(paths).length > 40);
});
