import type { Clock } from "../kernel/index.ts";
import { withFields, type Outbound, type Signer, type Spool, type Trace, type Transport } from "../mail/index.ts";
import type { ServiceKeys } from "./forwarding.ts";

export interface OwnMailParts {
  transport: Transport;
  spool: Pick<Spool, "hold">;
  signer: Signer;
  service(): Pick<ServiceKeys, "keys">;
  trace: Trace;
  clock: Pick<Clock, "now">;
}

/** Sends system mail, held in memory and signed for the platform's domain. */
export function createOwnMail({ transport, spool, signer, service, trace, clock }: OwnMailParts): Transport {
  async function signed(mail: Outbound): Promise<Outbound> {
    const raw = mail.raw();
    if (!(raw instanceof Uint8Array)) return mail;
    const source = spool.hold(raw);
    const fields = await signer.sign(source, { dkim: await service().keys() });
    const whole = withFields(source, fields);
    trace({
      message: mail.messageId,
      at: new Date(clock.now()),
      step: "sent",
      detail: { via: "platform", from: mail.from, to: mail.to, messageId: mail.messageId, size: whole.size },
    });
    return { ...mail, raw: () => whole.open(), vouched: true };
  }

  return { deliver: async (mail, signal) => transport.deliver(await signed(mail), signal) };
}
