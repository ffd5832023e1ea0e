import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { png } from "../../src/stream/watermarks/png.testing.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { createScope } from "./platform.ts";
import { startSite, startVideoPlatform, type Site, type VideoPlatform } from "./video-platform.ts";

/** Calls everything in the worker types of the binding, with one step for each path. */
const WORKER = `
const steps = {
  upload: (env, { url }) => env.STREAM.upload(url, { meta: { name: "by a worker" }, creator: "ann" }),
  direct: (env) => env.STREAM.createDirectUpload({ maxDurationSeconds: 60, meta: { name: "by a visitor" } }),
  details: (env, { id }) => env.STREAM.video(id).details(),
  update: (env, { id }) => env.STREAM.video(id).update({ meta: { name: "renamed" }, requireSignedURLs: true }),
  token: (env, { id }) => env.STREAM.video(id).generateToken(),
  captions: async (env, { id }) => {
    const { captions } = env.STREAM.video(id);
    const sent = await captions.upload("tr", new Response("WEBVTT\\n\\n00:00.500 --> 00:01.500\\nmerhaba\\n").body);
    const listed = await captions.list();
    await captions.delete("tr");
    return [sent, listed, await captions.delete("tr").catch(({ name, code, statusCode }) => ({ name, code, statusCode }))];
  },
  downloads: async (env, { id }) => {
    const { downloads } = env.STREAM.video(id);
    const made = await downloads.generate("audio");
    const listed = await downloads.get();
    await downloads.delete("audio");
    return [made, listed, await downloads.get()];
  },
  watermarks: async (env, { logo }) => {
    const made = await env.STREAM.watermarks.generate((await fetch(logo)).body, { name: "logo", opacity: 0.5 });
    const all = [made, await env.STREAM.watermarks.get(made.id), (await env.STREAM.watermarks.list()).length];
    await env.STREAM.watermarks.delete(made.id);
    return [...all, (await env.STREAM.watermarks.list()).length];
  },
  list: (env) => env.STREAM.videos.list({ limit: 10 }),
  delete: async (env, { id }) => { await env.STREAM.video(id).delete(); return null; },
};
export default {
  async fetch(request, env) {
    try {
      return Response.json(await steps[new URL(request.url).pathname.slice(1)](env, await request.json()));
    } catch (err) {
      return Response.json({ name: err.name, message: err.message, code: err.code, statusCode: err.statusCode }, { status: 500 });
    }
  },
};
`;

describe("wrangler: a worker with a stream binding", needsFfmpeg, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let site: Site;
  before(async () => {
    const path = await clip({ seconds: 4 });
    [platform, site] = await Promise.all([
      startVideoPlatform(scope, { REELPOST_EGRESS_ALLOW_LOOPBACK: "true" }),
      startSite(scope, {
        "/clip.mp4": { type: "video/mp4", path },
        "/logo.png": { type: "image/png", body: png(40, 20) },
      }),
    ]);
  });
  after(scope.close);

  // oxlint-disable-next-line no-explicit-any
  async function step(name: string, given: object = {}): Promise<any> {
    const { status, text } = await platform.visit("studio", `/${name}`, {
      method: "POST",
      body: JSON.stringify(given),
    });
    assert.equal(status, 200, `${name}: ${text}`);
    return JSON.parse(text);
  }

  it("a deployed worker can use the whole video service", { timeout: 90_000 }, async () => {
    const wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        name: "studio",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        stream: { binding: "STREAM" },
      }),
      "worker.js": WORKER,
    });
    assert.match((await wrangler.run(["deploy"])).text, /env\.STREAM\b.*Stream/);

    const { id, status } = await step("upload", { url: `${site.origin}/clip.mp4` });
    assert.equal(status.state, "downloading");
    const { playback, meta, creator } = await platform.playable(id);
    assert.deepEqual([meta["name"], creator], ["by a worker", "ann"]);
    const details = await step("details", { id });
    assert.deepEqual(
      [details.id, details.duration, details.hlsPlaybackUrl, details.watermark, details.clippedFromId],
      [id, 4, playback.hls, null, null],
    );

    const [sent, listed, none] = await step("captions", { id });
    assert.deepEqual([sent, listed], [{ language: "tr", label: "Türkçe", generated: false, status: "ready" }, [sent]]);
    assert.deepEqual(none, { name: "NotFoundError", code: 10003, statusCode: 404 });
    const [made, had, left] = await step("downloads", { id });
    assert.deepEqual([Object.keys(made), Object.keys(had), left], [["audio"], ["audio"], {}]);
    const [profile, read, count, after] = await step("watermarks", { logo: `${site.origin}/logo.png` });
    assert.deepEqual(
      [profile.name, profile.width, profile.opacity, read, count, after],
      ["logo", 40, 0.5, profile, 1, 0],
    );

    const updated = await step("update", { id });
    assert.deepEqual([updated.meta, updated.requireSignedURLs], [{ name: "renamed" }, true]);
    const token = await step("token", { id });
    assert.deepEqual(
      await Promise.all(
        [id, token].map(async (name) => (await fetch(`${platform.url}/${name}/manifest/video.m3u8`)).status),
      ),
      [401, 200],
    );

    const direct = await step("direct");
    const form = new FormData();
    form.set("file", new Blob([Buffer.from("no video")]), "x.mp4");
    assert.equal((await fetch(direct.uploadURL, { method: "POST", body: form })).status, 400);
    assert.deepEqual(
      (await step("list")).map(({ id }: { id: string }) => id),
      [direct.id, id],
    );
    await step("delete", { id });
    const gone = await platform.visit("studio", "/details", { method: "POST", body: JSON.stringify({ id }) });
    assert.deepEqual(
      { ...JSON.parse(gone.text), message: "" },
      { name: "NotFoundError", message: "", code: 10003, statusCode: 404 },
    );
  });
});
