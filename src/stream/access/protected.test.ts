import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite } from "../../store/index.ts";
import { createDelivery } from "../delivery/delivery.ts";
import type { DeliveryRoute } from "../delivery/route.ts";
import type { AccessPurpose } from "./port.ts";
import { streamErrors } from "../errors.ts";
import { streamKeysMigrations } from "../keys/keys-table.ts";
import { createSigningKeys } from "../keys/keys.ts";
import { createPlaybackTokens } from "../tokens/tokens.ts";
import { testVideo } from "../videos/videos.testing.ts";
import { createAccess } from "./access.ts";
import { createCountryLookup } from "./countries.ts";

const ACCOUNT = "a".repeat(32);
const UID = "e".repeat(32);
/** An address of RIPE NCC in the Netherlands, and an address without a country. */
const DUTCH = "193.0.6.139";
const NOWHERE = "10.0.0.1";

/** Keys in a database, with tokens, access and delivery wired as in production, over HTTP. */
async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-protected-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, streamKeysMigrations);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(1_800_000_000_000);
  const keys = createSigningKeys({
    db,
    events,
    clock,
    ids: randomIds,
    secrets: createSecrets({ keys: [Buffer.alloc(32, 7)] }),
  });
  const videos = new Map([
    [UID, testVideo({ uid: UID, account: ACCOUNT, requireSignedURLs: true, allowedOrigins: ["*.example.com"] })],
  ]);
  const find = async (uid: string) => videos.get(uid);
  const get = async (_: string, uid: string) => videos.get(uid) ?? Promise.reject(streamErrors.videoNotFound({ uid }));
  const tokens = createPlaybackTokens({ videos: { get }, keys, clock });
  const route = (path: string, purpose: AccessPurpose): DeliveryRoute => ({
    path,
    purpose,
    handle: async ({ sendText }) => sendText(`${path} of it`, { type: "text/plain" }),
  });
  const delivery = createDelivery({
    routes: [
      route("manifest/video.m3u8", "play"),
      route("segments/{rendition}/{segment}", "play"),
      route("iframe", "page"),
      route("downloads/default.mp4", "download"),
    ],
    access: createAccess({ videos: { find }, keys, clock, countryOf: createCountryLookup() }),
    address: (request) => String(request.headers["x-test-address"]),
    origin: () => "https://videos.test",
    log: silentLog,
  });
  const server = createServer((request, response) => void delivery.handle(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    server.close();
    server.closeAllConnections();
    keys.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const status = async (path: string, { from = DUTCH, ...headers }: Record<string, string> = {}) => {
    const response = await fetch(`${url}/${path}`, { headers: { "x-test-address": from, ...headers } });
    await response.text();
    return response.status;
  };
  return { status, tokens, keys, clock };
}

const PATHS = ["manifest/video.m3u8", "segments/360p/init.mp4", "segments/360p/7.m4s", "iframe"];

test("a token plays its video only as long as the token, its key, its rules and its origins allow it", async (t) => {
  const { status, tokens, keys, clock } = await setUp(t);
  const all = async (id: string, expected: number, viewer?: Record<string, string>) => {
    for (const path of PATHS) assert.equal(await status(`${id}/${path}`, viewer), expected, path);
  };
  const token = await tokens.sign(ACCOUNT, UID, {
    accessRules: [
      { type: "ip.geoip.country", action: "allow", country: ["NL"] },
      { type: "any", action: "block" },
    ],
  });
  await all(UID, 401);
  await all(token, 200);
  await all(token, 200, { origin: "https://www.example.com" });
  await all(token, 200, { referer: "https://videos.test/x/iframe" });
  await all(token, 403, { from: NOWHERE });
  await all(token, 403, { origin: "https://evil.example" });
  await all(token, 403, {
    referer: "https://example.com/page",
    "sec-fetch-site": "cross-site",
    "sec-fetch-dest": "iframe",
  });
  await all(token, 403, { "sec-fetch-site": "cross-site", "sec-fetch-dest": "video" });
  await all(`${token.slice(0, -5)}AAAAA`, 403);
  assert.equal(await status(`${token}/downloads/default.mp4`), 403);
  assert.equal(await status(`${await tokens.sign(ACCOUNT, UID, { downloadable: true })}/downloads/default.mp4`), 200);

  await keys.delete(ACCOUNT, (await keys.own(ACCOUNT)).id);
  await all(token, 403);
  const fresh = await tokens.sign(ACCOUNT, UID);
  await all(fresh, 200);
  clock.advance(3_606_000);
  await all(fresh, 403);
});
