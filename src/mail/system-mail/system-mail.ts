import type { Clock } from "../../kernel/index.ts";
import type { Signer } from "../authenticate/index.ts";
import type { DkimSigningKey } from "../dkim-keys/index.ts";
import { withFields, type Spool, type Outbound, type Trace, type Transport } from "../messages/index.ts";

interface SystemMailDeps {
  transport: Transport;
  spool: Pick<Spool, "fromMemory">;
  signer: Signer;
  /** Signing keys of the forward domain. */
  keys(): Promise<DkimSigningKey[]>;
  /** True if bounces are sent to the sender. Default true. */
  bounces?: boolean;
  trace: Trace;
  clock: Pick<Clock, "now">;
}

/** Sends system mail, built in memory and signed for the forward domain. */
export function createSystemMail({
  transport,
  spool,
  signer,
  keys,
  bounces = true,
  trace,
  clock,
}: SystemMailDeps): Transport {
  async function signMail(mail: Outbound): Promise<Outbound> {
    const raw = mail.raw();
    if (!(raw instanceof Uint8Array)) return mail;
    const source = spool.fromMemory(raw);
    const fields = await signer.sign(source, { dkim: await keys() });
    const signedSource = withFields(source, fields);
    trace({
      message: mail.messageId,
      at: new Date(clock.now()),
      step: "sent",
      detail: { via: "platform", from: mail.from, to: mail.to, messageId: mail.messageId, size: signedSource.size },
    });
    return { ...mail, raw: () => signedSource.open(), ...(bounces && { senderAuthenticated: true as const }) };
  }

  return { deliver: async (mail, signal) => transport.deliver(await signMail(mail), signal) };
}
