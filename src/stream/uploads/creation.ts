import { streamErrors } from "../errors.ts";
import { draftOf, SOME_DAYS_MS, SOON_MS } from "./drafts.ts";
import type { UploadsParts } from "./parts.ts";
import type { AskedVideo, TusCreation, Uploads } from "./port.ts";
import type { Sources } from "./sources.ts";
import { readTusMetadata } from "./tus-metadata.ts";
import type { Turns } from "./turns.ts";
import { hashOf, NOT_YET, type UploadRow, type UploadsTable } from "./uploads-table.ts";

export interface CreationParts extends UploadsParts {
  table: UploadsTable;
  sources: Sources;
  turns: Turns;
}

export interface Creations extends Pick<Uploads, "tus" | "direct"> {
  /** At a one-time address: says how much will come, and may say it again, of another file too. Answers headers. */
  begin(row: UploadRow, secret: string, creation: Pick<TusCreation, "headers" | "body">): Promise<Record<string, string>>;
}

const GIB = 1024 ** 3;

/** How uploads begin that go on over several requests, or are somebody else's. */
export function createCreations(parts: CreationParts): Creations {
  const { clock, ids, settings, videos, urls, table, sources, turns } = parts;

  function checkLength(headers: TusCreation["headers"], max = Infinity): number {
    checkVersion(headers);
    const bad = (reason: string) => streamErrors.badParameter({ reason });
    if (headers["upload-concat"] !== undefined) throw bad("Upload-Concat is not supported: send the file in one upload (parallelUploads 1)");
    const text = one(headers["upload-length"]);
    if (text === undefined) throw bad(headers["upload-defer-length"] === undefined ? "Upload-Length is required: the size of the file in bytes" : "Upload-Defer-Length is not supported: tell the size of the file in Upload-Length");
    const length = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(length)) throw bad(`Upload-Length is the size of the file in bytes, and not ${JSON.stringify(text.slice(0, 40))}`);
    if (length === 0) throw streamErrors.notAVideo({ reason: "it is empty" });
    const limit = Math.min(max, Math.floor(settings.upload_gb * GIB));
    if (length > limit) throw streamErrors.tooLarge({ limit, rule: `Upload-Length is ${length}${limit === max ? ", and this video may have no more" : " (stream.upload_gb)"}` });
    return length;
  }

  /** The answer to a creation, when what came with it is kept. */
  async function created(row: UploadRow & { length: number }, secret: string, body: TusCreation["body"]): Promise<Record<string, string>> {
    const offset = body === undefined ? undefined : await receive(row, body);
    return { "tus-resumable": "1.0.0", location: urls.upload(row.uid, secret), "stream-media-id": row.uid, ...(offset !== undefined && { "upload-offset": String(offset) }) };
  }

  async function receive(row: UploadRow & { length: number }, body: AsyncIterable<Uint8Array>): Promise<number> {
    const end = await turns.take(row.uid);
    if (end === undefined) throw streamErrors.uploadBusy();
    try {
      return await sources.append(row, 0, atMost(row.length, body));
    } finally {
      end();
    }
  }

  return {
    async tus(account, { headers, directUser, body }) {
      const length = checkLength(headers);
      const metadata = one(headers["upload-metadata"]) ?? "";
      const asked: AskedVideo = { creator: one(headers["upload-creator"]) ?? null, ...readTusMetadata(metadata) };
      const draft = await draftOf(parts, account, asked, directUser ? SOON_MS : SOME_DAYS_MS);
      const video = await videos.create(account, { ...draft, size: length });
      const secret = ids.token(24);
      const row = await table.insert({ uid: video.uid, account_id: account, kind: "tus", secret: hashOf(secret), length, metadata, touched_at: NOT_YET });
      return { video, headers: await created({ ...row, length }, secret, body) };
    },
    async begin(row, secret, { headers, body }) {
      const video = await videos.find(row.uid);
      const length = checkLength(headers, video?.maxSizeBytes ?? undefined);
      const metadata = one(headers["upload-metadata"]) ?? "";
      const { meta } = readTusMetadata(metadata);
      const end = await turns.take(row.uid);
      if (end === undefined) throw streamErrors.uploadBusy();
      try {
        const now = await table.find(row.uid);
        if (now === undefined) throw streamErrors.uploadNotFound();
        if (now.finished_at !== null) throw streamErrors.alreadyUploaded({ uid: row.uid });
        // The same file again goes on where it was; of another one, nothing of the first stays. Cameras make files of one size: their names tell.
        if (now.length !== length || (now.metadata ?? "") !== metadata) await sources.discard(row.uid);
        await table.change(row.uid, { length, metadata, touched_at: clock.now() });
      } finally {
        end();
      }
      await nameAfter(parts, row, meta?.name ?? meta?.filename);
      return created({ ...row, length }, secret, body !== undefined && (await sources.offset({ ...row, length })) === 0 ? body : undefined);
    },
    async direct(account, asked) {
      const draft = await draftOf(parts, account, asked, SOON_MS);
      const video = await videos.create(account, draft);
      const secret = ids.token(24);
      await table.insert({ uid: video.uid, account_id: account, kind: "direct", secret: hashOf(secret), touched_at: NOT_YET });
      return { video, uploadUrl: urls.upload(video.uid, secret) };
    },
  };
}

/** Throws unsupportedTus. */
export function checkVersion(headers: TusCreation["headers"]): void {
  const version = one(headers["tus-resumable"]);
  if (version !== "1.0.0") throw streamErrors.unsupportedTus({ version: version === undefined ? "absent" : JSON.stringify(version.slice(0, 20)) });
}

/** Who uploads without a token says nothing of the video but what the file is called, where its owner has not named it. */
export async function nameAfter({ videos }: Pick<UploadsParts, "videos">, { uid, account_id: account }: UploadRow, name: string | undefined): Promise<void> {
  const video = await videos.find(uid);
  if (video === undefined || name === undefined || name === "" || video.meta.name !== undefined) return;
  await videos.edit(account, uid, { meta: { ...video.meta, name: name.slice(0, 500) } });
}

/** Passes on so many octets, and refuses one more. */
export async function* atMost(octets: number, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = octets;
  for await (const piece of body) {
    if (piece.length > left) throw streamErrors.tooLarge({ limit: octets, rule: "Upload-Length said so" });
    left -= piece.length;
    yield piece;
  }
}

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);
