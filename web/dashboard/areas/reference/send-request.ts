import { authorization } from "../../api/client.ts";
import { requestUrl, type RequestValues } from "./examples.ts";

export interface RequestResponse {
  status: number;
  milliseconds: number;
  type: string;
  /** Text, formatted if it is JSON; undefined for binary data. */
  text: string | undefined;
  size: number;
  /** True if the response was longer than the page shows, or was stopped. */
  isCut: boolean;
}

const MAX_BYTES = 512 * 1024;
const TEXT_TYPE = /^(text\/|application\/(json|javascript|xml|x-ndjson|graphql))|\+(json|xml)/;

/**
 * Sends the request with the session and reads the response, whatever its status. Streams of events end when `signal`
 * is aborted or the page has enough of them; `onProgress` receives the response so far.
 */
export async function sendRequest(
  request: RequestValues,
  signal: AbortSignal,
  onProgress: (response: RequestResponse) => void,
): Promise<RequestResponse> {
  const { method, body, isJson } = request;
  const begun = performance.now();
  const response = await fetch(requestUrl(request), {
    method: method.toUpperCase(),
    headers: { ...authorization(), ...(body !== "" && isJson && { "content-type": "application/json" }) },
    credentials: "omit",
    cache: "no-store",
    signal,
    ...(body !== "" && { body }),
  });
  const type = response.headers.get("content-type") ?? "";
  const isText = TEXT_TYPE.test(type);
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  const result = (isCut: boolean): RequestResponse => ({
    status: response.status,
    milliseconds: Math.round(performance.now() - begun),
    type,
    text: isText ? formatted(text, type) : undefined,
    size,
    isCut,
  });
  const reader = response.body?.getReader();
  try {
    while (size < MAX_BYTES) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return result(false);
      size += chunk.value.length;
      if (isText) text += decoder.decode(chunk.value, { stream: true });
      if (type.startsWith("text/event-stream")) onProgress(result(false));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await reader?.cancel().catch(() => {});
  return result(true);
}

function formatted(text: string, type: string): string {
  if (!type.includes("json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
