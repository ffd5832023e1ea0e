import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { createScope } from "../../../interop/platform.ts";
import { clip } from "../../../support/media.ts";
import { uploadForm } from "../senders.ts";
import { allVideos, objectsByPrefix, waitForFinalState, startVideoServer, until, type VideoServer } from "../server.ts";
import { continueWatching, type Viewer } from "../viewer.ts";

/** A server under bad input, its viewer, and everything that clients received. Defined once `before` has run. */
export interface BadInputFixture {
  readonly server: VideoServer;
  /** Path of the objects folder. */
  readonly objects: string;
  /** Uid of the video that the viewer watches. */
  readonly good: string;
  readonly viewer: Viewer;
  /** Number of file descriptors that the server has open while only the viewer is connected. */
  readonly quiet: number;
  descriptors(): number;
  /** Responses that clients received. */
  answers: string[];
  /** Calls the API and adds the response to `answers`. */
  call: VideoServer["api"]["call"];
  /** Names of the objects of videos. */
  onDisk(): string[];
  /** Asserts that no video other than the good one exists. */
  onlyGood(): Promise<void>;
}

/** Registers hooks that start and stop the server, and that delete all other videos after each test. */
export function openBadInput(): BadInputFixture {
  const scope = createScope();
  let server: VideoServer;
  let objects: string;
  let good: string;
  let viewer: Viewer;
  /** Number of file descriptors that the server has open while only the viewer is connected. */
  let quiet: number;
  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
  /** Responses that clients received. */
  const answers: string[] = [];
  const call = async (...args: Parameters<VideoServer["api"]["call"]>) => {
    const response = await server.api.call(...args);
    answers.push(JSON.stringify(response.body));
    return response;
  };

  before(async () => {
    server = await startVideoServer(scope, { env: { REELPOST_LOG_LEVEL: "warn" } });
    objects = join(server.dataDirectory, "objects");
    good = await uploadForm(server, await clip({ seconds: 6 }));
    assert.equal((await waitForFinalState(server, good)).status.state, "ready");
    viewer = continueWatching(server.ready.url, good, { pauseMs: 50 });
    quiet = descriptors();
  });
  after(() => scope.close());
  afterEach(removeAll);

  const onDisk = () => objectsByPrefix(objects, "stream");

  return {
    get server() {
      return server;
    },
    get objects() {
      return objects;
    },
    get good() {
      return good;
    },
    get viewer() {
      return viewer;
    },
    get quiet() {
      return quiet;
    },
    descriptors,
    answers,
    call,
    onDisk,
    onlyGood,
  };

  async function onlyGood() {
    assert.deepEqual(
      (await allVideos(server)).map(({ uid }) => uid),
      [good],
    );
  }

  async function removeAll() {
    if (server.child.exitCode !== null) return;
    for (const { uid } of await allVideos(server)) if (uid !== good) await server.api.ok("delete", `stream/${uid}`);
    await until(() => onDisk().every((name) => name.startsWith(good)), "deleted videos are removed from disk");
  }
}
