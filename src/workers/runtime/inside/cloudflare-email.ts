// `import { EmailMessage } from "cloudflare:email"`: workerd's public module takes its content from an internal one of this
// name, which the open-source binary leaves out.
import { RAW } from "./shared.ts";

// oxlint-disable-next-line no-extraneous-class -- the contract is `new EmailMessage()`.
class EmailMessage {
  constructor(from: string, to: string, raw: ReadableStream | string) {
    if (typeof from !== "string" || typeof to !== "string") throw new TypeError("EmailMessage: from and to must be strings");
    if (typeof raw !== "string" && !(raw instanceof ReadableStream)) throw new TypeError("EmailMessage: raw must be a string or a ReadableStream");
    // oxlint-disable-next-line no-constructor-return -- a plain object crosses RPC boundaries, an instance does not.
    return { from, to, [RAW]: raw } as unknown as EmailMessage;
  }
}

export default { EmailMessage };
