import { Agent, request } from "node:https";

export interface AcmeHttpOptions {
  /** PEM: trusted authorities that replace the default ones. */
  ca?: string | undefined;
  /** Time limit for one request, from connecting to the last byte. Default 30 s. */
  timeoutMs?: number;
}

export interface AcmeResponse {
  status: number;
  header(name: string): string | undefined;
  text: string;
}

export type AcmeHttp = (
  method: "GET" | "HEAD" | "POST",
  url: string,
  body: string | undefined,
  signal: AbortSignal,
) => Promise<AcmeResponse>;

const MAX_BYTES = 1024 * 1024;

/** HTTPS client as required by RFC 8555 6.1. Never hangs, never follows a redirect, and never reads more than 1 MiB. */
export function createAcmeHttp({ ca, timeoutMs = 30_000 }: AcmeHttpOptions): AcmeHttp {
  const agent = new Agent({ keepAlive: false, ...(ca !== undefined && { ca }) });
  return (method, url, body, signal) =>
    new Promise((resolve, reject) => {
      const deadlineSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const fail = (err: Error) =>
        reject(
          deadlineSignal.aborted && !signal.aborted
            ? new Error(`${method} ${url} took longer than ${timeoutMs} ms`)
            : err,
        );
      const headers = {
        "user-agent": "Reelpost",
        "accept-language": "en",
        ...(body !== undefined && {
          "content-type": "application/jose+json",
          "content-length": Buffer.byteLength(body),
        }),
      };
      const outgoing = request(url, { method, agent, headers, signal: deadlineSignal }, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("error", fail);
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          if ((bytes += chunk.length) > MAX_BYTES)
            outgoing.destroy(new Error(`the response of ${url} exceeds ${MAX_BYTES} bytes`));
        });
        response.on("end", () => {
          const header = (name: string) => [response.headers[name]].flat()[0];
          resolve({ status: response.statusCode!, header, text: Buffer.concat(chunks).toString("utf8") });
        });
      });
      outgoing.on("error", fail);
      outgoing.end(body);
    });
}
