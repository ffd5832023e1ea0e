// `import { EmailMessage } from "cloudflare:email"`: workerd's public module re-exports an internal module of this
// name, which the open-source binary lacks.
import { RAW } from "./shared.ts";

// oxlint-disable-next-line no-extraneous-class -- the contract is `new EmailMessage()`.
class EmailMessage {
  /** Without `to`, the recipient is the single destination of the binding. */
  constructor(from: string, to: string | null | undefined, raw: ReadableStream | string) {
    if (typeof from !== "string") throw new TypeError("EmailMessage: from must be a string");
    if (typeof to !== "string" && to !== null && to !== undefined)
      throw new TypeError("EmailMessage: to must be a string");
    if (typeof raw !== "string" && !(raw instanceof ReadableStream))
      throw new TypeError("EmailMessage: raw must be a string or a ReadableStream");
    // oxlint-disable-next-line no-constructor-return -- a plain object crosses RPC boundaries, an instance does not.
    return { from, to, [RAW]: raw } as unknown as EmailMessage;
  }
}

export default { EmailMessage };
