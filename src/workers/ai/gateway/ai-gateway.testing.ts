import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

interface Scope {
  after(stop: () => unknown): void;
}

interface UpstreamCall {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
}

export interface OpenAiServer {
  url: string;
  calls: UpstreamCall[];
}

/** Starts a server on a free port of the loopback address, and returns its URL without a path. */
export async function listenLocally(scope: Scope, server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  scope.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/**
 * Starts an OpenAI-compatible server. Its completions count the calls. The model `absent` is unknown; the model
 * `broken` closes the connection.
 */
export async function startOpenAiServer(scope: Scope): Promise<OpenAiServer> {
  const calls: UpstreamCall[] = [];
  async function handle(request: IncomingMessage, response: ServerResponse) {
    const sent = await text(request);
    const body = (sent === "" ? {} : JSON.parse(sent)) as Record<string, unknown>;
    calls.push({ path: request.url!, headers: request.headers, body });
    response.setHeader("content-type", "application/json");
    if (body["model"] === "absent") return response.writeHead(404).end('{"error":{"message":"no such model"}}');
    if (body["model"] === "broken") return response.socket!.destroy();
    if (request.url!.endsWith("/models")) return response.end('{"object":"list","data":[]}');
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    const content = `answer ${calls.length}`;
    if (body["stream"] !== true)
      return response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content } }], usage }));
    response.setHeader("content-type", "text/event-stream");
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
    return response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  }
  const server = createServer((request, response) => void handle(request, response));
  return { url: `${await listenLocally(scope, server)}/v1`, calls };
}
