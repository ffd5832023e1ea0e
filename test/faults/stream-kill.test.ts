import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { needsFfmpeg } from "../support/media.ts";
import { killRepeatedly } from "./stream/kills.ts";

test(
  "kill -9 during uploads and encoding loses no acknowledged video and no frame in any rendition",
  { ...needsFfmpeg, timeout: 240_000 },
  async (t) => {
    const seed = randomInt(2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const figures = await killRepeatedly(t, {
      kills: 3,
      clients: 2,
      seed,
      samples: 2,
      backlog: 2,
      settleMs: 120_000,
    });
    t.diagnostic(JSON.stringify(figures));
    assert.ok(figures.during.upload + figures.during.encoding > 0, "the server was killed while it was working");
    assert.ok(figures.acknowledged.tus > 0 && figures.resumed > 0 && figures.checked.frames > 0);
  },
);
