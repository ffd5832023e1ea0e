import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { SentBody } from "../api/client.ts";
import { connectionErrors } from "../api/errors.ts";
import { commandErrors } from "../errors.ts";
import type { D1Connection } from "./d1-database.ts";

/** A step of a long-running job on the server, as returned by import and export. */
export interface JobStatus {
  success?: boolean;
  status?: "active" | "complete" | "error";
  at_bookmark?: string;
  messages?: string[];
  errors?: string[];
  error?: string;
  upload_url?: string;
  filename?: string;
  result?: {
    num_queries?: number;
    final_bookmark?: string;
    filename?: string;
    signed_url?: string;
    meta?: Record<string, unknown>;
  };
}

const POLL_MS = 300;
const STEP_TIMEOUT_MS = 300_000;

/** Polls until the job has finished. Throws if the server reports that it failed. */
export async function pollToEnd(
  first: JobStatus,
  pollImport: (bookmark: string | undefined) => Promise<JobStatus>,
  onMessage: (text: string) => void,
): Promise<JobStatus> {
  let step = first;
  for (;;) {
    for (const message of step.messages ?? []) onMessage(message);
    if (step.status === "complete") return step;
    if (step.status === "error" || step.success === false || step.error !== undefined)
      throw commandErrors.databaseWorkFailed({
        reason: step.errors?.join("; ") ?? step.error ?? "no reason given",
      });
    await sleep(POLL_MS);
    step = await pollImport(step.at_bookmark);
  }
}

/** Runs a SQL file on the server: uploads it to the URL the server returns, then starts the import. */
export async function importFile(
  { api, database, progress }: D1Connection,
  file: { path: string; size: number; body: () => SentBody },
): Promise<NonNullable<JobStatus["result"]>> {
  const etag = await md5Of(file.path);
  const call = (json: object) =>
    api.result<JobStatus>("POST", `${database}/import`, { json, timeoutMs: STEP_TIMEOUT_MS });
  const started = await call({ action: "init", etag });
  // A file that the server already has is imported immediately.
  let step = started;
  if (started.upload_url !== undefined) {
    await upload(new URL(started.upload_url, api.url), file);
    step = await call({ action: "ingest", filename: started.filename, etag });
  }
  const finalState = await pollToEnd(
    step,
    (bookmark) => call({ action: "poll", current_bookmark: bookmark }),
    (text) => progress.step(text),
  );
  return finalState.result ?? {};
}

/** The URL itself is the credential; the API token is not sent to it. */
async function upload(url: URL, { size, body }: { size: number; body: () => SentBody }): Promise<void> {
  const { stream } = body() as { stream: AsyncIterable<Uint8Array> };
  const response = await fetch(url, {
    method: "PUT",
    headers: { "content-length": String(size) },
    body: stream as unknown as NonNullable<RequestInit["body"]>,
    duplex: "half",
  } as RequestInit).catch((cause: unknown) => {
    throw connectionErrors.unreachable(
      { url: url.origin, origin: url.origin, reason: String((cause as Error).cause ?? cause) },
      { cause },
    );
  });
  const text = await response.text();
  if (!response.ok)
    throw commandErrors.databaseWorkFailed({
      reason: `the upload failed with status ${response.status}: ${text.slice(0, 200)}`,
    });
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash("md5");
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>)
    hash.update(chunk);
  return hash.digest("hex");
}
