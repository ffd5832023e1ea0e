import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { systemClock } from "../../src/kernel/index.ts";
import { createAccess } from "../../src/stream/access/access.ts";
import { createPlayback } from "../../src/stream/playback/playback.ts";
import type { Video } from "../../src/stream/index.ts";
import {
  anyVideo,
  ntscModel,
  serveDelivery,
  serveVideo,
  storedSegments,
  UID,
} from "../../src/stream/playback/playback.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { needsFfmpeg } from "../support/media.ts";
import { suiteScope } from "../support/suite-scope.ts";

const PAGE = `<!doctype html><video muted></video><script src="/hls.js"></script><script>
  const video = document.querySelector("video");
  async function play(url) {
    const hls = new Hls({ enableWorker: false });
    const refused = new Promise((resolve) => hls.on(Hls.Events.ERROR, (_name, { fatal, response }) => fatal && resolve({ refused: response?.code })));
    hls.loadSource(url);
    hls.attachMedia(video);
    video.playbackRate = 4;
    const ended = new Promise((resolve) => video.addEventListener("ended", () => resolve({ at: video.currentTime })));
    void video.play().catch(() => {});
    return Promise.race([refused, ended]);
  }
</script>`;

const KID = "d".repeat(32);
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const word = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signs a token as a user's own server would, without project code. */
function tokenFor(claims: Record<string, unknown>): string {
  const signed = `${word({ alg: "RS256", kid: KID })}.${word({ sub: UID, kid: KID, exp: Math.floor(Date.now() / 1000) + 600, ...claims })}`;
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

describe("a protected video", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  let browser: Browser;
  let origin: string;
  let allowed: string;
  let other: string;
  const scope = suiteScope();

  before(async () => {
    browser = await openBrowser(scope);
    const site = {
      "/": { type: "text/html", body: PAGE },
      "/hls.js": { type: "text/javascript", file: clientFile("hls.js/dist/hls.js") },
    };
    [allowed, other] = (await Promise.all([openSite(scope, site), openSite(scope, site)])) as [string, string];
    const { objects } = await serveVideo(scope);
    const video: Video = anyVideo({
      model: ntscModel(),
      requireSignedURLs: true,
      allowedOrigins: [new URL(allowed).host],
    });
    const access = createAccess({
      videos: { find: async (uid) => (uid === UID ? video : undefined) },
      keys: {
        find: async (id) =>
          id === KID ? { account: video.account, publicKey: createPublicKey(privateKey) } : undefined,
      },
      countryOf: () => "PT",
      clock: systemClock,
    });
    origin = await serveDelivery(scope, {
      videos: [],
      access,
      routes: createPlayback({
        segments: storedSegments(objects),
        captions: { of: async () => [], vtt: async () => "WEBVTT\n" },
      }),
    });
  });

  const play = async (site: string, id: string) => {
    const { page } = await openPage(browser, `${site}/`);
    const result = await page.evaluate(`play(${JSON.stringify(`${origin}/${id}/manifest/video.m3u8`)})`);
    await page.context().close();
    return result as { at?: number; refused?: number };
  };

  test("plays to the end with its token on an allowed page, and on no other page", { timeout: 110_000 }, async () => {
    const token = tokenFor({
      accessRules: [
        { type: "ip.geoip.country", action: "allow", country: ["PT"] },
        { type: "any", action: "block" },
      ],
    });
    const played = await play(allowed, token);
    assert.ok((played.at ?? 0) > 9.9, JSON.stringify(played));
    assert.deepEqual(await play(other, token), { refused: 403 });
    assert.deepEqual(await play(allowed, UID), { refused: 401 });
  });

  test("its segments are protected in the same way as its manifests", async () => {
    const good = tokenFor({});
    const forged = `${good.slice(0, good.lastIndexOf(".") + 1)}${Buffer.alloc(256, 7).toString("base64url")}`;
    const cases: [string, number][] = [
      [good, 200],
      [UID, 401],
      [forged, 403],
      [tokenFor({ exp: Math.floor(Date.now() / 1000) - 60 }), 403],
      [tokenFor({ accessRules: [{ type: "ip.src", action: "block", ip: ["127.0.0.0/8"] }] }), 403],
      [tokenFor({ sub: "e".repeat(32) }), 404],
      [`${word({ alg: "none" })}.${word({ sub: UID })}.`, 403],
    ];
    for (const [id, status] of cases) {
      for (const path of [
        "manifest/video.m3u8",
        "manifest/video.mpd",
        "manifest/180p.m3u8",
        "segments/180p/init.mp4",
        "segments/180p/0.m4s",
        "segments/audio/1.m4s",
        "captions/de.vtt",
      ]) {
        const response = await fetch(`${origin}/${id}/${path}`);
        await response.arrayBuffer();
        assert.equal(response.status, status, `${id.slice(0, 40)} ${path}`);
        if (status === 200) assert.match(response.headers.get("cache-control")!, /^private/);
      }
    }
  });
});
