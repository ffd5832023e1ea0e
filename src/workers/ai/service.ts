import type { ServerResponse } from "node:http";
import { messageOf, UserError, type Log } from "../../kernel/index.ts";
import { readJsonBody, sendBindingError, sendJson } from "../bindings/http.ts";
import type { BindingServices } from "../bindings/service.ts";
import { toAiResponse, aiErrorText } from "./response.ts";
import { aiErrors } from "./errors.ts";
import { aiLimits } from "./limits.ts";
import { toAiRequest, type AiRequest } from "./request.ts";
import { aiStream } from "./stream.ts";
import type { AiGatewayBinding, AiRunThroughGateway } from "./gateway/index.ts";
import { pipe } from "./pipe.ts";
import type { AiServer } from "./server.ts";
import { readJson } from "./read-json.ts";
import { createResponseTimeout } from "./response-timeout.ts";

interface AiServiceDeps {
  /** Runs the models of calls without a gateway. */
  server: AiServer | undefined;
  /** If absent, the calls of `env.AI.gateway()` fail. */
  gateway?: AiGatewayBinding;
  /** False if the AI bindings of workers are undefined. Default: true if there is a server. */
  isOffered?: boolean;
  log: Log;
}

/** Creates the server side of `env.AI`. */
export function createAiService({
  server,
  gateway,
  isOffered = server !== undefined,
  log,
}: AiServiceDeps): BindingServices["ai"] {
  let runningCalls = 0;

  async function run(response: ServerResponse, model: string, inputs: unknown): Promise<void> {
    if (server === undefined) throw aiErrors.notConfigured();
    const { url, key, models, allowsRemoteUrls } = server;
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
        await pipe(response, 200, { "content-type": "text/event-stream" }, renewing(upstream.body, timeout.renew));
      else sendJson(response, 200, responseOf(request, model, upstream.status, await readJson(upstream.body ?? [])));
    } finally {
      response.off("close", timeout.end);
      timeout.end();
    }
  }

  return {
    isOffered,
    async handle(request, response, { script }) {
      try {
        if (gateway !== undefined && request.url!.startsWith("/gateway/"))
          return await gateway.handle(request, response, script.account ?? "");
        const call = (await readJsonBody(request, aiLimits.bodyBytes)) as Call;
        if (gateway !== undefined && call.gateway !== undefined)
          return await gateway.run(call as AiRunThroughGateway, response, script.account ?? "");
        const { model, inputs } = call;
        if (runningCalls >= aiLimits.concurrentCalls) throw aiErrors.tooManyCalls();
        runningCalls++;
        await run(response, model, inputs).finally(() => runningCalls--);
      } catch (err) {
        if (!(err instanceof UserError) && !response.destroyed)
          log.error({ err, script: script.name }, `ai: model run failed: ${messageOf(err)}`);
        await sendBindingError(request, response, err);
      }
    },
  };
}

type Call = Pick<AiRunThroughGateway, "model" | "inputs"> & Partial<AiRunThroughGateway>;

async function* renewing(chunks: AsyncIterable<Uint8Array>, renewTimeout: () => void): AsyncGenerator<string> {
  for await (const event of aiStream(chunks)) {
    renewTimeout();
    yield event;
  }
}

function responseOf({ task }: AiRequest, model: string, status: number, body: unknown): object {
  if (status >= 300) throw aiErrors.upstream({ model, reason: aiErrorText(body, status) });
  const aiResponse = toAiResponse(task, body);
  if (aiResponse === undefined)
    throw aiErrors.upstream({ model, reason: "the response of the AI server is not a completion or embeddings" });
  return aiResponse;
}
