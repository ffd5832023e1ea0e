import { withFields, type Outbound, type Signer, type Spool, type Transport } from "../mail/index.ts";
import type { ServiceKeys } from "./forwarding.ts";

export interface OwnMailParts {
  transport: Transport;
  spool: Pick<Spool, "hold">;
  signer: Signer;
  service(): Pick<ServiceKeys, "keys">;
}

/** The platform's own letters, in whole in memory, signed in its name. */
export function createOwnMail({ transport, spool, signer, service }: OwnMailParts): Transport {
  async function signed(mail: Outbound): Promise<Outbound> {
    const raw = mail.raw();
    if (!(raw instanceof Uint8Array)) return mail;
    const source = spool.hold(raw);
    const fields = await signer.sign(source, { dkim: await service().keys() });
    const whole = withFields(source, fields);
    return { ...mail, raw: () => whole.open(), vouched: true };
  }

  return { deliver: async (mail, signal) => transport.deliver(await signed(mail), signal) };
}
