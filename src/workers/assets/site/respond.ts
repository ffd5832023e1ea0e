import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { AssetFile } from "../files/port.ts";
import { matchesEtag, readRange, type ByteRange } from "../../../protocol/http/index.ts";
import type { ResolvedAsset } from "./resolve.ts";
import type { HeaderRule } from "./headers-file.ts";

/** Receives header names and values as a flat list, and returns those to send. */
export type HeaderFilter = (headers: string[]) => string[];

interface ResponseContext {
  request: IncomingMessage;
  response: ServerResponse;
  /** Header changes from `_headers`. */
  rules: Pick<HeaderRule, "set" | "unset">[];
  filter: HeaderFilter;
}

const CACHE_CONTROL = "public, max-age=0, must-revalidate";

/** Sends the response. Resolves when it has ended, even if the client disconnects. */
export async function sendAsset(resolved: ResolvedAsset | undefined, responseContext: ResponseContext): Promise<void> {
  const { request, response, rules, filter } = responseContext;
  // An unread body would block the connection.
  request.resume();
  const plannedResponse = planResponse(resolved, request);
  const file = request.method === "HEAD" ? undefined : plannedResponse.body;
  const body = await file?.open(plannedResponse.range);
  // The content is missing from the store.
  if (file !== undefined && body === undefined)
    return void response.writeHead(500, filter(["Content-Length", "0"])).end();
  if (response.destroyed) return void body?.destroy();
  response.writeHead(plannedResponse.status, filter(applyHeaderRules(plannedResponse.headers, rules)));
  if (body === undefined) return void response.end();
  await pipeline(body, response).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== "ERR_STREAM_PREMATURE_CLOSE") throw err;
  });
}

interface PlannedResponse {
  status: number;
  headers: [name: string, value: string][];
  /** The file to send; absent for an empty body. */
  body?: AssetFile;
  range?: ByteRange;
}

const emptyResponse = (status: number, headers: PlannedResponse["headers"] = []): PlannedResponse => ({
  status,
  headers: [...headers, ["Content-Length", "0"]],
});

function planResponse(
  resolved: ResolvedAsset | undefined,
  { headers: requestHeaders }: Pick<IncomingMessage, "headers">,
): PlannedResponse {
  if (resolved === undefined) return emptyResponse(404);
  if (resolved.kind === "redirect") return emptyResponse(resolved.status, [["Location", resolved.location]]);
  if (resolved.kind === "status")
    return emptyResponse(resolved.status, resolved.status === 405 ? [["Allow", "GET, HEAD"]] : []);
  const { file, status } = resolved;
  const etag = `"${file.etag}"`;
  const headers: PlannedResponse["headers"] = [
    ["ETag", etag],
    ...(file.contentType === undefined ? [] : [["Content-Type", file.contentType] as [string, string]]),
    ...(requestHeaders.authorization === undefined && requestHeaders.range === undefined
      ? [["Cache-Control", CACHE_CONTROL] as [string, string]]
      : []),
    ["CF-Cache-Status", "HIT"],
  ];
  if (matchesEtag(requestHeaders["if-none-match"], etag)) return { status: 304, headers };
  const range = status === 200 ? rangeOf(requestHeaders, etag, file.size) : undefined;
  if (range === "unsatisfiable") return emptyResponse(416, [["Content-Range", `bytes */${file.size}`]]);
  if (status === 200) headers.push(["Accept-Ranges", "bytes"]);
  if (range === undefined)
    return {
      status,
      headers: [...headers, ["Content-Length", String(file.size)]],
      ...(file.size > 0 && { body: file }),
    };
  headers.push(
    ["Content-Range", `bytes ${range.start}-${range.end}/${file.size}`],
    ["Content-Length", String(range.end - range.start + 1)],
  );
  return { status: 206, headers, range, body: file };
}

/** If If-Range does not match, the whole file is sent (RFC 9110 13.1.5). */
function rangeOf({ range, "if-range": validator }: IncomingHttpHeaders, etag: string, size: number) {
  return typeof validator === "string" && validator.trim() !== etag ? undefined : readRange(range, size);
}

/**
 * Applies header rules: the first rule that sets a header replaces the default value; later rules append theirs.
 * Returns names and values as a flat list.
 */
function applyHeaderRules(headers: PlannedResponse["headers"], rules: ResponseContext["rules"]): string[] {
  const fields = new Map(headers.map(([name, value]) => [name.toLowerCase(), { name, value }]));
  const replacedNames = new Set<string>();
  for (const { set, unset } of rules) {
    for (const name of unset) if (name !== "content-length") fields.delete(name);
    for (const [name, value] of set) {
      const before = replacedNames.has(name) ? fields.get(name) : undefined;
      fields.set(name, {
        name: before?.name ?? name,
        value: before === undefined ? value : `${before.value}, ${value}`,
      });
      replacedNames.add(name);
    }
  }
  return [...fields.values()].flatMap(({ name, value }) => [name, value]);
}
