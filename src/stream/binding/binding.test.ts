import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import { createStreamBinding } from "./binding.ts";

const UID = "0".repeat(32);

/** Returns a binding whose services throw `err` and have no downloads. */
function bindingOf(err: UserError) {
  const refuse = async () => {
    throw err;
  };
  const service = new Proxy({}, { get: () => refuse });
  const deleted: string[] = [];
  const binding = createStreamBinding({
    videos: service,
    urls: {},
    uploads: service,
    tokens: service,
    downloads: {
      list: async (_account: string, uid: string) => (uid === UID ? [{ type: "default" }] : []),
      delete: async (_account: string, uid: string, type: string) => void deleted.push(`${uid}/${type}`),
    },
    captions: service,
    watermarks: service,
  } as unknown as Parameters<typeof createStreamBinding>[0]);
  const call = (operation: string, ...args: unknown[]) =>
    binding.call({ script: "w", account: "a".repeat(32) }, operation, args, undefined);
  return { call, deleted };
}

async function refusal(calling: Promise<unknown>): Promise<[number | string, number, string]> {
  const err = await calling.then(
    () => assert.fail("resolved"),
    (thrown: unknown) => thrown,
  );
  assert.ok(err instanceof UserError);
  return [err.code, err.entry.http, err.message];
}

test("errors for missing resources have the messages of the local simulator", async () => {
  const video = bindingOf(streamErrors.videoNotFound({ uid: "x" }));
  for (const [operation, ...args] of [
    ["video/details", "x"],
    ["video/update", "x", {}],
    ["video/delete", "x"],
    ["video/generateToken", "x"],
    ["captions/generate", "x", "en"],
    ["captions/list", "x"],
  ] as const)
    assert.deepEqual(await refusal(video.call(operation, ...args)), [10003, 404, "Video not found: x"], operation);
  const captions = bindingOf(streamErrors.captionNotFound({ language: "tr" }));
  assert.deepEqual(await refusal(captions.call("captions/delete", "x", "tr")), [10003, 404, "Caption not found: x/tr"]);
  const watermarks = bindingOf(streamErrors.watermarkNotFound({ uid: "x" }));
  assert.deepEqual(await refusal(watermarks.call("watermarks/get", "x")), [10003, 404, "Watermark not found: x"]);
});

test("downloads.delete deletes one download, and rejects one that does not exist", async () => {
  const { call, deleted } = bindingOf(streamErrors.videoNotFound({ uid: "x" }));
  await call("downloads/delete", UID);
  assert.deepEqual(deleted, [`${UID}/default`]);
  assert.deepEqual(await refusal(call("downloads/delete", UID, "audio")), [
    10003,
    404,
    `Download not found: ${UID}/audio`,
  ]);
});

test("errors for invalid parameters have the messages of the local simulator, and other errors are unchanged", async () => {
  const full = streamErrors.quotaExceeded({ used: 1, limit: 1, requested: 1 });
  const { call } = bindingOf(full);
  assert.deepEqual(await refusal(call("videos/list", { before: "2026-01-01", beforeComp: "ne" })), [
    10005,
    400,
    "Invalid comparison operator: ne",
  ]);
  assert.deepEqual(await refusal(call("watermarks/generate", "https://example.com/a.png", { opacity: 2 })), [
    10005,
    400,
    "opacity must be between 0.0 and 1.0",
  ]);
  await assert.rejects(call("upload", "https://example.com/a.mp4"), full);
});
