import type { IncomingMessage, ServerResponse } from "node:http";
import { readJsonBody, sendJson } from "../../bindings/http.ts";
import { aiErrors } from "../errors.ts";
import { aiLimits } from "../limits.ts";
import { pipe } from "../pipe.ts";
import { readJson } from "../read-json.ts";
import { aiErrorText, toAiResponse } from "../response.ts";
import { aiStream } from "../stream.ts";
import { aiGatewayErrors } from "./errors.ts";
import type { FindGateway } from "./lookup.ts";
import type { AiGatewayLog, AiGateways, LogMetadata } from "./port.ts";
import { AI_GATEWAY_PREFIX } from "./path.ts";
import { WORKERS_AI } from "./providers.ts";
import type { AiGatewayProxy, GatewayResponse } from "./proxy.ts";
import { sendGatewayResponse } from "./send-response.ts";
import type { GatewayStep } from "./step.ts";
import { universalSteps } from "./universal.ts";

interface AiGatewayBindingDeps {
  proxy: AiGatewayProxy;
  gateways: Pick<AiGateways, "log" | "patchLog">;
  find: FindGateway;
  /** URL of this server without a path; empty if unknown. */
  publicUrl: string;
}

/** A call of `env.AI.run()` with the option `gateway`. */
export interface AiRunThroughGateway {
  model: string;
  inputs: unknown;
  gateway: string;
  /** The options of the call, as `cf-aig-*` headers. */
  headers: Record<string, string>;
}

export interface AiGatewayBinding {
  /** Handles a call of a method of `env.AI.gateway(id)`: the last segment of the path is its name. */
  handle(request: IncomingMessage, response: ServerResponse, account: string): Promise<void>;
  /** Runs a Workers AI model through a gateway. */
  run(call: AiRunThroughGateway, response: ServerResponse, account: string): Promise<void>;
}

/** The body of a call; which fields are present depends on the method. */
interface MethodBody {
  /** The gateway. */
  id: string;
  data: unknown;
  headers: Record<string, string>;
  log: string;
  change: { score?: unknown; feedback?: unknown; metadata?: unknown };
  provider?: string;
}

/** Creates the server side of `env.AI.gateway(id)`. Workers are authenticated by their binding. */
export function createAiGatewayBinding({ proxy, gateways, find, publicUrl }: AiGatewayBindingDeps): AiGatewayBinding {
  async function callProxy(
    account: string,
    id: string,
    steps: GatewayStep[],
    response: ServerResponse,
    respond: (answer: GatewayResponse) => Promise<void>,
  ): Promise<void> {
    const gateway = await find(account, id, { isAuthenticated: true });
    const worker = new AbortController();
    response.once("close", () => worker.abort());
    await proxy.call({ gateway, steps, isAuthenticated: true, signal: worker.signal }, respond);
  }

  const methods: Record<string, (body: MethodBody, response: ServerResponse, account: string) => Promise<void>> = {
    async run({ id, data, headers }, response, account) {
      const steps = universalSteps(Buffer.from(JSON.stringify(data ?? null)), new Headers(headers));
      await callProxy(account, id, steps, response, (answer) => sendGatewayResponse(response, answer));
    },
    async getLog({ id, log }, response, account) {
      sendJson(response, 200, bindingLog(await gateways.log(account, id, log)));
    },
    async patchLog({ id, log, change }, response, account) {
      await gateways.patchLog(account, id, log, changeOf(change));
      sendJson(response, 200, {});
    },
    async getUrl({ id, provider }, response, account) {
      if (publicUrl === "") throw aiGatewayErrors.noPublicUrl();
      const base = `${publicUrl.replace(/\/+$/, "")}${AI_GATEWAY_PREFIX}${account}/${encodeURIComponent(id)}`;
      sendJson(response, 200, { url: provider === undefined ? base : `${base}/${encodeURIComponent(provider)}` });
    },
  };

  return {
    async handle(request, response, account) {
      const method = methods[request.url!.split("/").at(-1)!];
      const body = (await readJsonBody(request, aiLimits.bodyBytes)) as MethodBody;
      if (method === undefined)
        throw aiGatewayErrors.badRequest({ reason: "the method does not exist", fix: "Use run()." });
      await method(body, response, account);
    },
    async run({ model, inputs, gateway, headers }, response, account) {
      const step = {
        provider: WORKERS_AI,
        endpoint: encodeURIComponent(model),
        method: "POST",
        headers: new Headers({ "content-type": "application/json", ...headers }),
        body: Buffer.from(JSON.stringify(inputs)),
      };
      await callProxy(account, gateway, [step], response, async ({ status, headers: answerHeaders, body, native }) => {
        for (const [name, value] of Object.entries(answerHeaders))
          if (name !== "content-type") response.setHeader(name, value);
        if (status < 300 && native!.stream)
          return pipe(response, 200, { "content-type": "text/event-stream" }, aiStream(body));
        const value = await readJson(body);
        if (status >= 300) throw aiErrors.upstream({ model, reason: aiErrorText(value, status) });
        const result = toAiResponse(native!.task, value);
        if (result === undefined)
          throw aiErrors.upstream({ model, reason: "the response of the AI server is not a completion or embeddings" });
        sendJson(response, 200, result);
      });
    },
  };
}

/** Throws badRequest. */
function changeOf(change: MethodBody["change"]) {
  const { score, feedback, metadata } = change;
  const isNumber = (value: unknown) => value == null || (typeof value === "number" && Number.isFinite(value));
  if (!isNumber(score) || !isNumber(feedback) || (metadata != null && typeof metadata !== "object"))
    throw aiGatewayErrors.badRequest({
      reason: "a log has only the fields score, feedback and metadata",
      fix: "Pass numbers for score and feedback, and an object for metadata.",
    });
  return {
    ...(score !== undefined && { score: score as number | null }),
    ...(feedback !== undefined && { feedback: feedback as number | null }),
    ...(metadata !== undefined && { metadata: metadata as LogMetadata | null }),
  };
}

/** The format of the binding; `created_at` becomes a Date in the worker. */
const bindingLog = (log: AiGatewayLog) => ({
  id: log.id,
  provider: log.provider,
  model: log.model,
  path: log.path,
  duration: log.duration,
  request_content_type: log.requestType,
  status_code: log.status,
  response_content_type: log.responseType,
  success: log.success,
  cached: log.cached,
  ...(log.tokensIn !== null && { tokens_in: log.tokensIn }),
  ...(log.tokensOut !== null && { tokens_out: log.tokensOut }),
  ...(log.metadata !== null && { metadata: log.metadata }),
  step: log.step,
  request_size: log.requestSize,
  request_head: log.requestHead,
  request_head_complete: log.requestComplete,
  response_size: log.responseSize,
  response_head: log.responseHead,
  response_head_complete: log.responseComplete,
  created_at: log.createdAt.toISOString(),
});
