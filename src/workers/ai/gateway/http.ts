import type { IncomingMessage, ServerResponse } from "node:http";
import { messageOf, UserError, type Log } from "../../../kernel/index.ts";
import { drain, readBody } from "../../bindings/body.ts";
import { aiLimits } from "../limits.ts";
import { aiGatewayErrors } from "./errors.ts";
import type { FindGateway } from "./lookup.ts";
import { AI_GATEWAY_PREFIX } from "./path.ts";
import type { AiGatewayProxy } from "./proxy.ts";
import { sendGatewayResponse } from "./send-response.ts";
import { universalSteps } from "./universal.ts";

/** After this many bytes, the rest of a rejected request is not read. */
const DRAIN_BYTES = aiLimits.bodyBytes;

interface AiGatewayHttpDeps {
  proxy: AiGatewayProxy;
  find: FindGateway;
  /** True if the API token has the permission AI Gateway Run on the account. */
  mayRun(token: string, account: string, request: IncomingMessage): Promise<boolean>;
  log: Log;
}

/** Creates the HTTP endpoint of AI Gateway. Errors have the format of the hosted gateway. */
export function createAiGatewayHttp({ proxy, find, mayRun, log }: AiGatewayHttpDeps) {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { account, gateway: id, provider, endpoint } = addressOf(request.url!);
    const headers = new Headers(
      Object.entries(request.headersDistinct).flatMap(([name, values]) =>
        values!.map((value) => [name, value] as [string, string]),
      ),
    );
    const isAuthenticated = await authenticate(headers, account, provider, request);
    const gateway = await find(account, id, { isAuthenticated }).catch((err: unknown) => {
      // Unauthenticated callers must not learn which gateways exist.
      throw isAuthenticated ? err : aiGatewayErrors.unauthorized();
    });
    if (gateway.authentication && !isAuthenticated) throw aiGatewayErrors.unauthorized();
    const body = await readBody(request, aiLimits.bodyBytes);
    if (body === undefined)
      throw aiGatewayErrors.badRequest({
        reason: "the body is too large",
        fix: `Send at most ${aiLimits.bodyBytes} bytes.`,
      });
    const steps =
      provider === undefined
        ? universalSteps(body, headers)
        : [{ provider, endpoint, method: methodOf(request), headers, body }];
    const client = new AbortController();
    response.once("close", () => client.abort());
    await proxy.call({ gateway, steps, isAuthenticated, signal: client.signal }, (answer) =>
      sendGatewayResponse(response, answer),
    );
  }

  async function authenticate(
    headers: Headers,
    account: string,
    provider: string | undefined,
    request: IncomingMessage,
  ): Promise<boolean> {
    const own = bearer(headers.get("cf-aig-authorization"));
    if (own !== undefined) return mayRun(own, account, request);
    // Workers AI has no other key, and clients of OpenAI send their key in this header.
    const key = bearer(headers.get("authorization"));
    if (key === undefined || (provider !== "workers-ai" && provider !== "compat")) return false;
    const isToken = await mayRun(key, account, request);
    // An API token is not for the provider.
    if (isToken) headers.delete("authorization");
    return isToken;
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await handle(request, response);
    } catch (err) {
      if (!(err instanceof UserError) && !response.destroyed)
        log.error({ err }, `ai gateway: request failed: ${messageOf(err)}`);
      await sendGatewayError(request, response, err);
    }
  };
}

function addressOf(url: string) {
  const [path, query] = url.split("?") as [string, string?];
  const [account = "", gateway = "", provider, ...rest] = path.slice(AI_GATEWAY_PREFIX.length).split("/");
  if (!/^[0-9a-f]{32}$/.test(account) || gateway === "")
    throw aiGatewayErrors.gatewayMissing({ gateway: gateway || "(none)", account: account || "{account_id}" });
  const endpoint = `${rest.join("/")}${query === undefined ? "" : `?${query}`}`;
  return { account, gateway: decode(gateway), provider: provider === "" ? undefined : provider, endpoint };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function methodOf({ method = "" }: IncomingMessage): string {
  if (method === "GET" || method === "POST") return method;
  throw aiGatewayErrors.badRequest({ reason: `the method ${method} is not supported`, fix: "Use POST or GET." });
}

const bearer = (header: string | null) => /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];

async function sendGatewayError(request: IncomingMessage, response: ServerResponse, err: unknown): Promise<void> {
  if (response.headersSent) return void response.destroy();
  await drain(request, DRAIN_BYTES);
  const { status, code, message } =
    err instanceof UserError
      ? {
          status: err.entry.http,
          code: err.code,
          message: err.fix === undefined ? err.message : `${err.message}. ${err.fix}`,
        }
      : { status: 500, code: 2002, message: "Internal server error" };
  const failure = { code, message };
  // `error` is the field of the hosted gateway, `errors` that of the API.
  const text = JSON.stringify({ success: false, result: [], messages: [], error: [failure], errors: [failure] });
  response
    .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    .end(text);
}
