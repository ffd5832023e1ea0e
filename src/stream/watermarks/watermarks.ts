import type { Repetition } from "../../kernel/periodic.ts";
import { type Clock, type Ids, isHexId, type Log, UserError } from "../../kernel/index.ts";
import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import {
  isStoreError,
  localSweeps,
  withLeasedFiles,
  type Db,
  type ObjectStore,
  type Sweeps,
} from "../../store/index.ts";
import { streamErrors, throwFetchError } from "../errors.ts";
import { MediaRunError, type MediaTools } from "../media/index.ts";
import type { WatermarkProfile } from "../videos/index.ts";
import { readPng } from "./png.ts";
import { MAX_WATERMARK_BYTES, type Watermarks, type WatermarkRequest } from "./port.ts";
import { createWatermarksTable, type WatermarkRow } from "./watermarks-table.ts";

export interface WatermarksDeps {
  db: Db;
  objects: ObjectStore;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  /**
   * Checks whether an image can be decoded. Without ffmpeg only the structure is checked: no video can be encoded then.
   */
  tools: Pick<MediaTools, "ffmpeg">;
  fetch: GuardedFetch;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Maximum number of profiles per account. Default 1000. */
  max?: number;
}

const MAX_NAME_LENGTH = 255;
const POSITIONS: readonly string[] = [
  "upperRight",
  "upperLeft",
  "lowerLeft",
  "lowerRight",
  "center",
] satisfies WatermarkProfile["position"][];
/** Longer than an upload with a chosen profile may remain pending. */
const RETENTION_MS = 30 * 86_400_000;
const SWEEP_BATCH_SIZE = 500;
const DECODE_SECONDS = 10;
const SWEEP_MS = 6 * 3_600_000;

export function createWatermarks({
  db,
  objects,
  sweeps = localSweeps,
  tools,
  fetch,
  clock,
  ids,
  log,
  max = 1000,
}: WatermarksDeps): Watermarks {
  const table = createWatermarksTable(db);
  let sweepRepetition: Repetition | undefined;

  /** Decodes with ffmpeg, confined as for videos: detects a corrupt image before a video is encoded with it. */
  async function checkPixels(key: string): Promise<void> {
    await withLeasedFiles(objects, [key], async ([path]) => {
      if (path !== undefined) await decode(path);
    });
  }

  async function decode(path: string): Promise<void> {
    let warnings: string;
    try {
      ({ stderr: warnings } = await tools.ffmpeg({
        args: ["-xerror", "-err_detect", "explode", "-f", "png_pipe", "-i", path, "-frames:v", "1", "-f", "null", "-"],
        reads: [path],
        urgency: "urgent",
        wallMs: DECODE_SECONDS * 1000,
        cpuSeconds: DECODE_SECONDS,
        threads: 1,
      }));
    } catch (err) {
      if (err instanceof UserError && err.kind === "mediaToolsMissing") return;
      if (err instanceof MediaRunError && err.reason !== "aborted" && err.reason !== "closed")
        throw streamErrors.badImage({ reason: "it cannot be decoded" }, { cause: err });
      throw err;
    }
    // ffmpeg only warns about a truncated image.
    if (warnings.trim() !== "") throw streamErrors.badImage({ reason: "it cannot be decoded" });
  }

  async function create(
    account: string,
    image: Uint8Array,
    request: WatermarkRequest,
    downloadedFrom: string | null,
    chosenUid: string | undefined,
  ): Promise<WatermarkProfile> {
    const validRequest = validateRequest(request);
    if (image.length > MAX_WATERMARK_BYTES)
      throw streamErrors.badImage({ reason: `it has more than ${MAX_WATERMARK_BYTES} bytes` });
    const png = readPng(Buffer.from(image.buffer, image.byteOffset, image.length));
    if (typeof png === "string") throw streamErrors.badImage({ reason: png });
    const { width, height, bytes } = png;
    if (chosenUid !== undefined && (await table.exists(chosenUid))) throw streamErrors.idTaken({ uid: chosenUid });
    const uid = chosenUid ?? ids.hex();
    // A deleted profile may have had the same chosen uid, or another client may choose it at the same time.
    const objectKey = chosenUid === undefined ? null : `stream-watermarks/${uid}-${ids.hex()}.png`;
    const key = keyOf({ uid, object_key: objectKey });
    await objects.put(key, bytes);
    try {
      await checkPixels(key);
      const row: WatermarkRow = {
        uid,
        account_id: account,
        ...validRequest,
        size: image.length,
        width,
        height,
        downloaded_from: downloadedFrom,
        created_at: clock.now(),
        deleted_at: null,
        object_key: objectKey,
      };
      if (!(await table.insert(row, max))) throw streamErrors.tooManyWatermarks({ limit: max });
      return toProfile(row);
    } catch (err) {
      await objects
        .delete([key])
        .catch((cause: unknown) => log.warn({ err: cause, key }, "stream: failed to delete a rejected image"));
      throw err;
    }
  }

  async function sweep(): Promise<void> {
    const images = await table.deletedBefore(clock.now() - RETENTION_MS, SWEEP_BATCH_SIZE);
    await objects.delete(images.map(keyOf));
    await table.forget(images.map(({ uid }) => uid));
  }

  async function download(url: string): Promise<Buffer> {
    const response = await fetch(url, { maxBytes: MAX_WATERMARK_BYTES });
    if (response.status !== 200) {
      response.close();
      throw streamErrors.invalidUrl({ reason: `${response.url.host} responded with status ${response.status}` });
    }
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  return {
    create: (account, image, request = {}, uid) => create(account, image, request, null, uid),
    async createFromUrl(account, url, request = {}, uid) {
      validateRequest(request);
      return create(account, await download(url).catch(throwFetchError), request, url, uid);
    },
    list: async (account) => (await table.list(account)).map(toProfile),
    async get(account, uid) {
      const row = isHexId(uid) ? await table.find(account, uid) : undefined;
      if (row === undefined) throw streamErrors.watermarkNotFound({ uid: uid.slice(0, 64) });
      return toProfile(row);
    },
    async delete(account, uid) {
      if (!isHexId(uid) || !(await table.delete(account, uid, clock.now())))
        throw streamErrors.watermarkNotFound({ uid: uid.slice(0, 64) });
    },
    async image(account, uid) {
      const row = isHexId(uid) ? await table.find(account, uid) : undefined;
      const object = row === undefined ? undefined : await objects.open(keyOf(row));
      if (object === undefined) throw streamErrors.watermarkNotFound({ uid: uid.slice(0, 64) });
      return object.bytes();
    },
    async copyForVideo({ uid, watermark }) {
      if (watermark === null) return undefined;
      const key = `stream/${uid}/watermark.png`;
      if ((await objects.open(key)) === undefined) {
        try {
          await objects.copy(
            keyOf((await table.image(watermark.uid)) ?? { uid: watermark.uid, object_key: null }),
            key,
          );
        } catch (err) {
          if (!isStoreError(err, "absent")) throw err;
          log.warn({ video: uid, watermark: watermark.uid }, "stream: watermark image missing; encoding without it");
          return undefined;
        }
      }
      const { width, height, opacity, padding, scale, position } = watermark;
      return { key, width, height, opacity, padding, scale, position };
    },
    sweep,
    start: () =>
      void (sweepRepetition ??= sweeps.every(SWEEP_MS, sweep, { name: "stream: sweep of deleted watermarks", log })),
    close: async () => sweepRepetition?.stop(),
  };
}

function validateRequest({
  name = "",
  opacity = 1,
  padding = 0.05,
  scale = 0.15,
  position = "upperRight",
}: WatermarkRequest) {
  const badField = (reason: string) => streamErrors.badParameter({ reason });
  if (name.length > MAX_NAME_LENGTH || name.includes("\0"))
    throw badField(`name has more than ${MAX_NAME_LENGTH} characters, or a NUL`);
  for (const [field, value] of Object.entries({ opacity, padding, scale }))
    if (!(value >= 0 && value <= 1)) throw badField(`${field} must be between 0 and 1, not ${value}`);
  if (!POSITIONS.includes(position))
    throw badField(`position must be one of ${POSITIONS.join(", ")}, not ${JSON.stringify(position).slice(0, 60)}`);
  return { name, opacity, padding, scale, position };
}

const keyOf = ({ uid, object_key: key }: Pick<WatermarkRow, "uid" | "object_key">): string =>
  key ?? `stream-watermarks/${uid}.png`;

const toProfile = ({
  uid,
  name,
  size,
  width,
  height,
  opacity,
  padding,
  scale,
  position,
  downloaded_from,
  created_at,
}: WatermarkRow): WatermarkProfile => ({
  uid,
  name,
  size,
  width,
  height,
  opacity,
  padding,
  scale,
  position,
  downloadedFrom: downloaded_from,
  created: created_at,
});
