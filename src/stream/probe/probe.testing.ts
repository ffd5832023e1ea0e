import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { clip, type ClipRecipe, runFfmpeg } from "../../../test/support/media.ts";
import type { SettingsInput } from "../../kernel/settings.ts";
import { type ObjectStore } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { openTools, streamSettings } from "../media/media.testing.ts";
import type { MediaTools } from "../media/port.ts";
import type { MediaModel } from "../model.ts";
import type { ErrorReason } from "../videos/video.ts";
import { createProbe, type ProbedVideo } from "./probe.ts";
import { ProbeRejected } from "./refused.ts";

interface ProbeWorld {
  tools: MediaTools;
  objects: ObjectStore;
  /** Uploads the file and probes it. */
  probeFile(path: string, video?: Partial<ProbedVideo>): Promise<MediaModel>;
  probeBytes(bytes: Buffer | string, video?: Partial<ProbedVideo>): Promise<MediaModel>;
}

/** Starts real tools, with real objects in a temporary folder. */
export async function openProbe(
  t: TestContext,
  given: NonNullable<SettingsInput["stream"]> = {},
  around: (tools: MediaTools) => MediaTools = (tools) => tools,
): Promise<ProbeWorld> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-probe-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const tools = around(openTools(t, { sandbox: "auto", ...given }));
  const probe = createProbe({ tools, objects, settings: streamSettings(given), folder });
  let count = 0;
  async function probeBody(body: Parameters<ObjectStore["put"]>[1], video: Partial<ProbedVideo>): Promise<MediaModel> {
    const uid = String(++count).padStart(32, "0");
    const sourceKey = `stream/${uid}/source`;
    await objects.put(sourceKey, body, { durable: false });
    return probe.probe({ uid, sourceKey, watermark: null, ...video });
  }
  return {
    tools,
    objects,
    probeFile: (path, video = {}) => probeBody(createReadStream(path), video),
    probeBytes: (bytes, video = {}) => probeBody(Buffer.from(bytes), video),
  };
}

/** For `assert.rejects`: the file is refused with this code and a matching text. */
export const refused =
  (code: ErrorReason, words = /./) =>
  (err: unknown) => {
    assert.ok(err instanceof ProbeRejected, String(err));
    assert.deepEqual([err.code, words.test(err.message)], [code, true], err.message);
    return true;
  };

/** Creates the clip and probes it. */
export async function probeClip(t: TestContext, recipe: ClipRecipe): Promise<{ model: MediaModel; path: string }> {
  const [{ probeFile }, path] = await Promise.all([openProbe(t), clip(recipe)]);
  return { model: await probeFile(path), path };
}

/**
 * Frames that ffmpeg itself places on the grid when decoding the file from the beginning, excluding those before the
 * source's start.
 */
export async function framesOnGrid(
  path: string,
  { segments: { fps }, source: { start } }: MediaModel,
): Promise<number> {
  const listed = await runFfmpeg([
    "-copyts",
    "-start_at_zero",
    "-i",
    path,
    "-map",
    "0:v:0",
    "-vf",
    `fps=fps=${fps.num}/${fps.den}:round=near:start_time=0,scale=16:16`,
    "-f",
    "framecrc",
    "-",
  ]);
  return (
    listed
      .toString()
      .split("\n")
      .filter((line) => /^\d/.test(line)).length - Math.round((start * fps.num) / fps.den)
  );
}

export const rungs = ({ ladder }: MediaModel) => ladder.map(({ name, width, height }) => `${name} ${width}x${height}`);

export const rate = ({ segments: { fps } }: MediaModel) => (fps.den === 1 ? String(fps.num) : `${fps.num}/${fps.den}`);
