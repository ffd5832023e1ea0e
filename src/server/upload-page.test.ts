import assert from "node:assert/strict";
import { test } from "node:test";
import { spawnServe } from "../../test/support/serve.ts";

test(
  "a process that accepts uploads without serving video serves the complete upload page",
  { timeout: 60_000 },
  async (t) => {
    const {
      ready: { url, api, account, token },
    } = await spawnServe(t, { args: ["--roles", "api,workers"] });
    const created = await fetch(`${api}/accounts/${account!.id}/stream/direct_upload`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ maxDurationSeconds: 60 }),
    });
    const {
      result: { uploadURL, uid },
    } = (await created.json()) as { result: { uploadURL: string; uid: string } };
    const html = await (await fetch(uploadURL)).text();
    const parts = [...html.matchAll(/(?:src|href)="([^"]*embed[^"]*)"/g)].map(
      ([, address]) => new URL(address!, uploadURL),
    );
    assert.equal(parts.length, 2);
    for (const part of parts) assert.equal((await fetch(part)).status, 200, part.href);
    assert.equal((await fetch(`${url}/${uid}/watch`)).status, 404);
  },
);
