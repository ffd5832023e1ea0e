import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { SettingsInput } from "../../kernel/settings.ts";
import { openFsObjects, type ObjectStore } from "../../store/index.ts";
import { openTools, streamSettings } from "../media/media.testing.ts";
import type { MediaTools } from "../media/port.ts";
import type { MediaModel } from "../model.ts";
import { createProbe, type ProbedVideo } from "./probe.ts";

export interface ProbeWorld {
  tools: MediaTools;
  objects: ObjectStore;
  /** Uploads the file and probes it. */
  probeFile(path: string, video?: Partial<ProbedVideo>): Promise<MediaModel>;
  probeBytes(bytes: Buffer | string, video?: Partial<ProbedVideo>): Promise<MediaModel>;
}

/** Real tools, and real objects in a folder of the test. */
export async function openProbe(t: TestContext, given: NonNullable<SettingsInput["stream"]> = {}): Promise<ProbeWorld> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-probe-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const tools = openTools(t, { sandbox: "auto", ...given });
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
