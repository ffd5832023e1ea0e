// A `send_email` binding: runs in the worker's isolate as an internal module and calls the server over plain HTTP.
import { RAW, encodeMessageBuilder, resultOf } from "./shared.ts";

interface RawMessage {
  from: string;
  to: string | null | undefined;
  [RAW]: string | ReadableStream;
}

class SendEmail {
  #server: Fetcher;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  async send(mail: unknown): Promise<EmailSendResult> {
    if (typeof mail === "object" && mail !== null && RAW in mail) {
      const { from, to, [RAW]: raw } = mail as RawMessage;
      const query = new URLSearchParams(to === null || to === undefined ? { from } : { from, to });
      return resultOf(await this.#server.fetch(`http://send-email/raw?${query}`, { method: "POST", body: raw }));
    }
    return resultOf(
      await this.#server.fetch("http://send-email/built", { method: "POST", body: encodeMessageBuilder(mail) }),
    );
  }
}

export default (env: { server: Fetcher }) => new SendEmail(env.server);
