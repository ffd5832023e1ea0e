import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { messageOf, UserError, type Log } from "../../kernel/index.ts";
import { readJsonBody, sendError, sendJson } from "../bindings/http.ts";
import type { BindingServices } from "../bindings/service.ts";
import { aiAnswer, aiErrorText } from "./answer.ts";
import { aiErrors } from "./errors.ts";
import { aiLimits } from "./limits.ts";
import { aiRequest, type AiRequest } from "./request.ts";
import { aiStream } from "./stream.ts";

/** An OpenAI-compatible server that the operator has configured. */
export interface AiServer {
  /** Such as `http://127.0.0.1:11434/v1`, without a trailing slash. */
  url: string;
  /** Sent as a bearer token; "" for none. */
  key: string;
  /** The name that a worker uses -> the name on the server. Other names are sent unchanged. */
  models: ReadonlyMap<string, string>;
}

/** The server side of `env.AI.run()`. Without a server, workers have no AI bindings. */
export function createAiService({ server, log }: { server: AiServer | undefined; log: Log }): BindingServices["ai"] {
  let running = 0;

  async function run(response: ServerResponse, model: string, inputs: unknown): Promise<void> {
    const { url, key, models } = server!;
    const request = aiRequest(model, models.get(model) ?? model, inputs);
    const patience = createPatience();
    // The worker has canceled the call.
    response.once("close", patience.end);
    try {
      const upstream = await fetch(`${url}${request.path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key !== "" && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify(request.body),
        redirect: "error",
        signal: patience.signal,
      }).catch((err: unknown) => {
        log.warn({ err, model }, `ai: the server cannot be reached: ${messageOf(err)}`);
        throw aiErrors.unreachable({ reason: messageOf(err) });
      });
      if (upstream.ok && request.stream && upstream.body !== null)
        await pipe(response, aiStream(upstream.body), patience.renew);
      else sendJson(response, 200, answerOf(request, model, upstream.status, await readJson(upstream)));
    } finally {
      response.off("close", patience.end);
      patience.end();
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
        if (running >= aiLimits.calls) throw aiErrors.tooManyCalls();
        running++;
        await run(response, model, inputs).finally(() => running--);
      } catch (err) {
        if (!(err instanceof UserError))
          log.error({ err, script: script.name }, `ai: failed to run: ${messageOf(err)}`);
        await sendError(request, response, err);
      }
    },
  };
}

function answerOf({ task }: AiRequest, model: string, status: number, body: unknown): object {
  if (status >= 300) throw aiErrors.upstream({ model, reason: aiErrorText(body, status) });
  const answer = aiAnswer(task, body);
  if (answer === undefined)
    throw aiErrors.upstream({ model, reason: "the response of the AI server is not a completion or embeddings" });
  return answer;
}

/** Undefined for a response that is not JSON, or too long. */
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

/** Aborts after a pause of `responseMs`. */
function createPatience() {
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
