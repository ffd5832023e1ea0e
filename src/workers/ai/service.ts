import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { messageOf, UserError, type Log } from "../../kernel/index.ts";
import { readJsonBody, sendError, sendJson } from "../bindings/http.ts";
import type { BindingServices } from "../bindings/service.ts";
import { toAiResponse, aiErrorText } from "./response.ts";
import { aiErrors } from "./errors.ts";
import { aiLimits } from "./limits.ts";
import { toAiRequest, type AiRequest } from "./request.ts";
import { aiStream } from "./stream.ts";

/** An OpenAI-compatible server that the operator has configured. */
export interface AiServer {
  /** Base URL without a trailing slash, such as `http://127.0.0.1:11434/v1`. */
  url: string;
  /** API key, sent as a bearer token. If empty, requests have no Authorization header. */
  key: string;
  /** Maps model names in workers to model names on the AI server. Other names are sent unchanged. */
  models: ReadonlyMap<string, string>;
  /** Whether workers may pass URLs that the AI server fetches. */
  allowsRemoteUrls: boolean;
}

/** The server side of `env.AI.run()`. Without an AI server, the AI bindings of workers are undefined. */
export function createAiService({ server, log }: { server: AiServer | undefined; log: Log }): BindingServices["ai"] {
  let runningCalls = 0;

  async function run(response: ServerResponse, model: string, inputs: unknown): Promise<void> {
    const { url, key, models, allowsRemoteUrls } = server!;
    const request = toAiRequest(model, models.get(model) ?? model, inputs, { allowsRemoteUrls });
    const timeout = createResponseTimeout();
    // The response is closed early if the worker cancels the call.
    response.once("close", timeout.end);
    try {
      const upstream = await fetch(`${url}${request.path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key !== "" && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify(request.body),
        redirect: "error",
        signal: timeout.signal,
      }).catch((err: unknown) => {
        log.warn({ err, model }, `ai: request to the AI server failed: ${messageOf(err)}`);
        throw aiErrors.unreachable({ reason: messageOf(err) });
      });
      if (upstream.ok && request.stream && upstream.body !== null)
        await pipe(response, aiStream(upstream.body), timeout.renew);
      else sendJson(response, 200, responseOf(request, model, upstream.status, await readJson(upstream)));
    } finally {
      response.off("close", timeout.end);
      timeout.end();
    }
  }

  return {
    isOffered: server !== undefined,
    async handle(request, response, { script }) {
      try {
        const { model, inputs } = (await readJsonBody(request, aiLimits.bodyBytes)) as {
          model: string;
          inputs: unknown;
        };
        if (runningCalls >= aiLimits.concurrentCalls) throw aiErrors.tooManyCalls();
        runningCalls++;
        await run(response, model, inputs).finally(() => runningCalls--);
      } catch (err) {
        if (!(err instanceof UserError))
          log.error({ err, script: script.name }, `ai: model run failed: ${messageOf(err)}`);
        await sendError(request, response, err);
      }
    },
  };
}

function responseOf({ task }: AiRequest, model: string, status: number, body: unknown): object {
  if (status >= 300) throw aiErrors.upstream({ model, reason: aiErrorText(body, status) });
  const aiResponse = toAiResponse(task, body);
  if (aiResponse === undefined)
    throw aiErrors.upstream({ model, reason: "the response of the AI server is not a completion or embeddings" });
  return aiResponse;
}

/** Undefined if the response is not JSON or too large. */
async function readJson(upstream: Response): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of upstream.body ?? []) {
    size += part.length;
    if (size > aiLimits.bodyBytes) return undefined;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString()) as unknown;
  } catch {
    return undefined;
  }
}

async function pipe(response: ServerResponse, events: AsyncIterable<string>, renew: () => void): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for await (const event of events) {
    renew();
    if (response.destroyed) return;
    if (!response.write(event)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end();
}

/** Aborts its signal if `renew` is not called for `responseMs`. */
function createResponseTimeout() {
  const controller = new AbortController();
  const abort = () => controller.abort(new Error(`no response within ${aiLimits.responseMs / 1000} s`));
  let timer = setTimeout(abort, aiLimits.responseMs);
  return {
    signal: controller.signal,
    renew() {
      clearTimeout(timer);
      timer = setTimeout(abort, aiLimits.responseMs);
    },
    end() {
      clearTimeout(timer);
      controller.abort();
    },
  };
}
