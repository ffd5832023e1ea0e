import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { clip, type ClipRecipe, runFfmpeg } from "../../../test/support/media.ts";
import { silentLog, UserError } from "../../kernel/index.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { DeliveryContext } from "../delivery/route.ts";
import { openProbe } from "../probe/probe.testing.ts";
import { testVideo } from "../videos/videos.testing.ts";
import type { Video } from "../videos/video.ts";
import { createThumbnails } from "./thumbnails.ts";

/** Two seconds of red, then two of blue; the right half is black. */
export const HALVES: ClipRecipe = {
  inputs: [
    "-f",
    "lavfi",
    "-i",
    "color=red:s=320x180:r=30:d=2[a];color=blue:s=320x180:r=30:d=2[b];[a][b]concat=n=2:v=1,drawbox=x=160:w=160:h=180:color=black:t=fill[out0]",
  ],
  audio: false,
  keyframeSeconds: 1,
};

/** Opens the thumbnails of one clip with real tools; `get` responds like the delivery. */
export async function openThumbnails(
  t: TestContext,
  recipe: ClipRecipe,
  more: Partial<Video> = {},
  maxStoredImages?: number,
) {
  const { tools, objects, probeFile } = await openProbe(t);
  const { uid } = testVideo();
  const model = await probeFile(await clip(recipe), { uid });
  // Objects of a video are stored under its own uid; the test's probe stored its file elsewhere.
  const video = testVideo({ model, state: "ready", ...more });
  let runs = 0;
  const counted = { ...tools, ffmpeg: (run: Parameters<typeof tools.ffmpeg>[0]) => (runs++, tools.ffmpeg(run)) };
  const thumbnails = createThumbnails({
    tools: counted,
    objects,
    videos: { find: async (requested) => (requested === uid ? video : undefined) },
    log: silentLog,
    ...(maxStoredImages !== undefined && { maxStoredImages }),
  });

  /** Resolves with the response that a viewer receives. */
  async function get(path: string, shown: Video = video): Promise<{ bytes: Buffer; type: string; cache: unknown }> {
    const [name, query] = path.split("?");
    const route = thumbnails.routes.find((one) =>
      new RegExp(`^${one.path.replace("{sheet}", "([^/]+)")}$`).test(`thumbnails/${name}`),
    )!;
    const answer = { bytes: Buffer.alloc(0), type: "", cache: undefined as unknown };
    await route.handle({
      video: shown,
      params: { sheet: /-([^-]+)\.jpg$/.exec(name!)?.[1] ?? "" },
      query: new URLSearchParams(query),
      sendObject: async (object: ObjectHandle, about: { type: string; cache?: unknown }) =>
        void Object.assign(answer, { bytes: await object.bytes(), type: about.type, cache: about.cache }),
      sendText: (text: string, about: { type: string; cache?: unknown }) =>
        void Object.assign(answer, { bytes: Buffer.from(text), type: about.type, cache: about.cache }),
    } as unknown as DeliveryContext);
    return answer;
  }
  return { get, thumbnails, video, objects, runs: () => runs };
}

/** Decodes an image: its frames, size and selected pixels of the first frame. */
export async function decodeImage(t: TestContext, bytes: Buffer) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-image-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "image");
  await writeFile(path, bytes);
  // Every PPM states its size, so one run of ffmpeg suffices: a start takes a tenth of a second.
  const images = await runFfmpeg(["-i", path, "-fps_mode", "passthrough", "-c:v", "ppm", "-f", "image2pipe", "pipe:1"]);
  const [header, width, height] = /^P6\s(\d+) (\d+)\s255\s/.exec(images.toString("latin1", 0, 32))!;
  const frames = images.length / (header.length + Number(width) * Number(height) * 3);
  const pixels = images.subarray(header.length);
  const codec = bytes.readUInt16BE() === 0xffd8 ? "mjpeg" : bytes.toString("latin1", 0, 3).toLowerCase();
  const colour = (x: number, y: number) => {
    const at = (Math.floor(y * Number(height)) * Number(width) + Math.floor(x * Number(width))) * 3;
    const [red, green, blue] = pixels.subarray(at, at + 3);
    return red! > 150
      ? green! > 150
        ? "white"
        : "red"
      : blue! > 150
        ? "blue"
        : Math.max(red!, green!, blue!) < 90
          ? "black"
          : `${red},${green},${blue}`;
  };
  return { codec, size: `${width}x${height}`, frames, colour };
}

/** The kind and the HTTP status of the error that the work fails with. */
export const kindOfError = (work: Promise<unknown>) =>
  work.then(
    () => "nothing",
    (err: unknown) => (err instanceof UserError ? `${err.kind} ${err.entry.http}` : String(err)),
  );
