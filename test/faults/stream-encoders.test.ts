import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { clip, needsFfmpeg } from "../support/media.ts";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { temporaryFolder } from "../support/serve.ts";
import { createLadderCheck } from "./stream/ladder.ts";
import { uploadForm } from "./stream/senders.ts";
import { objectsByPrefix, processesOf, waitForFinalState, startVideoServer, until, videoOf } from "./stream/server.ts";
import { segmentsOf, continueWatching } from "./stream/viewer.ts";

let cluster: Cluster | undefined;
before(async () => void (cluster = await startCluster()));
after(() => cluster?.stop());

test(
  "another process on the same PostgreSQL resumes the work of one killed while encoding, without affecting the viewer",
  { ...needsFfmpeg, timeout: 240_000 },
  async (t) => {
    assert.ok(cluster, "PostgreSQL is not installed");
    const objects = await temporaryFolder(t, "objects");
    const env = {
      REELPOST_DATABASE_URL: await cluster.createDatabase(),
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_OBJECTS_DIR: objects,
      REELPOST_STREAM_ENCODERS: "1",
    };
    const start = (roles: string) => startVideoServer(t, { env, args: ["--roles", roles] });
    const front = await start("api,workers,smtp,outbound,dns");
    const source = await clip({ seconds: 38, size: "640x360", fps: "24", audio: false });
    const [playback, first] = await Promise.all([start("playback"), start("encode")]);
    const uid = await uploadForm(front, source);
    const encoding = () => processesOf(objects, "ffmpeg").length > 0;
    const viewer = until(async () => (await videoOf(front, uid)).readyToStream, "the video is playable").then(() =>
      continueWatching(playback.ready.url, uid, { mayAbortOnce: true }),
    );
    await until(
      async () => encoding() && Number((await videoOf(front, uid)).status.pctComplete) > 5,
      "its renditions are being encoded",
    );
    first.child.kill("SIGKILL");
    await first.exited;
    const kept = objectsByPrefix(objects, `stream/${uid}`).filter((name) => name.endsWith(".m4s"));
    assert.equal((await videoOf(front, uid)).status.state, "inprogress");
    const second = await start("encode");
    const { status } = await waitForFinalState(front, uid);
    assert.deepEqual([status.state, status.pctComplete], ["ready", "100.000000"], status.errorReasonText);
    const watched = await (await viewer).stop();
    t.diagnostic(JSON.stringify({ keptAtTheKill: kept.length, ...watched }));
    assert.ok(kept.length > 0 && watched.requests > 0);
    assert.ok([...(await segmentsOf(playback.ready.url, uid)).keys()].includes("360p"));
    const { check } = createLadderCheck();
    await check(objects, uid, { source, rungs: ["240p", "360p"], segments: 10, audio: false });
    for (const { stop, log } of [front, playback, second]) {
      assert.deepEqual(await stop(), { code: 0, signal: null });
      assert.ok(!log().includes('"level":50'), log());
    }
  },
);
