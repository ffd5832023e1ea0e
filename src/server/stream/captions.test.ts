import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLifecycle, createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { settingsSchema } from "../../kernel/settings.ts";
import type { Video } from "../../stream/index.ts";
import { openStore } from "../compose.ts";
import { composeCaptions } from "./captions.ts";

test("generations that nobody works at are looked for now and then, not only at the start", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const folder = mkdtempSync(join(tmpdir(), "reelpost-captions-"));
  const basics = {
    clock: createManualClock(0),
    ids: randomIds,
    log: silentLog,
    lifecycle: createLifecycle({ log: silentLog }),
  };
  const store = await openStore(folder, basics);
  t.after(async () => {
    await basics.lifecycle.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  // Its source is not there, so that a generation ends at once.
  const video = {
    uid: "e".repeat(32),
    account: "a".repeat(32),
    readyToStream: true,
    duration: 1,
    model: { audio: {}, source: { key: "gone" } },
  } as Video;
  const { captions } = composeCaptions(
    {
      store,
      folder,
      settings: settingsSchema.parse({ stream: { caption_command: ["/bin/true"] } }),
      tools: { ffmpeg: () => assert.fail("it was run") },
      videos: { get: async () => video, find: async () => video },
    },
    basics,
  );
  captions.start();
  t.mock.method(store.jobs, "enqueue", () => Promise.reject(new Error("the database is away")), { times: 1 });
  const ended = new Promise<void>(
    (resolve) =>
      void store.events.subscribe(
        "stream.captions",
        () => void captions.get(video.account, video.uid, "en").then(({ status }) => status === "error" && resolve()),
      ),
  );
  await captions.generate(video.account, video.uid, "en");
  basics.clock.advance(61_000);
  t.mock.timers.tick(60_000);
  await ended;
});
