import type { SmtpReply } from "../../mail/index.ts";

/** How a simulated next hop handles a message. `drop`: it closes the connection. `timeout`: it does not reply. */
export type DeliveryFault =
  | { kind: "reply"; reply: SmtpReply }
  | { kind: "delay"; ms: number }
  | { kind: "drop" }
  | { kind: "timeout"; ms: number };
