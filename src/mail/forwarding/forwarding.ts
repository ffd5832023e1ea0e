import type { Readable } from "node:stream";
import type { Clock, Ids } from "../../kernel/index.ts";
import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { Signer } from "../authenticate/index.ts";
import type { DkimSigningKey } from "../dkim-keys/index.ts";
import {
  formatField,
  prepend,
  withFields,
  type Spool,
  type MailSource,
  type Outbound,
  type DeliveryResult,
  type Transport,
} from "../messages/index.ts";
import { createLoopMarks } from "./loop.ts";
import { forwardingSender, type ForwardSenderDeps } from "./sender.ts";
import { forwardedDsn, traceFields } from "./trace-fields.ts";
import type { ForwardRequest, Forwarding } from "./types.ts";

interface ForwardingOptions extends ForwardSenderDeps {
  transport: Transport;
  signer: Signer;
  /** Returns the signing keys of a customer's domain; empty if there are no keys. Must be served from memory. */
  keysOf(name: { zone: string; domain: string }): Promise<readonly DkimSigningKey[]>;
  /** Returns the keys of the forward domain; its RSA key also creates ARC seals (RFC 8617 allows only RSA). */
  serviceKey(): Promise<readonly DkimSigningKey[]>;
  /** Keys for recognizing messages that were forwarded here before; the first key creates the marks. */
  loopKeys: readonly [string, ...string[]];
  /** Stores a reply while it is being signed. */
  spool: Pick<Spool, "collect" | "maxBytes">;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
}

/** Allowance for fields added to a reply whose size was already checked. */
const HEADROOM_BYTES = 256 * 1024;

export function createForwarding(options: ForwardingOptions): Forwarding {
  const { transport, signer, serviceKey, loopKeys, spool, ids } = options;
  const loopMarks = createLoopMarks(loopKeys);

  const keysOf = async (zone: string | undefined, address: string): Promise<readonly DkimSigningKey[]> =>
    zone === undefined ? [] : options.keysOf({ zone, domain: domainOf(address).toLowerCase() });

  async function signMessage(message: MailSource, { verdict, zone, rcpt }: ForwardRequest): Promise<string> {
    const [serviceKeys, customerKeys] = await Promise.all([serviceKey(), keysOf(zone, rcpt)]);
    const sealingKey = serviceKeys.find(({ algorithm }) => algorithm === "rsa");
    return signer.sign(message, {
      dkim: [...serviceKeys, ...customerKeys],
      ...(verdict !== undefined && sealingKey !== undefined && { seal: { key: sealingKey, verdict } }),
    });
  }

  async function forward(request: ForwardRequest): Promise<DeliveryResult[]> {
    const { envelope, source, rcpt, to, extra = [], account, zone, script } = request;
    const { from, senderAuthenticated } = await forwardingSender(request, options);
    const fields =
      loopMarks.field(rcpt) + traceFields(rcpt, to) + extra.map(([name, value]) => formatField(name, value)).join("");
    const message = withFields(source, fields);
    const signatures = await signMessage(message, request);
    const signedMessage = withFields(message, signatures);
    const dsn = senderAuthenticated ? forwardedDsn(envelope.dsn, rcpt, to) : undefined;
    return transport.deliver({
      messageId: request.messageId ?? ids.messageId(domainOf(envelope.from) || domainOf(rcpt)),
      cause: "forward",
      from,
      to,
      raw: () => signedMessage.open(),
      inbound: { id: source.id, rcpt },
      ...(script !== undefined && { script }),
      ...(account !== undefined && { account }),
      ...(zone !== undefined && { zone }),
      ...(senderAuthenticated && { senderAuthenticated }),
      ...(dsn && { dsn }),
    });
  }

  async function reply(mail: Outbound): Promise<DeliveryResult[]> {
    const customerKeys = await keysOf(mail.zone, mail.from);
    const spooledReply = await spool.collect(piecesOf(mail.raw()), { maxBytes: spool.maxBytes + HEADROOM_BYTES });
    try {
      const signatures = await signer.sign(spooledReply, {
        dkim: customerKeys.length > 0 ? customerKeys : await serviceKey(),
      });
      return await transport.deliver({ ...mail, raw: () => prepend(signatures, spooledReply.open()) });
    } finally {
      await spooledReply.discard();
    }
  }

  return { forward, reply, isLoop: loopMarks.isLoop };
}

async function* piecesOf(raw: Readable | Uint8Array): AsyncGenerator<Uint8Array> {
  if (raw instanceof Uint8Array) yield raw;
  else yield* raw as AsyncIterable<Uint8Array>;
}
