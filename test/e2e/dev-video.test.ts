import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { clip, needsFfmpeg } from "../support/media.ts";
import { makeProject, serve } from "./dev-bench.ts";

const WORKER = `
export default {
  async fetch(request, { VIDEOS }) {
    const id = new URL(request.url).searchParams.get("id");
    if (request.method === "POST") return Response.json(await VIDEOS.upload(request.body, { meta: { name: "mine" } }));
    return Response.json(id === null ? await VIDEOS.videos.list() : await VIDEOS.video(id).details());
  },
};
`;

interface Details {
  id: string;
  readyToStream: boolean;
  preview: string;
  hlsPlaybackUrl: string;
}

test(
  "a worker in development uploads a video, which plays from the developer's port, appears in the API and triggers webhooks",
  needsFfmpeg,
  async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER }, { stream: { binding: "VIDEOS" } });
    const { url: base } = await serve(t, folder);
    const url = base.replace(/\/$/, "");

    const api = `${url}/cdn-cgi/stream/client/v4/accounts/${"0".repeat(32)}/stream`;
    const call = (path: string, init: RequestInit = {}) =>
      fetch(`${api}${path}`, { ...init, headers: { authorization: "Bearer anything", ...init.headers } });
    const webhook = Promise.withResolvers<{ body: string; signature: string }>();
    const receiver = createServer(async (request, response) => {
      webhook.resolve({ body: await text(request), signature: String(request.headers["webhook-signature"]) });
      response.end();
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    t.after(() => receiver.close());
    const notificationUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const {
      result: { secret },
    } = (await (await call("/webhook", { method: "PUT", body: JSON.stringify({ notificationUrl }) })).json()) as {
      result: { secret: string };
    };

    const film = await readFile(await clip());
    let video = (await (await fetch(url, { method: "POST", body: film })).json()) as Details;
    // No event announces this state, so the test polls for it.
    while (!video.readyToStream) {
      await pause(20);
      video = (await (await fetch(`${url}/?id=${video.id}`)).json()) as Details;
    }
    assert.equal(video.preview, `${url}/cdn-cgi/stream/${video.id}/watch`);
    const manifest = await (await fetch(video.hlsPlaybackUrl)).text();
    const playlist = new URL(/^[^#].*m3u8$/m.exec(manifest)![0], video.hlsPlaybackUrl);
    const segment = new URL(/^[^#].*$/m.exec(await (await fetch(playlist)).text())![0], playlist);
    assert.ok(segment.pathname.startsWith(`/cdn-cgi/stream/${video.id}/segments/`));
    assert.equal((await fetch(segment)).status, 200);
    const page = await (await fetch(video.preview)).text();
    for (const simulator of ["/__cf_local/stream", "/cdn-cgi/mf/stream"])
      assert.equal((await fetch(`${url}${simulator}/${video.id}/watch`)).url, video.preview);
    const script = /src="([^"]+player[^"]*\.js)"/.exec(page)?.[1];
    assert.equal((await fetch(new URL(script!, video.preview))).status, 200);

    const { body, signature } = await webhook.promise;
    const [, time, sig1] = /^time=(\d+),sig1=([0-9a-f]{64})$/.exec(signature)!;
    assert.equal(createHmac("sha256", secret).update(`${time}.${body}`).digest("hex"), sig1);
    assert.equal((JSON.parse(body) as { uid: string }).uid, video.id);

    const { result } = (await (await call("")).json()) as { result: { uid: string; meta: object }[] };
    assert.deepEqual(
      result.map(({ uid, meta }) => ({ uid, meta })),
      [{ uid: video.id, meta: { name: "mine" } }],
    );
    assert.equal((await call("", { headers: { origin: "https://elsewhere.example" } })).status, 403);
    assert.equal((await fetch(`${url}/cdn-cgi/stream/nothing`)).status, 404);
  },
);
