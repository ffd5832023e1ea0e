import { EmailMessage } from "cloudflare:email";
import { createMimeMessage } from "mimetext/browser";

/**
 * RFC 3834 2: no response to automatic mail, mailing lists or a null sender; two machines would answer each other
 * forever.
 */
export function mayAutoReply({ from, headers }: ForwardableEmailMessage): boolean {
  const automatic = (headers.get("Auto-Submitted") ?? "no").toLowerCase() !== "no";
  const suppressed = (headers.get("X-Auto-Response-Suppress") ?? "none").toLowerCase() !== "none";
  const bulk = /^(bulk|list|junk)$/i.test(headers.get("Precedence") ?? "") || headers.has("List-Id");
  return from !== "" && !automatic && !suppressed && !bulk;
}

/** A reply that mail programs show in the same thread as the original message. */
export function autoReply(message: ForwardableEmailMessage, name: string): EmailMessage {
  const reply = createMimeMessage();
  reply.setHeader("In-Reply-To", message.headers.get("Message-ID") ?? "");
  reply.setHeader("Auto-Submitted", "auto-replied"); // RFC 3834 5
  reply.setSender({ name, addr: message.to });
  reply.setRecipient(message.from);
  reply.setSubject(`Re: ${message.headers.get("Subject") ?? "your message"}`);
  reply.addMessage({
    contentType: "text/plain",
    data: "Thank you. Your message has reached us and we will answer soon.\r\n",
  });
  return new EmailMessage(message.to, message.from, reply.asRaw());
}
