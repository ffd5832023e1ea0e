import type { AiRequest } from "./request.ts";

interface Completion {
  choices?: { message?: { content?: unknown; tool_calls?: ToolCall[] } }[];
  usage?: unknown;
}

interface ToolCall {
  id?: string;
  function?: { name?: string; arguments?: string };
}

/** Converts a response of the AI server to the format of Workers AI. Undefined if its format is unexpected. */
export function toAiResponse(task: AiRequest["task"], body: unknown): Record<string, unknown> | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  return task === "embeddings" ? embeddingsOf(body) : textGenerationOf(body);
}

function textGenerationOf({ choices, usage }: Completion): Record<string, unknown> | undefined {
  const message = choices?.[0]?.message;
  if (message === undefined) return undefined;
  const { content, tool_calls: calls } = message;
  return {
    response: typeof content === "string" ? content : null,
    ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls.map(toolCallOf) }),
    ...(usage !== undefined && { usage }),
  };
}

function toolCallOf({ id, function: calledFunction }: ToolCall) {
  let parsedArguments: unknown = calledFunction?.arguments;
  try {
    parsedArguments = JSON.parse(calledFunction?.arguments ?? "{}");
  } catch {
    // A model may generate arguments that are not valid JSON. The worker receives them as text.
  }
  return { ...(id !== undefined && { id }), name: calledFunction?.name ?? "", arguments: parsedArguments };
}

function embeddingsOf(body: { data?: { index?: number; embedding?: unknown }[]; usage?: unknown }) {
  if (!Array.isArray(body.data)) return undefined;
  const data = body.data
    .toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
    .map(({ embedding }) => (Array.isArray(embedding) ? (embedding as unknown[]) : []));
  return {
    shape: [data.length, data[0]?.length ?? 0],
    data,
    ...(body.usage !== undefined && { usage: body.usage }),
  };
}

/** Returns the message in an error response: `{ error: { message } }`, `{ error: "…" }` or `{ message }`. */
export function aiErrorText(body: unknown, status: number): string {
  const { error, message } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const errorMessage = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : error;
  const text = [errorMessage, message].find((entry) => typeof entry === "string");
  return typeof text === "string" ? text.slice(0, 1000) : `the AI server responded with status ${status}`;
}
