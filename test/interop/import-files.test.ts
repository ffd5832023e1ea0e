import assert from "node:assert/strict";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folderWith, runCli } from "../../src/cli/cli.testing.ts";
import { requestsTo } from "../support/filled-account.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const MAP = `info@moved.example  ada@inbox.example, bob@inbox.example
@moved.example      ada@inbox.example
/^sales-.*@moved\\.example$/  ada@inbox.example
user@other.example  ada@inbox.example
`;

const scope = createScope();
let target: Platform;
let zone: string;
before(async () => {
  target = await startPlatform(scope, { REELPOST_EMAIL_EXTENDED_RULES: "true" });
  const { call } = requestsTo(target);
  zone = (await call("POST", "/zones", { name: "moved.example", account: { id: target.account } })).id;
});
after(() => scope.close());

test("an alias map becomes routing rules, and a second run has nothing to do", async (t) => {
  const cwd = await folderWith(t, { virtual: MAP });
  const run = (...args: string[]) =>
    runCli(["import", "postfix", "virtual", "--url", target.api, "--token", target.token, "--json", ...args], { cwd });
  const actions = ({ items }: { items: { kind: string; action: string }[] }) =>
    items.map(({ kind, action }) => `${kind}: ${action}`);
  const planned = [
    "destination address: new",
    "destination address: new",
    "routing rule: new",
    "catch-all rule: new",
    "routing rule: new",
    "routing rule: impossible",
  ];
  assert.deepEqual(actions((await run("--dry-run")).json), planned);
  const { code, json } = await run("--yes", "--keep-verified");
  assert.deepEqual([code, json.report.failed], [0, []]);
  const { call } = requestsTo(target);
  const rules = await call("GET", `/zones/${zone}/email/routing/rules`);
  assert.deepEqual(
    rules.map(
      ({
        matchers,
        actions: [action],
        enabled,
      }: {
        matchers: { value?: string }[];
        actions: object[];
        enabled: boolean;
      }) => [matchers[0]!.value, action, enabled],
    ),
    [
      ["info@moved.example", { type: "forward", value: ["ada@inbox.example", "bob@inbox.example"] }, true],
      ["^sales-.*@moved\\.example$", { type: "forward", value: ["ada@inbox.example"] }, true],
      [undefined, { type: "forward", value: ["ada@inbox.example"] }, true],
    ],
  );
  const match = await call("GET", `/zones/${zone}/email/routing/match?address=sales-eu@moved.example`);
  assert.match(JSON.stringify(match), /sales-/);
  assert.deepEqual(
    actions((await run("--yes")).json),
    planned.map((line) => line.replace(": new", ": unchanged")),
  );
});

test("the videos in a folder, a CSV list and a PeerTube export are uploaded once each", needsFfmpeg, async (t) => {
  const captions = "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n";
  const cwd = await folderWith(t, {
    "talks/intro.en.vtt": captions,
    "talks/notes.txt": "not a video",
    "list.csv": "file,name,creator,signed\ntalks/sub/second.mp4,The second,ada,yes\nabsent.mp4,,,\n",
    "export/peertube/videos.json": JSON.stringify({
      videos: [
        {
          name: "Exported",
          privacy: 3,
          channel: { name: "channel" },
          archiveFiles: { videoFile: "../files/videos/v.mp4", captions: { fr: "../files/videos/c.vtt" } },
        },
        { name: "Without a file", archiveFiles: { videoFile: null } },
      ],
    }),
    "export/files/videos/c.vtt": captions,
  });
  await mkdir(join(cwd, "talks/sub"));
  for (const file of ["talks/intro.mp4", "talks/sub/second.mp4", "export/files/videos/v.mp4"])
    await copyFile(await clip(), join(cwd, file));
  const run = async (...args: string[]) => {
    const ran = await runCli(["import", "videos", ...args, "--url", target.api, "--token", target.token, "--json"], {
      cwd,
    });
    return {
      ...ran.json,
      actions: ran.json.videos?.map(({ name, action }: { name: string; action: string }) => `${name}: ${action}`),
    };
  };
  assert.deepEqual((await run("talks", "--dry-run")).actions, ["intro: new", "sub/second: new"]);
  const { uploaded, failed } = await run("talks", "--yes");
  assert.deepEqual(failed, []);
  const { call } = requestsTo(target);
  const path = `/accounts/${target.account}/stream`;
  assert.deepEqual(
    (await call("GET", `${path}/${uploaded[0].uid}/captions`)).map(({ language }: { language: string }) => language),
    ["en"],
  );
  assert.deepEqual((await run("talks", "--yes")).actions, ["intro: unchanged", "sub/second: unchanged"]);
  assert.deepEqual((await run("list.csv", "--yes")).actions, ["The second: unchanged", "absent.mp4: impossible"]);
  const exported = await run("export", "--yes");
  assert.deepEqual(exported.actions, ["Exported: new", "Without a file: impossible"]);
  const video = await call("GET", `${path}/${exported.uploaded[0].uid}`);
  assert.deepEqual([video.meta.name, video.creator, video.requireSignedURLs], ["Exported", "channel", true]);
});
