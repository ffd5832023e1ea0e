import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { folderWith, runCli } from "../../src/cli/cli.testing.ts";
import {
  compareAccounts,
  fillAccount,
  importArguments,
  readAccount,
  requestsTo,
  ROWS,
  untilReady,
  workerName,
  type AccountSizes,
} from "../support/filled-account.ts";
import { until } from "../support/mail-world.ts";
import { clip, mediaClips, needsFfmpeg } from "../support/media.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const SIZES: AccountSizes = {
  zones: 2,
  rules: 6,
  workers: 2,
  keys: 130,
  objects: 3,
  databases: 1,
  videos: 4,
  liveInputs: 1,
};

const scope = createScope();
let source: Platform;
let target: Platform;
let cwd: string;
before(async () => {
  if (needsFfmpeg.skip !== false) return;
  [source, target] = await Promise.all([startPlatform(scope), startPlatform(scope)]);
  cwd = await folderWith(scope);
  await fillAccount(source, SIZES, await clip(), await clip(mediaClips.soundOnly));
});
after(() => scope.close());

const run = (...args: string[]) => runCli([...importArguments(source, target), ...args], { cwd });

const actionsOf = (items: { action: string }[]) => [...new Set(items.map(({ action }) => action))].sort();

test("a dry run prints the plan and changes nothing", needsFfmpeg, async () => {
  const { code, json } = await run("--dry-run", "--json");
  assert.equal(code, 0, JSON.stringify(json));
  assert.equal(json.keepsIds, true);
  assert.deepEqual(actionsOf(json.items), ["new"]);
  assert.deepEqual(Object.keys(await readAccount(target)), []);
});

test("an account is imported with its ids, and a second run has nothing to do", needsFfmpeg, async () => {
  const { code, json, stderr } = await run("--yes", "--keep-verified", "--json");
  assert.deepEqual([code, json?.report?.failed], [0, []], stderr + JSON.stringify(json?.report ?? json));
  const { lost, moved } = compareAccounts(await readAccount(source), await readAccount(target));
  assert.deepEqual(lost, []);
  assert.deepEqual([moved["zones"], moved["keys"], moved["videos"], moved["live_inputs"]], [2, 130, 4, 1]);
  assert.deepEqual(
    json.report.followUp.secrets,
    [1, 0].map((i) => ({ worker: workerName(i), names: ["SECRET"] })).toReversed(),
  );
  assert.match(json.report.followUp.dns[0].steps[0], /TTL of all records to 300 seconds, then wait 3600 seconds/);
  const again = await run("--yes", "--keep-verified");
  assert.equal(again.code, 0, again.stdout);
  assert.match(again.stdout, /Nothing to do\./);
  const withoutState = await run("--yes", "--keep-verified", "--json", "--state", "other.json");
  assert.deepEqual(
    actionsOf(withoutState.json.items),
    ["unchanged"],
    JSON.stringify(withoutState.json.items.filter(({ action }: { action: string }) => action !== "unchanged")),
  );
});

test("a worker with its data, and the embed page of a video, work on the new server", needsFfmpeg, async () => {
  const answer = await target.visit(workerName(0));
  assert.deepEqual(JSON.parse(answer.text), { name: "worker 0", key: "value 0", rows: ROWS, object: "object 0" });
  const [video] = await requestsTo(target).call("GET", `/accounts/${target.account}/stream?name=video%200`);
  await untilReady(target, video.uid);
  const page = await fetch(video.preview.replace(/\/watch$/, "/iframe"));
  assert.deepEqual([page.status, (await page.text()).includes(video.uid)], [200, true]);
  const playlist = await fetch(video.playback.hls);
  assert.match(await playlist.text(), /#EXTM3U/);
});

test("a change on the source is imported, and a change on the target is kept", needsFfmpeg, async () => {
  const [from, to] = [requestsTo(source), requestsTo(target)];
  const [{ id: namespace }] = await from.call("GET", `/accounts/${source.account}/storage/kv/namespaces`);
  const values = (account: string) => `/accounts/${account}/storage/kv/namespaces/${namespace}/values`;
  await from.call("PUT", `${values(source.account)}/key-1`, Buffer.from("changed on the source"));
  await to.call("PUT", `${values(target.account)}/key-2`, Buffer.from("changed here"));
  const { json } = await run("--yes", "--only", "kv", "--json");
  assert.deepEqual(json.report.failed, []);
  assert.deepEqual(await Promise.all(["key-1", "key-2"].map((key) => to.text(`${values(target.account)}/${key}`))), [
    "changed on the source",
    "changed here",
  ]);
});

test("an audio track is playable on the new server", needsFfmpeg, async () => {
  const { call } = requestsTo(target);
  const path = `/accounts/${target.account}/stream`;
  for (const name of ["video 2", "video 3"]) {
    const [{ uid }] = await call("GET", `${path}?name=${encodeURIComponent(name)}`);
    const [track] = await until(async () => {
      const { audio } = await call("GET", `${path}/${uid}/audio`);
      return audio[0]?.status === "queued" ? undefined : audio;
    }, "the audio track");
    assert.deepEqual([track.label, track.status], ["French", "ready"]);
  }
});
