import { aiLimits } from "./limits.ts";

/**
 * Converts a streamed completion (server-sent events) to the format of Workers AI: `data: {"response":"…"}`, then
 * `data: [DONE]`. Throws if an event exceeds `eventBytes`.
 */
export async function* aiStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let partialLine = "";
  for await (const chunk of chunks) {
    const lines = `${partialLine}${decoder.decode(chunk, { stream: true })}`.split(/\r?\n/);
    partialLine = lines.pop()!;
    if (partialLine.length > aiLimits.eventBytes) throw new Error("an event of the AI server is too long");
    for (const line of lines) {
      const event = eventOf(line);
      if (event === "done") return yield DONE_EVENT;
      if (event !== undefined) yield `data: ${JSON.stringify(event)}\n\n`;
    }
  }
  yield DONE_EVENT;
}

const DONE_EVENT = "data: [DONE]\n\n";

interface CompletionChunk {
  choices?: { delta?: { content?: unknown; tool_calls?: unknown } }[];
  usage?: unknown;
}

/** Parses a line of the stream. Returns undefined for comments, other fields, and events without content. */
function eventOf(line: string): Record<string, unknown> | "done" | undefined {
  if (!line.startsWith("data:")) return undefined;
  const text = line.slice(5).trim();
  if (text === "[DONE]") return "done";
  let chunk: CompletionChunk;
  try {
    chunk = JSON.parse(text) as CompletionChunk;
  } catch {
    return undefined;
  }
  const { content, tool_calls } = chunk.choices?.[0]?.delta ?? {};
  const hasUsage = chunk.usage !== undefined && chunk.usage !== null;
  if (typeof content !== "string" && tool_calls === undefined && !hasUsage) return undefined;
  return {
    response: typeof content === "string" ? content : "",
    ...(tool_calls !== undefined && { tool_calls }),
    ...(hasUsage && { usage: chunk.usage }),
  };
}
