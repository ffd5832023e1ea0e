import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "jsonc-parser";
import type { Browser } from "playwright-core";
import { openBrowser, openPage, withoutChromium } from "../support/browser.ts";
import { clip, mediaClips, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";
import { programEntry } from "../support/program.ts";

const root = join(import.meta.dirname, "..", "..");
const example = join(root, "examples", "video-site");
const run = promisify(execFile);
const PATIENCE_MS = 100_000;

interface Shown {
  name: string;
  state: string;
  player?: string;
}

describe("examples/video-site on a server", { skip: needsFfmpeg.skip || withoutChromium() }, () => {
  const scope = createScope();
  let platform: Platform;
  let browser: Browser;
  let site: string;
  after(() => scope.close());
  before(async () => {
    platform = await startPlatform(scope, {
      REELPOST_EGRESS_ALLOW: "127.0.0.1/32",
      REELPOST_STREAM_ALLOW_PRIVATE: "true",
    });
    const { api, token, account, label } = platform;
    site = `http://video-site.${label}.localhost:${new URL(platform.url).port}`;

    const folder = await temporaryFolder(scope, "video-site");
    const { id } = await platform.ask<{ id: string }>(`/accounts/${account}/storage/kv/namespaces`, {
      method: "POST",
      body: JSON.stringify({ title: "video-site" }),
      headers: { "content-type": "application/json" },
    });
    const config = parse(await readFile(join(example, "wrangler.jsonc"), "utf8")) as object;
    await writeFile(
      join(folder, "wrangler.json"),
      JSON.stringify({
        ...config,
        main: join(example, "src", "index.ts"),
        vars: { API_BASE_URL: api },
        kv_namespaces: [{ binding: "VIDEOS", id }],
      }),
    );
    const reelpost = (...args: string[]) =>
      run(process.execPath, [programEntry, ...args], {
        env: { ...process.env, API_BASE_URL: api, API_TOKEN: token, ACCOUNT_ID: account },
        timeout: PATIENCE_MS,
      });
    await reelpost("deploy", "--config", join(folder, "wrangler.json"));
    const made = JSON.parse(
      (await reelpost("token", "create", "video-site", "--permission", "Stream Write", "--json")).stdout,
    ) as { value: string };
    await platform.ask(`/accounts/${account}/workers/scripts/video-site/secrets`, {
      method: "PUT",
      body: JSON.stringify({ name: "API_TOKEN", text: made.value, type: "secret_text" }),
      headers: { "content-type": "application/json" },
    });
    const { stdout } = await run(process.execPath, [join(example, "setup.mjs"), `${platform.url}/workers/video-site`], {
      env: { ...process.env, CLOUDFLARE_BASE_URL: api, CLOUDFLARE_API_TOKEN: token, CLOUDFLARE_ACCOUNT_ID: account },
      timeout: PATIENCE_MS,
    });
    assert.deepEqual(stdout.match(/secret \w+/g), [
      "secret ACCOUNT_ID",
      "secret STREAM_KEY_ID",
      "secret STREAM_JWK",
      "secret WEBHOOK_SECRET",
    ]);
    browser = await openBrowser(scope);
  });

  test("a visitor uploads a video, which plays below with a token signed by the worker; the webhook reports completion", async () => {
    const { page, problems } = await openPage(browser, site);
    await page.setInputFiles("input[type=file]", await clip(mediaClips.plain));
    await page.click("button");
    const player = page.frameLocator("#stage iframe");
    await player.locator("video").waitFor({ timeout: PATIENCE_MS });
    await player.locator("video").evaluate((video: { play(): Promise<void> }) => video.play());
    await page.locator("ul li", { hasNotText: "not finished" }).waitFor({ timeout: PATIENCE_MS });
    const seconds = await player.locator("video").evaluate(async (video: { currentTime: number; ended: boolean }) => {
      while (video.currentTime < 1 && !video.ended) await new Promise((resolve) => setTimeout(resolve, 50));
      return video.currentTime;
    });
    assert.ok(seconds > 0.9, `${seconds} s were played`);
    assert.deepEqual(problems, []);
    if (process.env["SCREENSHOTS"])
      await page.screenshot({ path: join(process.env["SCREENSHOTS"], "video-site.png"), fullPage: true });

    const [video] = (await (await fetch(`${platform.url}/workers/video-site/api/videos`)).json()) as (Shown & {
      uid: string;
    })[];
    assert.equal(video!.state, "ready");
    const { player: address } = (await (
      await fetch(`${platform.url}/workers/video-site/api/videos/${video!.uid}`)
    ).json()) as Shown;
    const manifest = address!.replace(/\/iframe\?.*/, "/manifest/video.m3u8");
    assert.equal((await fetch(manifest)).status, 200);
    assert.equal(
      (await fetch(`${platform.url}/${video!.uid}/manifest/video.m3u8`)).status,
      401,
      "a request without a token is rejected",
    );
    assert.equal(
      (await fetch(manifest, { headers: { origin: "https://elsewhere.example" } })).status,
      403,
      "only the site itself may embed it",
    );
  });

  test("a one-time URL accepts one file, and rejects the next with a reason", async () => {
    const invited = await fetch(`${platform.url}/workers/video-site/api/uploads`, {
      method: "POST",
      body: JSON.stringify({ name: "once.mp4" }),
    });
    const { uploadURL } = (await invited.json()) as { uploadURL: string };
    const send = async () => {
      const form = new FormData();
      form.append("file", new Blob([await readFile(await clip(mediaClips.plain))]), "once.mp4");
      return (await fetch(uploadURL, { method: "POST", body: form })).status;
    };
    assert.equal(await send(), 200);
    assert.ok((await send()) >= 400);
    assert.equal(
      (await fetch(`${platform.url}/workers/video-site/api/uploads`, { method: "POST", body: "{}" })).status,
      400,
    );
  });

  test("a notification is accepted if it is recent and signed with the secret", async () => {
    const { secret } = await platform.ask<{ secret: string }>(`/accounts/${platform.account}/stream/webhook`);
    const body = JSON.stringify({
      uid: "f".repeat(32),
      status: { state: "error", errorReasonText: "made up" },
      meta: { name: "told.mp4" },
    });
    const notify = async (time: number, by: string, sent = body) => {
      const signature = `time=${time},sig1=${createHmac("sha256", by).update(`${time}.${body}`).digest("hex")}`;
      const response = await fetch(`${platform.url}/workers/video-site/webhook`, {
        method: "POST",
        body: sent,
        headers: { "webhook-signature": signature },
      });
      return [response.status, (await response.text()).trim()];
    };
    const now = Math.floor(Date.now() / 1000);
    assert.deepEqual(await notify(now, "guessed"), [403, "the signature is wrong"]);
    assert.deepEqual(await notify(now - 600, secret), [403, "the signature is too old"]);
    assert.deepEqual(await notify(now, secret, body.replace("made up", "changed")), [403, "the signature is wrong"]);
    assert.equal((await fetch(`${platform.url}/workers/video-site/webhook`, { method: "POST", body })).status, 403);
    assert.deepEqual(await notify(now, secret), [200, "ok"]);
    const shown = (await (
      await fetch(`${platform.url}/workers/video-site/api/videos/${"f".repeat(32)}`)
    ).json()) as Shown & { why: string };
    assert.deepEqual([shown.name, shown.state, shown.why], ["told.mp4", "error", "made up"]);
  });
});
