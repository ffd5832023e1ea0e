import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { defineErrors, silentLog } from "../../../kernel/index.ts";
import type { WorkerRuntime } from "../../index.ts";
import type { StreamPort } from "../../ports.ts";
import { noServices, scriptOf, startRuntime } from "../../runtime/runtime.testing.ts";
import { createStreamService } from "./service.ts";

const errors = defineErrors("test", {
  gone: { code: 10003, http: 404, message: "Not Found" },
  full: { code: 10011, http: 413, message: "Storage capacity exceeded" },
  tooLarge: { code: 10901, http: 413, message: "too large" },
  busy: { code: 10911, http: 503, message: "busy" },
});

const id = "v".repeat(32);
const SAID: [string, string, unknown[]][] = [
  [
    `stream.upload("https://example.com/a.mp4", { meta: { name: "é" } })`,
    "upload",
    ["https://example.com/a.mp4", { meta: { name: "é" } }],
  ],
  [`stream.createDirectUpload({ maxDurationSeconds: 60 })`, "createDirectUpload", [{ maxDurationSeconds: 60 }]],
  [`stream.videos.list({ limit: 3 })`, "videos/list", [{ limit: 3 }]],
  [`stream.video("${id}").details()`, "video/details", [id]],
  [`stream.video("${id}").update({ creator: "me" })`, "video/update", [id, { creator: "me" }]],
  [`stream.video("${id}").delete()`, "video/delete", [id]],
  [`stream.video("${id}").generateToken()`, "video/generateToken", [id, null]],
  [`stream.video("${id}").downloads.generate("audio")`, "downloads/generate", [id, "audio"]],
  [`stream.video("${id}").downloads.get()`, "downloads/get", [id]],
  [`stream.video("${id}").downloads.delete()`, "downloads/delete", [id, null]],
  [`stream.video("${id}").captions.generate("en")`, "captions/generate", [id, "en"]],
  [`stream.video("${id}").captions.list()`, "captions/list", [id, null]],
  [`stream.video("${id}").captions.delete("de")`, "captions/delete", [id, "de"]],
  [
    `stream.watermarks.generate("https://example.com/logo.png", { name: "logo" })`,
    "watermarks/generate",
    ["https://example.com/logo.png", { name: "logo" }],
  ],
  [`stream.watermarks.list()`, "watermarks/list", []],
  [`stream.watermarks.get("w")`, "watermarks/get", ["w"]],
  [`stream.watermarks.delete("w")`, "watermarks/delete", ["w"]],
];
const KINDS = [
  `new Uint8Array(300000)`,
  `new Uint8Array(300000).buffer`,
  `new Blob([new Uint8Array(300000)])`,
  `new Response(new Uint8Array(300000)).body`,
];
const upload = (kind: string) => `stream.upload(${kind}, { meta: { name: "été" } })`;
const CAPTIONS = `stream.video("x").captions.upload("en", new Response("WEBVTT").body)`;
const WATERMARK = `stream.watermarks.generate(new Response("PNG").body, { name: "logo" })`;
const ID = `stream.video("x").id`;
const DETAILS = `stream.video("x").details()`;

// Only a test inside a worker shows what the worker's code receives. The request contains the expression to evaluate;
// the response is its value or the thrown error.
const WORKER = `
const steps = { ${[...SAID.map(([code]) => code), ...KINDS.map(upload), CAPTIONS, WATERMARK, ID, DETAILS].map((code) => `[${JSON.stringify(code)}]: (stream) => ${code}`).join(",\n")} };
export default {
  async fetch(request, { VIDEOS }) {
    try {
      return Response.json({ returned: await steps[await request.text()](VIDEOS) });
    } catch (err) {
      return Response.json({ threw: { error: err instanceof Error, name: err.name, message: err.message, code: err.code, statusCode: err.statusCode } });
    }
  }
}`;

describe("the stream binding in a worker", () => {
  const calls: { operation: string; args: unknown[]; bytes?: number; account?: string | undefined }[] = [];
  let next: () => unknown = () => "done";
  const port: StreamPort = {
    async call({ account }, operation, args, bytes) {
      calls.push({
        operation,
        args,
        ...(bytes && { bytes: (await buffer(bytes)).length }),
        ...(account !== undefined && { account }),
      });
      return next();
    },
  };
  let runtime: WorkerRuntime;
  let base: string;
  const server = createServer((request, response) => void runtime.fetch("test", request, response));

  before(async () => {
    runtime = startRuntime({ services: { ...noServices, stream: createStreamService({ port, log: silentLog }) } });
    await runtime.deploy(scriptOf(WORKER, { account: "a".repeat(32), bindings: [{ type: "stream", name: "VIDEOS" }] }));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await runtime.close();
  });

  async function run(code: string, answer: () => unknown = () => "done") {
    next = answer;
    calls.length = 0;
    return (await (await fetch(base, { method: "POST", body: code })).json()) as {
      returned?: unknown;
      threw?: unknown;
    };
  }

  test("every method maps to one operation with its arguments", async () => {
    for (const [code, operation, args] of SAID) {
      assert.deepEqual(await run(code, () => ({ said: operation })), { returned: { said: operation } }, code);
      assert.deepEqual(calls, [{ operation, args, account: "a".repeat(32) }], code);
    }
    assert.deepEqual(await run(ID), { returned: "x" });
  });

  test("streams bytes of every type", async () => {
    for (const kind of KINDS) {
      assert.deepEqual(await run(upload(kind)), { returned: "done" });
      assert.deepEqual(
        calls,
        [{ operation: "uploadBytes", args: [{ meta: { name: "été" } }], bytes: 300_000, account: "a".repeat(32) }],
        kind,
      );
    }
    await run(CAPTIONS);
    assert.deepEqual([calls[0]!.operation, calls[0]!.args, calls[0]!.bytes], ["captions/upload", ["x", "en"], 6]);
    await run(WATERMARK);
    assert.deepEqual(
      [calls[0]!.operation, calls[0]!.args, calls[0]!.bytes],
      ["watermarks/generateFromBytes", [{ name: "logo" }], 3],
    );
  });

  test("errors have the name, code and status of the hosted binding; an internal error reveals nothing", async () => {
    const thrown = async (err: unknown) =>
      (
        await run(DETAILS, () => {
          throw err;
        })
      ).threw;
    assert.deepEqual(await thrown(errors.gone()), {
      error: true,
      name: "NotFoundError",
      message: "Not Found",
      code: 10003,
      statusCode: 404,
    });
    assert.deepEqual(await thrown(errors.full()), {
      error: true,
      name: "QuotaReachedError",
      message: "Storage capacity exceeded",
      code: 10011,
      statusCode: 413,
    });
    assert.deepEqual(await thrown(errors.tooLarge()), {
      error: true,
      name: "MaxFileSizeError",
      message: "too large",
      code: 10901,
      statusCode: 413,
    });
    assert.deepEqual(await thrown(errors.busy()), {
      error: true,
      name: "StreamError",
      message: "busy",
      code: 10911,
      statusCode: 503,
    });
    assert.deepEqual(await thrown(new Error("password is 123")), {
      error: true,
      name: "InternalError",
      message: "An internal error occurred",
      code: 10001,
      statusCode: 500,
    });
  });
});
