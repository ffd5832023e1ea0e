import type { IncomingMessage, ServerResponse } from "node:http";
import type { WorkerRuntime } from "../../workers/index.ts";
import { noSuchWorker } from "./worker-choice.ts";

/** Path that runs a scheduled handler, as in `wrangler dev`. */
export const SCHEDULED_PATH = "/cdn-cgi/handler/scheduled";

interface Options {
  runtime: Pick<WorkerRuntime, "scheduled">;
  /** The default worker, used if the query does not specify one. */
  worker: string;
  workers: readonly string[];
  unavailable: (worker: string) => string | undefined;
  /**
   * `worker`: the worker to run. `cron`: the pattern passed to the handler, default "". `time`: epoch milliseconds,
   * default now. `format=json`.
   */
  query: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** The largest time value of a Date (ECMA-262 21.4.1.1). */
const MAX_TIME_MS = 8.64e15;

/** Runs the handler now and responds when its waitUntil() work is also done: 200 for ok, 500 for anything else. */
export async function runScheduled({
  runtime,
  worker,
  workers,
  unavailable,
  query,
  request,
  response,
}: Options): Promise<void> {
  // Drains the body, so that the connection can be reused.
  request.resume();
  if (request.method !== "GET" && request.method !== "POST")
    return answer(response, 405, `${SCHEDULED_PATH} accepts only GET and POST`, { allow: "GET, POST" });
  const parameters = new URLSearchParams(query);
  const workerName = parameters.get("worker") ?? worker;
  if (!workers.includes(workerName)) return answer(response, 404, noSuchWorker(workerName, workers));
  const unavailableReason = unavailable(workerName);
  if (unavailableReason !== undefined) return answer(response, 503, unavailableReason);
  const time = parameters.get("time");
  if (time !== null && !(/^\d+$/.test(time) && Number(time) <= MAX_TIME_MS))
    return answer(
      response,
      400,
      `time must be a number of milliseconds since 1970, not ${JSON.stringify(time.slice(0, 100))}`,
    );
  const scheduledTime = new Date(time === null ? Date.now() : Number(time));
  const { outcome, exception } = await runtime.scheduled(workerName, {
    cron: parameters.get("cron") ?? "",
    scheduledTime,
  });
  const status = outcome === "ok" ? 200 : 500;
  if (parameters.get("format") !== "json")
    return answer(
      response,
      status,
      exception === undefined ? outcome : `${outcome}\n${exception.stack ?? `${exception.name}: ${exception.message}`}`,
    );
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(JSON.stringify({ outcome, noRetry: false, ...(exception !== undefined && { exception }) }));
}

function answer(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers }).end(text);
}
