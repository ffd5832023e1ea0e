import type { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import { videoDraft, ACCOUNT_UPLOAD_EXPIRY_MS, DIRECT_UPLOAD_EXPIRY_MS } from "./drafts.ts";
import type { UploadsDeps } from "./deps.ts";
import type { RequestedVideo, TusCreation, Uploads } from "./port.ts";
import type { Sources } from "./sources.ts";
import { readTusMetadata } from "./tus-metadata.ts";
import type { UploadLock } from "./upload-lock.ts";
import { DEFERRED_LENGTH, hashOf, NO_DATA_YET, type UploadRow, type UploadsTable } from "./uploads-table.ts";
import { metaText, type Video } from "../videos/index.ts";

export interface CreationDeps extends UploadsDeps {
  table: UploadsTable;
  sources: Sources;
  lock: UploadLock;
}

export interface UploadCreator extends Pick<Uploads, "tus" | "direct"> {
  /**
   * Starts an upload at a one-time URL by declaring its length. May be repeated, even for a different file. Resolves
   * with the response headers.
   */
  begin(
    row: UploadRow,
    secret: string,
    creation: Pick<TusCreation, "headers" | "body">,
  ): Promise<Record<string, string>>;
}

const GIB = 1024 ** 3;

/** Creation of uploads that span several requests or are performed by other users. */
export function createUploadCreator(deps: CreationDeps): UploadCreator {
  const { clock, ids, settings, videos, urls, table, sources, lock } = deps;

  /** Returns the declared length, or DEFERRED. */
  function checkLength(headers: TusCreation["headers"], maxSizeBytes?: number | null): number {
    checkTusHeaders(headers);
    const badHeader = (reason: string) => streamErrors.badParameter({ reason });
    if (headers["upload-concat"] !== undefined)
      throw badHeader("Upload-Concat is not supported: send the file in one upload (parallelUploads 1)");
    const [text, deferredLength] = [
      singleHeader(headers["upload-length"]),
      singleHeader(headers["upload-defer-length"]),
    ];
    if (deferredLength !== undefined && deferredLength !== "1")
      throw badHeader(`Upload-Defer-Length must be 1, not ${JSON.stringify(deferredLength.slice(0, 40))}`);
    if (deferredLength !== undefined && text !== undefined)
      throw badHeader("Upload-Length and Upload-Defer-Length are mutually exclusive: send only one");
    if (deferredLength !== undefined) return DEFERRED_LENGTH;
    if (text === undefined)
      throw badHeader("Upload-Length is required: the size of the file in bytes, or Upload-Defer-Length: 1");
    const length = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(length))
      throw badHeader(`Upload-Length must be the size of the file in bytes, not ${JSON.stringify(text.slice(0, 40))}`);
    checkSize(length, maxSizeBytes, settings);
    return length;
  }

  /** Resolves with the response to a creation, once the data that came with it has been stored. */
  async function creationHeaders(
    row: UploadRow & { length: number },
    secret: string,
    body: TusCreation["body"],
    maxSizeBytes: number | null | undefined,
  ): Promise<Record<string, string>> {
    const limit =
      row.length === DEFERRED_LENGTH
        ? deferredLengthLimit(maxSizeBytes, settings)
        : {
            bytes: row.length,
            exceeded: () => streamErrors.tooLarge({ limit: row.length, rule: "the declared Upload-Length" }),
          };
    const offset = body === undefined ? undefined : await receive(row, limitBytes(limit, body));
    return {
      "tus-resumable": "1.0.0",
      location: urls.upload(row.uid, secret),
      "stream-media-id": row.uid,
      ...(offset !== undefined && { "upload-offset": String(offset) }),
    };
  }

  /**
   * A client that chooses uids and did not receive the response to its create request retries it: the upload starts
   * over with a new URL. Undefined if the uid has no pending upload in this account.
   */
  async function restart(
    account: string,
    uid: string,
    { length, metadata, secret }: { length: number; metadata: string; secret: string },
  ): Promise<{ row: UploadRow; video: Video } | undefined> {
    const [row, video] = [await table.find(uid), await videos.find(uid)];
    if (row === undefined || row.finished_at !== null || row.kind !== "tus") return undefined;
    if (video?.account !== account || video.state !== "pendingupload") return undefined;
    const end = await lock.acquire(uid);
    if (end === undefined) throw streamErrors.uploadBusy();
    try {
      await sources.discard(row);
      await table.change(uid, { length, metadata, secret: hashOf(secret), touched_at: NO_DATA_YET });
      return { row, video };
    } finally {
      end();
    }
  }

  async function receive(row: UploadRow & { length: number }, body: AsyncIterable<Uint8Array>): Promise<number> {
    const end = await lock.acquire(row.uid);
    if (end === undefined) throw streamErrors.uploadBusy();
    try {
      return await sources.append(row, 0, body);
    } finally {
      end();
    }
  }

  return {
    async tus(account, { headers, directUser, body, uid }) {
      const length = checkLength(headers);
      const metadata = singleHeader(headers["upload-metadata"]) ?? "";
      const requested: RequestedVideo = {
        creator: singleHeader(headers["upload-creator"]) ?? null,
        ...readTusMetadata(metadata),
      };
      const draft = await videoDraft(
        deps,
        account,
        requested,
        directUser ? DIRECT_UPLOAD_EXPIRY_MS : ACCOUNT_UPLOAD_EXPIRY_MS,
      );
      const secret = ids.token(24);
      const restarted = uid === undefined ? undefined : await restart(account, uid, { length, metadata, secret });
      if (restarted !== undefined)
        return {
          video: restarted.video,
          headers: await creationHeaders({ ...restarted.row, length }, secret, body, restarted.video.maxSizeBytes),
        };
      const video = await videos.create(
        account,
        { ...draft, ...(length !== DEFERRED_LENGTH && { size: length }) },
        "pendingupload",
        uid,
      );
      const row = await table.insert({
        uid: video.uid,
        account_id: account,
        kind: "tus",
        secret: hashOf(secret),
        length,
        metadata,
        touched_at: NO_DATA_YET,
        // A deleted video may have had the same uid, because the client chose it.
        ...(uid !== undefined && { source_key: sources.key(uid, ids.token(8)) }),
      });
      return { video, headers: await creationHeaders({ ...row, length }, secret, body, video.maxSizeBytes) };
    },
    async begin(row, secret, { headers, body }) {
      const video = await videos.find(row.uid);
      const length = checkLength(headers, video?.maxSizeBytes);
      const metadata = singleHeader(headers["upload-metadata"]) ?? "";
      const { meta } = readTusMetadata(metadata);
      const end = await lock.acquire(row.uid);
      if (end === undefined) throw streamErrors.uploadBusy();
      let begunUpload: UploadRow;
      try {
        const existingUpload = await table.find(row.uid);
        if (existingUpload === undefined) throw streamErrors.uploadNotFound();
        const now = existingUpload.finished_at === null ? existingUpload : await sources.reopen(existingUpload);
        if (now === undefined) throw streamErrors.alreadyUploaded({ uid: row.uid });
        // The same file resumes where it stopped; for a different file, the data of the first is discarded. Cameras
        // create files of equal size, so names are compared too.
        if (now.length !== length || (now.metadata ?? "") !== metadata) await sources.discard(now);
        await table.change(row.uid, { length, metadata, touched_at: clock.now() });
        begunUpload = now;
      } finally {
        end();
      }
      await setNameIfUnset(deps, row, metaText(meta ?? {}, "name") ?? metaText(meta ?? {}, "filename"));
      return creationHeaders(
        { ...begunUpload, length },
        secret,
        body !== undefined && (await sources.offset({ ...begunUpload, length })) === 0 ? body : undefined,
        video?.maxSizeBytes,
      );
    },
    async direct(account, requested) {
      const draft = await videoDraft(deps, account, requested, DIRECT_UPLOAD_EXPIRY_MS);
      const video = await videos.create(account, draft);
      const secret = ids.token(24);
      await table.insert({
        uid: video.uid,
        account_id: account,
        kind: "direct",
        secret: hashOf(secret),
        touched_at: NO_DATA_YET,
      });
      return { video, uploadUrl: urls.upload(video.uid, secret) };
    },
  };
}

/** Checks the headers required in every TUS request. Throws unsupportedTus, badParameter. */
export function checkTusHeaders(headers: TusCreation["headers"]): void {
  const version = singleHeader(headers["tus-resumable"]);
  if (version !== "1.0.0")
    throw streamErrors.unsupportedTus({
      version: version === undefined ? "absent" : JSON.stringify(version.slice(0, 20)),
    });
  // Ignoring this header would acknowledge bytes that the client assumes to be verified.
  if (headers["upload-checksum"] !== undefined)
    throw streamErrors.badParameter({
      reason: "Upload-Checksum is not supported (Tus-Extension lists no checksum): send the request without it",
    });
}

/** Throws notAVideo, tooLarge. */
export function checkSize(
  length: number,
  maxSizeBytes: number | null | undefined,
  settings: Pick<UploadsDeps["settings"], "upload_gb">,
): void {
  if (length === 0) throw streamErrors.notAVideo({ reason: "it is empty" });
  const limit = Math.min(maxSizeBytes ?? Infinity, uploadLimit(settings));
  if (length > limit)
    throw streamErrors.tooLarge({
      limit,
      rule: `Upload-Length is ${length}${limit === maxSizeBytes ? ", more than this video allows" : " (stream.upload_gb)"}`,
    });
}

export const uploadLimit = ({ upload_gb }: Pick<UploadsDeps["settings"], "upload_gb">): number =>
  Math.floor(upload_gb * GIB);

/** An upload without a token sets only the video's name, to the file name, and only if its owner has not set one. */
export async function setNameIfUnset(
  { videos }: Pick<UploadsDeps, "videos">,
  { uid, account_id: account }: UploadRow,
  name: string | undefined,
): Promise<void> {
  const video = await videos.find(uid);
  if (video === undefined || name === undefined || name === "" || video.meta.name !== undefined) return;
  await videos.edit(account, uid, { meta: { ...video.meta, name: name.slice(0, 500) } });
}

interface ByteLimit {
  bytes: number;
  exceeded: () => UserError;
}

/** Limit of an upload whose length has not been declared: the video's, and stream.upload_gb. */
export function deferredLengthLimit(
  maxSizeBytes: number | null | undefined,
  settings: Pick<UploadsDeps["settings"], "upload_gb">,
): ByteLimit {
  const bytes = Math.min(maxSizeBytes ?? Infinity, uploadLimit(settings));
  const rule = bytes === maxSizeBytes ? "the maximum for this video" : "the maximum for uploads (stream.upload_gb)";
  return { bytes, exceeded: () => streamErrors.tooLarge({ limit: bytes, rule }) };
}

/** Passes the upload body through, and throws at the first chunk beyond the limit. `offset`: bytes already stored. */
export async function* limitBytes(
  { bytes, exceeded }: ByteLimit,
  body: AsyncIterable<Uint8Array>,
  offset = 0,
): AsyncGenerator<Uint8Array> {
  let remainingBytes = bytes - offset;
  for await (const piece of body) {
    remainingBytes -= piece.length;
    if (remainingBytes < 0) throw exceeded();
    yield piece;
  }
}

const singleHeader = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
