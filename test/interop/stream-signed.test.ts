// Tokens created as on a user's own server, following the documentation and without project code, used with the whole
// server.
import assert from "node:assert/strict";
import { createSign } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { until } from "../../src/stream/player/player.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { createScope } from "./platform.ts";
import { startVideoPlatform, type VideoPlatform } from "./video-platform.ts";

const missing =
  !existsSync(clientFile("hls.js")) &&
  process.env["REQUIRE_ALL"] !== "1" &&
  "the clients of the tests are not installed";
const HOUR = 3600;
const now = () => Math.floor(Date.now() / 1000);
const word = (value: string) => Buffer.from(value).toString("base64url");

/** Loads one segment at a time: requests the next one only when it is needed. */
const PAGE = `<!doctype html><video muted></video><script src="/hls.js"></script><script>
  const video = document.querySelector("video");
  window.refused = [];
  function play(url) {
    const hls = new Hls({ enableWorker: false, maxBufferLength: 1, maxMaxBufferLength: 1 });
    hls.on(Hls.Events.ERROR, (_name, { response }) => response && refused.push(response.code));
    hls.loadSource(url);
    hls.attachMedia(video);
    return video.play();
  }
</script>`;

describe("a signed video", { skip: needsFfmpeg.skip || withoutChromium() || missing }, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let browser: Browser;
  let client: VideoPlatform["client"];
  let account_id: string;
  let uid: string;
  let key: { id: string; pem: string; jwk: string };
  let site: string;
  before(async () => {
    const [path] = await Promise.all([
      clip({ seconds: 8 }),
      startVideoPlatform(scope, { REELPOST_HTTP_TRUSTED_PROXIES: "127.0.0.1" }).then((started) => (platform = started)),
      openBrowser(scope).then((opened) => (browser = opened)),
    ]);
    ({ client, account: account_id } = platform);
    site = await openSite(scope, {
      "/": { type: "text/html", body: PAGE },
      "/hls.js": { type: "text/javascript", file: clientFile("hls.js/dist/hls.js") },
    });
    const form = new FormData();
    form.set("file", new Blob([readFileSync(path)]), "private.mp4");
    ({ uid } = (await client.post(`/accounts/${account_id}/stream`, { body: form })).result);
    await platform.playable(uid);
    assert.equal((await client.stream.edit(uid, { account_id, requireSignedURLs: true })).requireSignedURLs, true);
    key = await client.stream.keys.create({ account_id, body: {} });
  });
  after(async () => {
    await scope.close();
    assert.deepEqual(platform.problems, []);
  });

  /** Signs with the jwk using Web Crypto, as documented. */
  async function signed(claims: object, { id, jwk } = key): Promise<string> {
    const imported = await crypto.subtle.importKey(
      "jwk",
      JSON.parse(Buffer.from(jwk, "base64").toString()),
      { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
      false,
      ["sign"],
    );
    const text = `${word(JSON.stringify({ alg: "RS256", kid: id }))}.${word(JSON.stringify({ sub: uid, kid: id, exp: now() + HOUR, ...claims }))}`;
    return `${text}.${Buffer.from(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", imported, Buffer.from(text))).toString("base64url")}`;
  }
  const status = async (id: string, path = "manifest/video.m3u8", headers: Record<string, string> = {}) =>
    (await fetch(`${platform.url}/${id}/${path}`, { headers })).status;
  /** Client address as reported by the reverse proxy. */
  const from = (address: string) => ({ "x-forwarded-for": address });

  it("plays with tokens from the pem key, the jwk and the API, and with times given as text; never by its id", async () => {
    const text = `${word(JSON.stringify({ alg: "RS256", kid: key.id }))}.${word(JSON.stringify({ sub: uid, kid: key.id, exp: String(now() + HOUR), nbf: String(now() - HOUR) }))}`;
    const byPem = `${text}.${createSign("RSA-SHA256").update(text).sign(Buffer.from(key.pem, "base64").toString()).toString("base64url")}`;
    const { token: byApi } = await client.stream.token.create(uid, { account_id });
    const paths = ["manifest/video.m3u8", "manifest/video.mpd", "thumbnails/thumbnail.jpg", "iframe", "watch"];
    for (const token of [await signed({}), byPem, byApi])
      assert.deepEqual(await Promise.all(paths.map((path) => status(token, path))), [200, 200, 200, 200, 200]);
    assert.deepEqual(await Promise.all(paths.slice(0, 3).map((path) => status(uid, path))), [401, 401, 401]);
    for (const claims of [{ exp: now() - HOUR }, { nbf: now() + HOUR }, { exp: now() + 48 * HOUR }])
      assert.equal(await status(await signed(claims)), 403, JSON.stringify(claims));
  });

  it("can be downloaded only with a token that allows it", async () => {
    await client.stream.downloads.create(uid, { account_id });
    let made;
    while ((made = (await client.stream.downloads.get(uid, { account_id })).default).status === "inprogress")
      await setTimeout(50);
    assert.equal(made.status, "ready");
    assert.deepEqual(
      [
        await status(uid, "downloads/default.mp4"),
        await status(await signed({}), "downloads/default.mp4"),
        await status(await signed({ downloadable: true }), "downloads/default.mp4"),
      ],
      [401, 403, 200],
    );
  });

  it("is served according to the first matching access rule, by country and by network", async () => {
    const american = await signed({
      accessRules: [
        { type: "ip.src", action: "block", ip: ["8.8.4.0/24"] },
        { type: "ip.geoip.country", action: "allow", country: ["US"] },
        { type: "any", action: "block" },
      ],
    });
    // Google's resolvers, and a root server in Sweden.
    assert.deepEqual(
      await Promise.all(
        ["8.8.8.8", "8.8.4.4", "192.36.148.17", "127.0.0.1"].map((address) =>
          status(american, "manifest/video.m3u8", from(address)),
        ),
      ),
      [200, 403, 403, 403],
    );
    const byNetwork = await signed({ accessRules: [{ type: "ip.src", action: "block", ip: ["0.0.0.0/0"] }] });
    // An IPv4 rule matches no IPv6 client, and a client that matches no rule is refused.
    assert.deepEqual(
      [
        await status(byNetwork, "segments/180p/0.m4s", from("2001:db8::1")),
        await status(byNetwork, "segments/180p/0.m4s", from("8.8.8.8")),
      ],
      [200, 403],
    );
  });

  async function playing(token: string): Promise<Page> {
    const { page } = await openPage(browser, site);
    await page.evaluate(`play(${JSON.stringify(`${platform.url}/${token}/manifest/video.m3u8`)})`);
    await until(page, "video.currentTime > 0.5");
    return page;
  }

  it("stops during playback when its key is deleted, and continues for viewers with a token signed with another key", async () => {
    const other = await client.stream.keys.create({ account_id, body: {} });
    const [one, two] = await Promise.all([playing(await signed({})), playing(await signed({}, other))]);
    assert.equal(await client.stream.keys.delete(key.id, { account_id }), "ok");
    await until(one, "refused.length > 0 && video.currentTime > 3.9");
    assert.deepEqual([...new Set((await one.evaluate("refused")) as number[])], [403]);
    assert.ok(((await one.evaluate("video.buffered.end(0)")) as number) < 5);
    await two.evaluate("video.playbackRate = 4");
    await until(two, "video.ended");
    assert.deepEqual(await two.evaluate("refused"), []);
  });
});
