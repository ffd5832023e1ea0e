import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../../kernel/index.ts";
import type { ApiClient, ApiRequestOptions } from "../api/client.ts";

/** Connection and gateway errors, after which a read is retried. */
const REPEATABLE = new Set<number | string>(["E_UNREACHABLE", "E_TIMEOUT", "E_BROKEN_ANSWER", "E_NOT_THE_API"]);
const MAX_ATTEMPTS = 4;

/** Limits an API to `limit` concurrent requests; reads are retried after connection errors. */
export function limitConcurrency(
  api: ApiClient,
  limit: number,
  pause: (ms: number) => Promise<unknown> = sleep,
): ApiClient {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function run<Result>(method: string, send: () => Promise<Result>): Promise<Result> {
    // When a request ends, its slot goes to the next waiting request.
    if (running < limit) running++;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await send();
        } catch (thrown) {
          if (method !== "GET" || attempt === MAX_ATTEMPTS || !isRepeatable(thrown)) throw thrown;
          await pause(500 * 2 ** attempt);
        }
      }
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  return {
    url: api.url,
    envelope: <Result>(method: string, path: string, request?: ApiRequestOptions) =>
      run(method, () => api.envelope<Result>(method, path, request)),
    result: <Result>(method: string, path: string, request?: ApiRequestOptions) =>
      run(method, () => api.result<Result>(method, path, request)),
    raw: (method, path, request) => run(method, () => api.raw(method, path, request)),
  };
}

const isRepeatable = (thrown: unknown): boolean =>
  thrown instanceof UserError &&
  (REPEATABLE.has(thrown.code) || (thrown.domain === "server" && thrown.entry.http >= 500));
