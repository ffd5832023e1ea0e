import type { IncomingMessage } from "node:http";
import { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "../videos/index.ts";
import { type CreationDeps, setNameIfUnset } from "./creation.ts";
import { videoDraft, SINGLE_REQUEST_EXPIRY_MS } from "./drafts.ts";
import { readStreamedForm } from "./form.ts";
import type { RequestedVideo, Uploads } from "./port.ts";
import { sniffed } from "./sniff.ts";
import type { UploadRow } from "./uploads-table.ts";

export interface Forms extends Pick<Uploads, "form" | "bytes"> {
  /** Uploads a form to a one-time URL, in one request. Throws alreadyUploaded, uploadBusy, and the errors of a form. */
  uploadToUrl(row: UploadRow, incoming: IncomingMessage): Promise<Video>;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
/** Limit for file names chosen by clients. */
const MAX_NAME_LENGTH = 500;

/**
 * Uploads in one request. The file is stored as an object before the video is announced; the data of a failed upload is
 * removed.
 */
export function createForms(deps: CreationDeps): Forms {
  const { objects, clock, ids, log, settings, videos, table, sources, lock } = deps;
  const maxBytes = settings.basic_upload_mb * MIB;

  async function storeAs(key: string, { first, rest }: StartedBody, maxFileBytes: number): Promise<number> {
    const { size } = await objects.put(key, restoreBody(first, rest), { maxBytes: maxFileBytes });
    return size;
  }
  const remove = (key: string) =>
    objects
      .delete([key])
      .catch((err: unknown) => log.warn({ err, key }, "stream: failed to delete the data of an aborted upload"));

  /** Creates a video once `receive` has data for it, and none if that fails. */
  async function createVideo(
    account: string,
    uploadedBy: string,
    receive: (
      storeBody: (requested: RequestedVideo, body: AsyncIterable<Uint8Array>, maxFileBytes: number) => Promise<number>,
    ) => Promise<number>,
  ): Promise<Video> {
    let createdVideo: Video | undefined;
    try {
      const size = await receive(async (requested, body, maxFileBytes) => {
        // Nothing is created for a file that is rejected because of its head.
        const startedBody = await readFirst(body);
        createdVideo = await videos.create(
          account,
          await videoDraft(deps, account, requested, SINGLE_REQUEST_EXPIRY_MS),
        );
        return storeAs(sources.key(createdVideo.uid), startedBody, maxFileBytes);
      });
      log.info({ video: createdVideo!.uid, account, octets: size, by: uploadedBy }, "stream: upload completed");
      return await sources.registerSource(createdVideo!.uid, { key: sources.key(createdVideo!.uid), size });
    } catch (err) {
      if (createdVideo !== undefined) {
        await remove(sources.key(createdVideo.uid));
        await videos.delete(account, createdVideo.uid).catch(() => {});
      }
      throw err;
    }
  }

  return {
    form: (account, incoming, { requested = {}, confirm } = {}) =>
      createVideo(account, "form", async (storeBody) => {
        const size = await readStreamedForm(incoming, maxBytes, ({ name, body }) =>
          storeBody(
            {
              ...requested,
              ...(name !== undefined &&
                name !== "" && { meta: { name: name.slice(0, MAX_NAME_LENGTH), ...requested.meta } }),
            },
            body,
            maxBytes,
          ),
        );
        await confirm?.();
        return size;
      }),
    bytes: (account, body, requested = {}) =>
      createVideo(account, "bytes", (storeBody) => {
        const limit = Math.floor(settings.upload_gb * GIB);
        return storeBody(
          requested,
          sniffed(body, {
            maxBytes: limit,
            tooLarge: () => streamErrors.tooLarge({ limit, rule: "the maximum for uploads (stream.upload_gb)" }),
          }),
          limit,
        );
      }),
    async uploadToUrl({ uid }, incoming) {
      const end = await lock.acquire(uid);
      if (end === undefined) throw streamErrors.uploadBusy();
      try {
        // Another upload may have completed while this one waited for the lock.
        const uploadRow = await table.find(uid);
        if (uploadRow === undefined) throw streamErrors.uploadNotFound();
        const row = uploadRow.finished_at === null ? uploadRow : await sources.reopen(uploadRow);
        const video = await videos.find(uid);
        if (video === undefined) throw streamErrors.uploadNotFound();
        if (row === undefined || video.state !== "pendingupload") throw streamErrors.alreadyUploaded({ uid });
        return await receive(row, video, incoming);
      } finally {
        end();
      }
    },
  };

  async function receive(row: UploadRow, { uid, maxSizeBytes }: Video, incoming: IncomingMessage): Promise<Video> {
    const maxFileBytes = Math.min(maxBytes, maxSizeBytes ?? Infinity);
    // The lock applies to one process only: data stored by another process must be neither overwritten nor removed.
    const key = sources.key(uid, ids.token(8));
    let name: string | undefined;
    let size: number;
    try {
      size = await readStreamedForm(incoming, maxFileBytes, async (file) => {
        name = file.name;
        return storeAs(key, await readFirst(sources.trackActivity(uid, file.body)), maxFileBytes);
      });
    } catch (err) {
      await remove(key);
      throw err;
    }
    const video = await sources.registerSource(uid, { key, size }).catch(async (err: unknown) => {
      // Only in this case, because announcing a video may fail after its row has this source.
      if (err instanceof UserError && err.kind === "alreadyUploaded") await remove(key);
      throw err;
    });
    await sources.discard(row);
    await setNameIfUnset(deps, row, name);
    await table.change(uid, { finished_at: clock.now(), length: size });
    log.info({ video: uid, account: row.account_id, octets: size, by: "form" }, "stream: upload completed");
    return video;
  }
}

interface StartedBody {
  first: IteratorResult<Uint8Array>;
  rest: AsyncIterator<Uint8Array>;
}

async function readFirst(body: AsyncIterable<Uint8Array>): Promise<StartedBody> {
  const rest = body[Symbol.asyncIterator]();
  return { first: await rest.next(), rest };
}

async function* restoreBody(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
