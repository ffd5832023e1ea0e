import { UserError, type Log } from "../../../kernel/index.ts";
import type { StreamPort } from "../../ports.ts";
import { drain } from "../body.ts";
import { BodyTooLarge, readJsonBody, sendJson } from "../http.ts";
import type { BindingServices } from "../service.ts";

/** Arguments are a few fields; metadata is a few kilobytes. */
const ARGS_LIMIT = 256 * 1024;
const DRAIN_LIMIT = 50 * 1024 * 1024;

/** Creates the server side of `env.STREAM`: passes calls to the video module with the field names of the binding. */
export function createStreamService({ port, log }: { port: StreamPort; log: Log }): BindingServices["stream"] {
  return {
    async handle(request, response, { script, binding }) {
      const operation = (request.url ?? "/")
        .replace(/^[^?]*?:\/\/[^/]*/, "")
        .replace(/^\//, "")
        .split("?")[0]!;
      const header = request.headers["x-reelpost-args"];
      try {
        const args =
          typeof header === "string"
            ? (JSON.parse(decodeURIComponent(header)) as unknown)
            : await readJsonBody(request, ARGS_LIMIT);
        const caller = { script: script.name, ...(script.account !== undefined && { account: script.account }) };
        const result = await port.call(
          caller,
          operation,
          Array.isArray(args) ? args : [],
          typeof header === "string" ? request : undefined,
        );
        sendJson(response, 200, { result: result ?? null });
      } catch (err) {
        if (response.headersSent) return void response.destroy();
        await drain(request, DRAIN_LIMIT);
        const refusal =
          err instanceof BodyTooLarge
            ? { error: err.message, name: "BadRequestError", code: 10005, statusCode: 400 }
            : refusalOf(err);
        if (refusal.statusCode === 500)
          log.error({ err, script: script.name, binding: binding.name, operation }, "stream: binding call failed");
        sendJson(response, refusal.statusCode, refusal);
      }
    },
  };
}

/** Error names by status, as in the hosted binding; three codes have their own names. */
const NAMES: Record<number, string> = {
  400: "BadRequestError",
  401: "ForbiddenError",
  403: "ForbiddenError",
  404: "NotFoundError",
  429: "RateLimitedError",
};
const NAMES_BY_CODE: Record<number, string> = { 10010: "InvalidURLError", 10011: "QuotaReachedError" };
const NAMES_BY_KIND: Record<string, string> = {
  tooLarge: "MaxFileSizeError",
  alreadyUploaded: "AlreadyUploadedError",
  tooManyWatermarks: "TooManyWatermarksError",
};

/** Internal errors are hidden from the worker. */
function refusalOf(err: unknown): { error: string; name: string; code: number; statusCode: number } {
  if (!(err instanceof UserError))
    return { error: "An internal error occurred", name: "InternalError", code: 10001, statusCode: 500 };
  const { http } = err.entry;
  const code = typeof err.code === "number" ? err.code : 10001;
  return {
    error: err.message,
    name: NAMES_BY_KIND[err.kind] ?? NAMES_BY_CODE[code] ?? NAMES[http] ?? "StreamError",
    code,
    statusCode: http,
  };
}
