import { EmailMessage } from "cloudflare:email";
import { createMimeMessage } from "mimetext";

export default {
  async email(message, env, _ctx) {
    if (!isAllowed(message.from, env.ALLOWED)) {
      message.setReject("This address takes mail from known senders only");
      return;
    }
    await message.forward(env.FORWARD_TO);

    // Programs that answer programs never stop: only a person's message gets a reply.
    const isAutomatic = (message.headers.get("auto-submitted") ?? "no") !== "no" || message.headers.has("list-id");
    if (!isAutomatic) await message.reply(thanks(message));
  },
} satisfies ExportedHandler<Env>;

function isAllowed(sender: string, allowed: readonly string[]): boolean {
  const address = sender.toLowerCase();
  return allowed.some((entry) => (entry.startsWith("@") ? address.endsWith(entry.toLowerCase()) : address === entry.toLowerCase()));
}

function thanks(message: ForwardableEmailMessage): EmailMessage {
  const reply = createMimeMessage();
  reply.setSender(message.to);
  reply.setRecipient(message.from);
  reply.setSubject(`Re: ${message.headers.get("subject") ?? "your message"}`);
  reply.setHeader("In-Reply-To", message.headers.get("message-id") ?? "");
  reply.setHeader("Auto-Submitted", "auto-replied");
  reply.addMessage({ contentType: "text/plain", data: "Thank you, your message has arrived.\n" });
  return new EmailMessage(message.to, message.from, reply.asRaw());
}
