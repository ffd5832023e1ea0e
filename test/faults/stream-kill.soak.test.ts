import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { needsFfmpeg } from "../support/media.ts";
import { killRepeatedly } from "./stream/kills.ts";

test(
  "50 kills (kill -9) at random moments of uploads and encoding lose no acknowledged video and no frame in any rendition",
  needsFfmpeg,
  async (t) => {
    const seed = Number(process.env["SEED"] ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}`);
    const figures = await killRepeatedly(t, { kills: 50, clients: 3, seed, backlog: 8, settleMs: 300_000 });
    t.diagnostic(JSON.stringify(figures));
    assert.equal(figures.kills, 50);
    assert.ok(figures.during.upload >= 10 && figures.during.encoding >= 10, JSON.stringify(figures.during));
    assert.ok(figures.resumedMidway > 0 && figures.acknowledged.form > 0);
  },
);
