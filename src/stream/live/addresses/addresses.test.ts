import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import type { Video } from "../../videos/video.ts";
import { refusal, testVideo } from "../../videos/videos.testing.ts";
import { createAccess } from "../../access/access.ts";
import type { LiveInput } from "../inputs/port.ts";
import { customerCode } from "../../customers/customer-code.ts";
import { createLiveAddresses } from "./addresses.ts";
import { createOnAirAccess } from "./on-air.ts";

const ACCOUNT = "a".repeat(32);
const INPUT = "1".repeat(32);
const [FIRST, SECOND] = ["b".repeat(32), "c".repeat(32)];

function setUp(recording: Partial<LiveInput["recording"]> = {}) {
  const clock = createManualClock(1000);
  const input: LiveInput = {
    uid: INPUT,
    account: ACCOUNT,
    meta: {},
    enabled: true,
    preferLowLatency: false,
    defaultCreator: null,
    deleteRecordingAfterDays: null,
    created: 5,
    modified: 5,
    keysRotatedAt: null,
    recording: {
      mode: "automatic",
      timeoutSeconds: 0,
      requireSignedURLs: false,
      allowedOrigins: [],
      hideLiveViewerCount: false,
      ...recording,
    },
  };
  const inputs = new Map([[INPUT, input]]);
  const rows: Video[] = [];
  const requested = { lists: 0 };
  const find = async (uid: string) => rows.find((row) => row.uid === uid);
  const videos = {
    find,
    async get(account: string, uid: string) {
      const video = await find(uid);
      if (video?.account !== account) throw streamErrors.videoNotFound({ uid });
      return video;
    },
  };
  const catalog = {
    list: async (account: string, { liveInput, limit }: { liveInput?: string; limit?: number } = {}) => (
      requested.lists++,
      rows
        .filter((row) => row.account === account && row.liveInput === liveInput)
        .toReversed()
        .slice(0, limit)
    ),
  };
  const addresses = createLiveAddresses({ inputs: { find: async (uid) => inputs.get(uid) }, videos, catalog, clock });
  const add = (uid: string, state: Video["state"]) =>
    rows.push(testVideo({ uid, account: ACCOUNT, liveInput: INPUT, state }));
  const set = (uid: string, state: Video["state"]) =>
    Object.assign(
      rows.find((row) => row.uid === uid)!,
      { state },
    );
  return { addresses, inputs, rows, add, set, clock, requested, videos };
}

test("an input resolves to nothing at first, then to its broadcast, then to its last recording, and to the next broadcast within a second", async () => {
  const { addresses, add, set, clock, requested } = setUp();
  const found = async () => (await addresses.videoOf(INPUT))?.uid;
  const waiting = await addresses.videoOf(INPUT);
  assert.deepEqual(
    [waiting?.uid, waiting?.liveInput, waiting?.state, waiting?.readyToStream],
    [INPUT, INPUT, "pendingupload", false],
  );
  add(FIRST, "live-inprogress");
  clock.advance(1000);
  assert.equal(await found(), FIRST);
  const before = requested.lists;
  for (let n = 0; n < 100; n++) await found();
  clock.advance(9000);
  await found();
  assert.equal(requested.lists, before, "a running broadcast is not looked up again");
  set(FIRST, "ready");
  assert.equal(await found(), FIRST);
  add(SECOND, "live-inprogress");
  clock.advance(1000);
  assert.equal(await found(), SECOND);
});

test("a broadcast whose process has died hides the next one for at most ten seconds", async () => {
  const { addresses, add, clock } = setUp();
  add(FIRST, "live-inprogress");
  assert.equal((await addresses.videoOf(INPUT))?.uid, FIRST);
  add(SECOND, "live-inprogress");
  clock.advance(10_000);
  assert.equal((await addresses.videoOf(INPUT))?.uid, SECOND);
});

test("an input that has not started inherits the access rules of its recordings, and a deleted input resolves to nothing", async () => {
  const { addresses, inputs, add, videos, clock } = setUp({ requireSignedURLs: true, allowedOrigins: ["example.com"] });
  const waiting = await addresses.videoOf(INPUT);
  assert.deepEqual([waiting?.requireSignedURLs, waiting?.allowedOrigins], [true, ["example.com"]]);
  const access = createAccess({
    videos,
    live: addresses,
    keys: { find: async () => undefined },
    countryOf: () => undefined,
    clock,
  });
  assert.match(await refusal(access.check(INPUT, "play", { ip: "" })), /^signedUrlNeeded/);
  add(FIRST, "ready");
  clock.advance(1000);
  assert.match(await refusal(access.check(INPUT, "play", { ip: "" })), /^signedUrlNeeded/);
  assert.equal((await access.check(FIRST, "play", { ip: "" })).uid, FIRST);
  inputs.clear();
  assert.equal(await addresses.videoOf(INPUT), undefined);
  assert.match(await refusal(access.check(INPUT, "play", { ip: "" })), /^videoNotFound/);
});

test("access rules of an input apply to its live video under every uid and never relax those of a recording", async () => {
  const { addresses, inputs, rows, add, set, videos, clock } = setUp();
  const common = { keys: { find: async () => undefined }, countryOf: () => undefined, clock };
  const access = createAccess({ videos, live: addresses, ...common });
  const onAir = createOnAirAccess({ access: createAccess({ videos: { find: addresses.onAir }, ...common }) });
  const rules = (recording: Partial<LiveInput["recording"]>) => {
    const input = inputs.get(INPUT)!;
    inputs.set(INPUT, { ...input, recording: { ...input.recording, ...recording } });
  };
  const here = { ip: "198.51.100.7", origin: "https://example.com" };
  const kind = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (err: { kind: string }) => err.kind,
    );
  const ask = (id: string) => Promise.all([kind(access.check(id, "play", here)), kind(onAir(id, here))]);
  add(FIRST, "live-inprogress");
  for (const id of [INPUT, FIRST]) assert.deepEqual(await ask(id), [undefined, undefined]);
  rules({ requireSignedURLs: true });
  for (const id of [INPUT, FIRST]) assert.deepEqual(await ask(id), ["signedUrlNeeded", "signedUrlNeeded"]);
  rules({ requireSignedURLs: false, allowedOrigins: ["other.example"] });
  for (const id of [INPUT, FIRST]) assert.deepEqual(await ask(id), ["originNotAllowed", "originNotAllowed"]);
  assert.deepEqual(
    (await access.check(INPUT, "play", { ip: "" })).allowedOrigins,
    ["other.example"],
    "pages send the access rules of the live input",
  );
  // Under its own uid, a recording has only its own rules; under the input uid, both apply.
  set(FIRST, "ready");
  assert.deepEqual([(await ask(INPUT))[0], (await ask(FIRST))[0]], ["originNotAllowed", undefined]);
  rules({ allowedOrigins: [] });
  rows[0]!.requireSignedURLs = true;
  assert.deepEqual([(await ask(INPUT))[0], (await ask(FIRST))[0]], ["signedUrlNeeded", "signedUrlNeeded"]);
  rows[0]!.requireSignedURLs = false;
  rows[0]!.allowedOrigins = ["private.example"];
  for (const allowedOrigins of [[], ["example.com"], ["example.com", "private.example"]]) {
    rules({ allowedOrigins });
    assert.deepEqual(
      [(await ask(INPUT))[0], (await ask(FIRST))[0]],
      ["originNotAllowed", "originNotAllowed"],
      JSON.stringify(allowedOrigins),
    );
  }
});

test("tokens are signed for inputs and videos of the account only", async () => {
  const { addresses, add } = setUp();
  add(FIRST, "ready");
  assert.equal((await addresses.get(ACCOUNT, INPUT)).uid, INPUT);
  assert.equal((await addresses.get(ACCOUNT, FIRST)).uid, FIRST);
  for (const uid of [INPUT, FIRST]) assert.match(await refusal(addresses.get("f".repeat(32), uid)), /^videoNotFound/);
});

test("a public recording does not open the current broadcast, which follows the access rules of its input", async () => {
  const { addresses, inputs, add, set, clock } = setUp();
  const onAir = createOnAirAccess({
    access: createAccess({
      videos: { find: addresses.onAir },
      keys: { find: async () => undefined },
      countryOf: () => undefined,
      clock,
    }),
    domain: "videos.example",
  });
  const ask = (id: string, host?: string) => onAir(id, { ip: "" }, host);
  add(FIRST, "live-inprogress");
  for (const id of [INPUT, FIRST]) assert.equal(await ask(id), INPUT);
  assert.equal(await ask(INPUT, `customer-${customerCode(ACCOUNT)}.videos.example`), INPUT);
  for (const id of [INPUT, FIRST])
    assert.match(await refusal(ask(id, `customer-${customerCode("f".repeat(32))}.videos.example`)), /^videoNotFound/);
  // The recording remains public; the next broadcast is not being recorded, or has not begun.
  set(FIRST, "ready");
  const before = inputs.get(INPUT)!;
  inputs.set(INPUT, { ...before, recording: { ...before.recording, mode: "off", requireSignedURLs: true } });
  assert.match(await refusal(ask(FIRST)), /^liveNotPublished/);
  assert.match(await refusal(ask(INPUT)), /^signedUrlNeeded/);
  inputs.clear();
  assert.match(await refusal(ask(INPUT)), /^videoNotFound/);
});
