import { isAllowed } from "./allow-list.ts";
import { autoReply, mayAutoReply } from "./auto-reply.ts";

interface Env {
  /** Addresses and @domains, separated by commas. */
  ALLOWED_SENDERS: string;
  FORWARD_TO: string;
  /** The name in the From header of the automatic reply. */
  REPLY_NAME: string;
}

export default {
  async email(message, env) {
    if (!isAllowed(message.from, env.ALLOWED_SENDERS)) {
      // The sender's server receives the reason and reports it to the sender.
      message.setReject("This address takes mail from known senders only");
      return;
    }
    // A forwarded message can only be given additional X- headers.
    await message.forward(
      env.FORWARD_TO,
      new Headers({ "X-Forwarder": "forwarder example", "X-Original-Recipient": message.to }),
    );
    console.log(`forwarded mail from ${message.from} to ${env.FORWARD_TO}`);
    if (!mayAutoReply(message)) return;
    try {
      await message.reply(autoReply(message, env.REPLY_NAME));
    } catch (err) {
      // The message has been forwarded. Throwing now would make the sender's server deliver it again.
      console.warn("no automatic answer:", err);
    }
  },
} satisfies ExportedHandler<Env>;
