import type { ServerResponse } from "node:http";
import { pipe } from "../pipe.ts";
import { readJson } from "../read-json.ts";
import { aiErrorText, toAiResponse } from "../response.ts";
import { aiStream } from "../stream.ts";
import type { GatewayResponse } from "./proxy.ts";

/** Sends a response of a provider; a native response is sent in the envelope of the Workers AI API. */
export async function sendGatewayResponse(response: ServerResponse, answer: GatewayResponse): Promise<void> {
  const { status, headers, body, native } = answer;
  if (native !== undefined && native.stream && status < 300) return pipe(response, 200, headers, aiStream(body));
  if (native === undefined) return pipe(response, status, headers, body);
  const value = await readJson(body);
  const result = status < 300 ? toAiResponse(native.task, value) : undefined;
  const failure = { code: 5021, message: aiErrorText(value, status) };
  const envelope = {
    result: result ?? null,
    success: result !== undefined,
    errors: result === undefined ? [failure] : [],
    messages: [],
  };
  const text = Buffer.from(JSON.stringify(envelope));
  const sentStatus = result !== undefined ? 200 : status < 300 ? 502 : status;
  response.writeHead(sentStatus, { ...headers, "content-type": "application/json", "content-length": text.length });
  response.end(text);
}
