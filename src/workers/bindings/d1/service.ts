import type { IncomingMessage, ServerResponse } from "node:http";
import { silentLog, systemClock, UserError } from "../../../kernel/index.ts";
import type { Binding } from "../../scripts/script.ts";
import { drain, readBody } from "../body.ts";
import type { BindingService } from "../service.ts";
import { createBookmarkGenerator } from "./bookmarks.ts";
import { createD1Databases, type D1DatabasesOptions } from "./databases.ts";
import type { D1Databases } from "./port.ts";
import { d1Errors } from "./errors.ts";
import type { D1DatabaseList } from "./list.ts";
import type { ResultsFormat } from "./results.ts";

/** The header that carries a session's bookmark in both directions (workerd src/cloudflare/internal/d1-api.ts). */
const BOOKMARK_HEADER = "x-cf-d1-session-commit-token";
const OPEN_BRACKET = 0x5b;
const MAX_DRAIN_BYTES = 1024 ** 3;

export interface D1Service extends BindingService<Extract<Binding, { type: "d1" }>> {
  /** The databases, for other callers; closing them ends the service. */
  readonly databases: D1Databases;
}

interface D1ServiceOptions extends D1DatabasesOptions {
  /** Existing databases; if absent, they are created from the other options. */
  databases?: D1Databases;
  /**
   * The databases of accounts. A worker of an account can access only those listed there; a worker without one
   * (`reelpost dev`) needs no list.
   */
  list?: Pick<D1DatabaseList, "isLive">;
}

/** Serves workerd's `cloudflare-internal:d1-api`: POST /query and /execute with `{sql, params}` or an array of them. */
export function createD1Service({ list, ...options }: D1ServiceOptions): D1Service {
  const { clock = systemClock, log = silentLog, databases = createD1Databases(options) } = options;
  const bookmarkOf = createBookmarkGenerator(clock);

  async function answer(
    request: IncomingMessage,
    id: string,
    signal: AbortSignal,
  ): Promise<{ status: number; json: string | Buffer; bookmark?: string }> {
    const { pathname, searchParams } = new URL(request.url!, "http://d1");
    // The client shows only the status of a failed dump(). D1 sends 400 because only its alpha supported dump().
    if (pathname === "/dump") return { status: 400, json: toFailure("dump() is not supported.") };
    if (request.method !== "POST" || (pathname !== "/query" && pathname !== "/execute"))
      return { status: 404, json: toFailure(`No such endpoint: ${request.method} ${pathname}`) };
    const { requestBytes } = databases.limits;
    const body = await readBody(request, requestBytes);
    if (!body) throw d1Errors.requestTooLarge({ requestBytes });
    // Two calls send arrays: batch() uses /query and exec() uses /execute.
    const isScript = pathname === "/execute" && body[0] === OPEN_BRACKET;
    const json = await databases.exchange(
      id,
      { format: formatOf(searchParams.get("resultsFormat")), script: isScript },
      body,
      signal,
    );
    return { status: 200, json, bookmark: bookmarkOf(id) };
  }

  return {
    databases,
    async handle(request, response, { script, binding }) {
      const disconnectController = new AbortController();
      response.once("close", () => disconnectController.abort(new Error("the client disconnected")));
      let result: Awaited<ReturnType<typeof answer>>;
      try {
        if (list && script.account !== undefined && !(await list.isLive(script.account, binding.id)))
          throw d1Errors.databaseNotFound({ id: binding.id });
        result = await answer(request, binding.id, disconnectController.signal);
      } catch (error) {
        if (disconnectController.signal.aborted) return;
        if (!(error instanceof UserError))
          log.error({ err: error, script: script.name, binding: binding.name }, "d1: request failed");
        // The client treats every status the same and reads `error`.
        result = { status: 200, json: toFailure((error instanceof UserError ? error : d1Errors.reset()).message) };
      }
      await drain(request, MAX_DRAIN_BYTES);
      end(response, result);
    },
  };
}

function end(
  response: ServerResponse,
  { status, json, bookmark }: { status: number; json: string | Buffer; bookmark?: string },
) {
  const headers: Record<string, string | number> = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(json),
  };
  if (bookmark !== undefined) headers[BOOKMARK_HEADER] = bookmark;
  response.writeHead(status, headers).end(json);
}

const formatOf = (text: string | null): ResultsFormat =>
  text === "ROWS_AND_COLUMNS" || text === "NONE" ? text : "ARRAY_OF_OBJECTS";

const toFailure = (error: string) => JSON.stringify({ success: false, error });
