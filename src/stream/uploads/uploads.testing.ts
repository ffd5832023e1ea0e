import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { openObjects } from "../../../test/support/open-objects.ts";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import { randomIds, silentLog, systemClock, UserError, type Clock } from "../../kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openSqlite,
  type Db,
  type Migration,
} from "../../store/index.ts";
import { createStreamUrls } from "../videos/urls.ts";
import { createVideos } from "../videos/videos.ts";
import { videosMigrations } from "../videos/videos-table.ts";
import { hasUploadBody } from "./http.ts";
import type { UploadsDeps } from "./deps.ts";
import { createUploads } from "./uploads.ts";
import { uploadsMigrations } from "./uploads-table.ts";

const uploadsTestMigrations: Migration[] = [...jobsMigrations, ...videosMigrations, ...uploadsMigrations];
export const ACCOUNT = "a".repeat(32);

/** A valid start of a video file; the rest is arbitrary. */
export const VIDEO_HEAD = Buffer.from("000000206674797069736f6d", "hex");

export interface UploadsFixtureOptions {
  folder: string;
  db?: Db;
  clock?: Clock;
  port?: number;
  more?: Partial<UploadsDeps>;
}

/**
 * Serves the uploads service over HTTP, on real storage. In place of the API, a POST to `/tus` (or `/direct`, with direct_user) creates an upload, and a POST to `/form` uploads a form.
 */
export async function openUploadsFixture({
  folder,
  db = openSqlite({ path: `${folder}/db.sqlite` }),
  clock = systemClock,
  port = 0,
  more,
}: UploadsFixtureOptions) {
  await migrate(db, uploadsTestMigrations);
  const events = createLocalEvents({ log: silentLog });
  const objects = await openObjects({ folder: `${folder}/objects` });
  const jobs = createJobs({ db, clock, ids: randomIds, events, log: silentLog });
  const videos = createVideos({
    db,
    objects,
    jobs,
    events,
    clock,
    ids: randomIds,
    log: silentLog,
    settings: { max_duration_seconds: 36_000, storage_minutes: 0, max_queued: 120, min_deletion_days: 30 },
  });
  const urls = createStreamUrls({ deliveryDomain: "", base: () => base });
  const uploads = createUploads({
    db,
    objects,
    jobs,
    events,
    clock,
    ids: randomIds,
    log: silentLog,
    videos,
    urls,
    settings: { upload_gb: 1, basic_upload_mb: 8, chunk_mb: 200 },
    fetch: createGuardedFetch({ allowPrivate: true }),
    copyRetries: { attempts: 2, backoff: () => 10 },
    ...more,
  });
  videos.onDeleted(uploads.onVideoDeleted);
  videos.beforeExpiry(uploads.isArriving);

  async function answer(request: IncomingMessage, response: ServerResponse) {
    if (request.url!.startsWith("/upload/")) return uploads.http(request, response);
    try {
      if (request.url === "/form") return void response.end(JSON.stringify(await uploads.form(ACCOUNT, request)));
      const { headers } = await uploads.tus(ACCOUNT, {
        headers: request.headers,
        directUser: request.url === "/direct",
        ...(hasUploadBody(request) && { body: request }),
      });
      response.writeHead(201, headers).end();
    } catch (err) {
      response.writeHead(err instanceof UserError ? err.entry.http : 500).end(String(err));
    }
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await uploads.recover();

  return {
    base,
    db,
    events,
    objects,
    jobs,
    videos,
    uploads,
    clock,
    source: async (uid: string) =>
      (await objects.open((await videos.find(uid))?.sourceKey ?? `stream/${uid}/source`))?.bytes(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await uploads.close();
      await videos.close();
      await events.close();
      await db.close();
    },
  };
}

export type UploadsFixture = Awaited<ReturnType<typeof openUploadsFixture>>;
