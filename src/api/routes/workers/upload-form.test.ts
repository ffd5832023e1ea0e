import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../../kernel/index.ts";
import { isScriptType, readScriptBody, readUploadForm } from "./upload-form.ts";
import { CODE, formOf, metadataOf } from "./workers.testing.ts";

const refusal = async (form: FormData | Promise<FormData>): Promise<string> => {
  const thrown = await readUploadForm(await form).then(
    () => assert.fail("the form was accepted"),
    (err: unknown) => err,
  );
  assert.ok(thrown instanceof UserError, String(thrown));
  return `${thrown.code} ${thrown.message}`;
};
const withMetadata = (more: object, parts?: Parameters<typeof formOf>[1]) => formOf(metadataOf(more), parts);

describe("modules of an upload", () => {
  test("each content type determines the kind of module", async () => {
    const types = {
      "a.js": "application/javascript+module",
      "b.cjs": "application/javascript",
      "c.cjs": "text/javascript; charset=utf-8",
      "./d.txt": "text/plain",
      "e.bin": "application/octet-stream",
      "f.wasm": "application/wasm",
      "g.json": "application/json",
      "index.js.map": "application/source-map",
    };
    const { modules } = await readUploadForm(
      formOf(metadataOf(), {
        "index.js": [CODE, "application/javascript+module"],
        ...Object.fromEntries(Object.entries(types).map(([name, type]) => [name, ["x", type]])),
      }),
    );
    assert.deepEqual(
      modules.map(({ name, kind }) => [name, kind]),
      [
        ["index.js", "esm"],
        ["a.js", "esm"],
        ["b.cjs", "cjs"],
        ["c.cjs", "cjs"],
        ["./d.txt", "text"],
        ["e.bin", "data"],
        ["f.wasm", "wasm"],
        ["g.json", "json"],
        ["index.js.map", "source-map"],
      ],
    );
    assert.deepEqual(modules.find(({ name }) => name === "e.bin")!.content, new Uint8Array([0x78]));
  });

  test("the main module is JavaScript even with a generic content type, and is rejected with any other type", async () => {
    for (const type of ["application/javascript", "text/plain", "application/octet-stream"])
      assert.equal((await readUploadForm(formOf(metadataOf(), { "index.js": [CODE, type] }))).modules[0]!.kind, "esm");
    assert.match(
      await refusal(formOf(metadataOf(), { "index.js": ["", "application/wasm"] })),
      /10021 .*main module, but its content type is application\/wasm/,
    );
  });

  test("have their file names if the SDK sends them, and otherwise their part names", async () => {
    const form = formOf(metadataOf(), {});
    form.append("files", new File([CODE], "index.js", { type: "application/javascript+module" }));
    form.append("files", new File(["t"], "text.txt", { type: "text/plain" }));
    form.append("built.js", new File([CODE], "other-name.js", { type: "application/javascript+module" }));
    form.append("plain.txt", "a field, not a file");
    assert.deepEqual(
      (await readUploadForm(form)).modules.map(({ name, kind }) => `${name} ${kind}`),
      ["index.js esm", "text.txt text", "built.js esm", "plain.txt text"],
    );
  });

  test("are rejected if their kind is not supported or their text is not UTF-8", async () => {
    const other = (type: string, content: string | Uint8Array<ArrayBuffer> = "x") =>
      formOf(metadataOf(), { "index.js": [CODE, "application/javascript+module"], other: [content, type] });
    assert.match(await refusal(other("text/x-python")), /Python workers are not supported/);
    assert.match(await refusal(other("image/png")), /"image\/png" is not a module type/);
    assert.match(await refusal(other("text/plain", new Uint8Array([0xff]))), /'other'.*not UTF-8/);
  });

  test("a service-worker script is a single file, and its text files become bindings", async () => {
    const parts: Parameters<typeof formOf>[1] = {
      "index.js": ["addEventListener('fetch', () => {});", "application/javascript"],
      page_html: ["<p>", "text/plain"],
      "index.js.map": ["{}", "application/source-map"],
    };
    const upload = await readUploadForm(
      formOf({ body_part: "index.js", bindings: [{ name: "page_html", type: "text_blob", part: "page_html" }] }, parts),
    );
    assert.deepEqual(
      [upload.format, upload.main, upload.modules.map(({ name, kind }) => `${name} ${kind}`)],
      ["service-worker", "index.js", ["index.js cjs", "index.js.map source-map"]],
    );
    assert.deepEqual(upload.bindings, [{ name: "page_html", type: "plain_text", text: "<p>" }]);
    assert.match(
      await refusal(formOf({ body_part: "index.js" }, parts)),
      /'page_html'.*cannot have additional modules/,
    );
    assert.match(
      await refusal(
        formOf({ body_part: "index.js", bindings: [{ name: "w", type: "wasm_module", part: "w" }] }, parts),
      ),
      /type 'wasm_module'/,
    );
    assert.match(
      await refusal(
        formOf({ body_part: "index.js", bindings: [{ name: "t", type: "text_blob", part: "nowhere" }] }, parts),
      ),
      /binding t of type text_blob must have a valid `part` specified/,
    );
  });

  test("may be a script that is itself the body", () => {
    assert.deepEqual(
      [
        "application/javascript",
        "text/javascript; charset=utf-8",
        "application/javascript+module",
        "multipart/form-data",
        "application/json",
        "",
      ].map(isScriptType),
      [true, true, true, false, false, false],
    );
    const script = readScriptBody(Buffer.from("1"), "application/javascript");
    assert.deepEqual([script.format, script.main, script.modules[0]!.kind], ["service-worker", "script", "cjs"]);
    assert.equal(readScriptBody(Buffer.from("1"), "application/javascript+module").format, "modules");
  });
});

describe("metadata of an upload", () => {
  test("is read from a field or a file", async () => {
    const form = formOf(undefined);
    form.append(
      "metadata",
      new File(
        [
          JSON.stringify(
            metadataOf({
              limits: { cpu_ms: 50 },
              annotations: { "workers/message": "m", "workers/triggered_by": "me" },
            }),
          ),
        ],
        "metadata",
        { type: "application/json" },
      ),
    );
    const upload = await readUploadForm(form, { inheritStrictly: true });
    assert.deepEqual(
      [
        upload.format,
        upload.main,
        upload.compatibilityDate,
        upload.compatibilityFlags,
        upload.limits,
        upload.annotations,
        upload.inheritStrictly,
      ],
      ["modules", "index.js", "2026-10-01", ["nodejs_compat"], { cpuMs: 50 }, { "workers/message": "m" }, true],
    );
  });

  test("contains every binding type, and the bindings to keep", async () => {
    const bindings = [
      { name: "T", type: "plain_text", text: "t" },
      { name: "J", type: "json", json: null },
      { name: "S", type: "secret_text", text: "s" },
      { name: "K", type: "kv_namespace", namespace_id: "1" },
      { name: "R", type: "r2_bucket", bucket_name: "b", jurisdiction: "eu" },
      { name: "D", type: "d1", id: "2" },
      { name: "E", type: "d1", database_id: "3" },
      { name: "M", type: "send_email", allowed_sender_addresses: ["a@b.c"], destination_address: null },
      { name: "I", type: "inherit", old_name: "O", version_id: "latest" },
    ];
    const upload = await readUploadForm(
      withMetadata({ bindings, keep_bindings: ["secret_text", "secret_key", "plain_text"] }),
    );
    assert.deepEqual(upload.bindings, [
      { name: "T", type: "plain_text", text: "t" },
      { name: "J", type: "json", json: null },
      { name: "S", type: "secret_text", text: "s" },
      { name: "K", type: "kv_namespace", namespace_id: "1" },
      { name: "R", type: "r2_bucket", bucket_name: "b" },
      { name: "D", type: "d1", id: "2" },
      { name: "E", type: "d1", id: "3" },
      { name: "M", type: "send_email", allowed_sender_addresses: ["a@b.c"] },
      { name: "I", type: "inherit", oldName: "O" },
    ]);
    assert.deepEqual(upload.keepBindings, ["plain_text", "secret_text"]);
  });

  test("sets only the given settings", async () => {
    assert.deepEqual((await readUploadForm(withMetadata({}))).settings, {});
    const { settings } = await readUploadForm(
      withMetadata({
        logpush: true,
        tags: ["a"],
        observability: { enabled: true },
        placement: {},
        tail_consumers: [{ service: "t" }],
        usage_model: "standard",
      }),
    );
    assert.deepEqual(settings, {
      logpush: true,
      tags: ["a"],
      observability: { enabled: true },
      placement: null,
      tailConsumers: [{ service: "t" }],
      usageModel: "standard",
    });
  });

  test("reports invalid fields by name", async () => {
    assert.match(await refusal(formOf(undefined)), /10021 The upload has no part metadata/);
    assert.match(await refusal(formOf("{")), /10021 The part metadata is invalid: it is not JSON/);
    assert.match(await refusal(formOf("[]")), /metadata is invalid: .*expected object/);
    assert.match(await refusal(formOf({})), /does not name the main module/);
    assert.match(await refusal(withMetadata({ body_part: "index.js" })), /both a main_module and a body_part/);
    assert.match(
      await refusal(withMetadata({ compatibility_flags: "x", tags: [1] })),
      /tags\.0: .*; compatibility_flags: /,
    );
    assert.match(await refusal(withMetadata({ bindings: [{ type: "json" }] })), /bindings\[0\] has no name/);
    assert.match(await refusal(withMetadata({ bindings: ["x"] })), /bindings\.0: /);
    assert.equal(
      await refusal(withMetadata({ bindings: [{ name: "DB", type: "d1" }] })),
      "10021 binding DB of type d1 must have a valid `id` specified",
    );
    assert.equal(
      await refusal(withMetadata({ bindings: [{ name: "S", type: "secret_text" }] })),
      "10021 binding S of type secret_text must have a valid `text` specified",
    );
    assert.match(
      await refusal(withMetadata({ bindings: [{ name: "HD", type: "hyperdrive" }] })),
      /'HD' has the type 'hyperdrive'/,
    );
    assert.match(await refusal(withMetadata({ bindings: [{ name: "AI", type: "toString" }] })), /the type 'toString'/);
    assert.match(await refusal(withMetadata({ limits: { cpu_ms: -1 } })), /limits\.cpu_ms/);
    const twice = formOf(metadataOf());
    twice.append("metadata", "{}");
    assert.match(await refusal(twice), /more than once/);
  });

  test("rejects unsupported features unless they are empty", async () => {
    for (const empty of [{ exports: {} }, { assets: {} }, { containers: [] }])
      await readUploadForm(withMetadata(empty));
    assert.match(
      await refusal(withMetadata({ assets: { jwt: "t", config: { base_path: "//docs" } } })),
      /base_path: "\/\/docs" is a URL/,
    );
    assert.match(await refusal(withMetadata({ exports: { A: { type: "durable-object" } } })), /exports/);
    assert.match(await refusal(withMetadata({ containers: [{ class_name: "A" }] })), /Containers/);
  });

  test("accepts migrations with a list of steps or with a single step", async () => {
    const migrationsIn = async (migrations: unknown) => (await readUploadForm(withMetadata({ migrations }))).migrations;
    assert.equal(await migrationsIn({}), undefined);
    assert.equal(await migrationsIn(null), undefined);
    assert.deepEqual(await migrationsIn({ new_tag: "v1", steps: [] }), { newTag: "v1", steps: [] });
    const steps = [
      { new_sqlite_classes: ["A"] },
      { renamed_classes: [{ from: "A", to: "B" }], deleted_classes: ["C"] },
    ];
    assert.deepEqual(await migrationsIn({ old_tag: "v1", new_tag: "v2", steps }), {
      oldTag: "v1",
      newTag: "v2",
      steps,
    });
    assert.deepEqual(await migrationsIn({ new_tag: "v1", new_classes: ["A"], deleted_classes: [] }), {
      newTag: "v1",
      steps: [{ new_classes: ["A"] }],
    });
    assert.match(
      await refusal(withMetadata({ migrations: { transferred_classes: [{ from: "A", from_script: "w", to: "A" }] } })),
      /transfers the class 'A'/,
    );
    assert.match(await refusal(withMetadata({ migrations: { new_classes: "A" } })), /migrations\.new_classes/);
  });

  test("reads static assets, even without a main module", async () => {
    const config = {
      html_handling: "none",
      not_found_handling: "404-page",
      run_worker_first: ["/api/*"],
      _headers: "/*\n  A: b",
      _redirects: "/a /b",
    };
    const read = {
      htmlHandling: "none",
      notFoundHandling: "404-page",
      runWorkerFirst: ["/api/*"],
      headers: "/*\n  A: b",
      redirects: "/a /b",
    };
    const assetsOf = async (metadata: object) => (await readUploadForm(withMetadata(metadata))).assets;
    assert.deepEqual(await assetsOf({ assets: { jwt: "x", config } }), { token: "x", config: read });
    assert.deepEqual(await assetsOf({ keep_assets: true }), {});
    assert.deepEqual(await assetsOf({ keep_assets: true, assets: { config } }), { config: read });
    assert.deepEqual(await assetsOf({ assets: { jwt: "x", config: { serve_directly: false } } }), {
      token: "x",
      config: { runWorkerFirst: true },
    });
    assert.equal(await assetsOf({}), undefined);
    assert.match(await refusal(withMetadata({ assets: { config } })), /no `jwt`/);
    assert.match(
      await refusal(withMetadata({ assets: { jwt: "x", config: { run_worker_first: ["api"] } } })),
      /begins with neither/,
    );
    const only = await readUploadForm(formOf({ assets: { jwt: "x" } }, {}));
    assert.deepEqual([only.main, only.modules], ["", []]);
  });

  test("truncates a long message between characters", async () => {
    const { annotations } = await readUploadForm(
      withMetadata({ annotations: { "workers/message": "é".repeat(499) + "€€" } }),
    );
    assert.equal(annotations!["workers/message"], "é".repeat(499));
  });
});

describe("any upload", () => {
  const name = fc
    .string({ minLength: 1, unit: fc.constantFrom(...'abz./-_ é"%') })
    .filter((text) => text !== "metadata" && !/^files(\[\d*\])?$/.test(text));
  const content = fc.oneof(
    fc.string({ unit: "grapheme" }).map((text) => [Buffer.from(text), "text/plain"] as const),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => [bytes, "application/octet-stream"] as const),
  );

  test("delivers its modules unchanged over HTTP", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(name, content), { selector: ([each]) => each, maxLength: 5 }),
        async (parts) => {
          const form = formOf(metadataOf({ main_module: "the main one" }), {
            "the main one": [CODE, "application/javascript+module"],
            ...Object.fromEntries(
              parts.map(([each, [bytes, type]]) => [each, [bytes as Uint8Array<ArrayBuffer>, type]]),
            ),
          });
          const wire = new Response(form);
          const received = await new Response(await wire.arrayBuffer(), {
            headers: { "content-type": wire.headers.get("content-type")! },
          }).formData();
          const modules = new Map((await readUploadForm(received)).modules.map((module) => [module.name, module]));
          assert.equal(modules.size, parts.length + 1);
          for (const [each, [bytes]] of parts)
            assert.deepEqual(Buffer.from(modules.get(each)!.content as string), Buffer.from(bytes));
        },
      ),
      { numRuns: 60 },
    );
  });

  test("is accepted or rejected with a reason, regardless of its metadata", async () => {
    const field = fc.constantFrom(
      "main_module",
      "body_part",
      "bindings",
      "keep_bindings",
      "compatibility_date",
      "compatibility_flags",
      "limits",
      "tags",
      "observability",
      "placement",
      "annotations",
      "migrations",
      "assets",
      "tail_consumers",
      "logpush",
    );
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant("index.js"),
      fc.array(
        fc.record(
          {
            name: fc.string(),
            type: fc.constantFrom("json", "d1", "inherit", "send_email", "__proto__", "x"),
            id: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(field, odd), async (metadata) => {
        try {
          await readUploadForm(formOf(metadata));
        } catch (thrown) {
          assert.ok(thrown instanceof UserError, String(thrown));
          assert.equal(thrown.entry.http, 400);
          assert.doesNotMatch(`${thrown.message} ${thrown.fix}`, /\{\w+\}/, "a placeholder was not filled in");
        }
      }),
      { numRuns: 300 },
    );
  });
});
