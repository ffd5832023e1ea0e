interface EventFrame {
  event: string;
  data: Record<string, unknown>;
}

interface EventStream {
  response: Response;
  /** Resolves with the next event; undefined at the end of the stream. */
  next(): Promise<EventFrame | undefined>;
  stop(): void;
}

/** Reads Server-Sent Events with JSON data. Comments are skipped. */
export async function openEventStream(url: string, token: string): Promise<EventStream> {
  const stopping = new AbortController();
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: stopping.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = "";
  return {
    response,
    stop: () => stopping.abort(),
    async next() {
      for (;;) {
        const end = buffered.indexOf("\n\n");
        if (end === -1) {
          const { value, done } = await reader.read();
          if (done) return undefined;
          buffered += value;
          continue;
        }
        const lines = buffered.slice(0, end).split("\n");
        buffered = buffered.slice(end + 2);
        const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const event = field("event");
        if (event !== undefined) return { event, data: JSON.parse(field("data")!) as Record<string, unknown> };
      }
    },
  };
}
