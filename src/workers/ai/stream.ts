import { aiLimits } from "./limits.ts";

/**
 * Converts a streamed completion (server-sent events) to the form of Workers AI: `data: {"response":"…"}`, then
 * `data: [DONE]`. Throws for an event that is longer than allowed.
 */
export async function* aiStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split(/\r?\n/);
    rest = lines.pop()!;
    if (rest.length > aiLimits.eventBytes) throw new Error("an event of the AI server is too long");
    for (const line of lines) {
      const event = eventOf(line);
      if (event === "done") return yield DONE;
      if (event !== undefined) yield `data: ${JSON.stringify(event)}\n\n`;
    }
  }
  yield DONE;
}

const DONE = "data: [DONE]\n\n";

interface Chunk {
  choices?: { delta?: { content?: unknown; tool_calls?: unknown } }[];
  usage?: unknown;
}

/** Undefined: comments, other fields, and events without content. */
function eventOf(line: string): Record<string, unknown> | "done" | undefined {
  if (!line.startsWith("data:")) return undefined;
  const text = line.slice(5).trim();
  if (text === "[DONE]") return "done";
  let chunk: Chunk;
  try {
    chunk = JSON.parse(text) as Chunk;
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
