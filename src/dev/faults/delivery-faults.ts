import type { Clock } from "../../kernel/index.ts";
import type { DeliveryResult, Outbound, SmtpReply, Transport } from "../../mail/index.ts";
import type { EventReporter } from "../events.ts";
import type { Chaos } from "./chaos.ts";
import type { DeliveryFault } from "./delivery-fault.ts";
import { faultOfLocalPart } from "./local-part.ts";

/** A fault for matching recipients. */
interface FaultRule {
  fault: DeliveryFault;
  /** An address in which `*` stands for any characters. Default: every address. */
  to?: string | undefined;
  /** How many recipients it affects. Default: all until `clear`. */
  times?: number | undefined;
}

export interface DeliveryFaults {
  /** Applies to later deliveries. For each recipient, the oldest matching rule applies. */
  add(rule: FaultRule): void;
  /** Removes every rule. Local-part faults and random faults remain. */
  clear(): void;
  intercept(transport: Transport): Transport;
}

interface Options {
  clock: Pick<Clock, "sleep">;
  /** Default: no random faults. */
  chaos?: Chaos | undefined;
  /** Called with a notice for each fault. */
  report: EventReporter;
}

/**
 * Simulates the failures of next hops. A recipient that fails does not reach the transport. The rules apply first, then
 * the codes in local parts, then random faults.
 */
export function createDeliveryFaults({ clock, chaos, report }: Options): DeliveryFaults {
  let rules: (FaultRule & { matches: (address: string) => boolean; remaining: number })[] = [];

  function faultOf(recipient: string): DeliveryFault | undefined {
    const rule = rules.find(({ matches, remaining }) => remaining > 0 && matches(recipient));
    if (rule === undefined) return faultOfLocalPart(recipient) ?? chaos?.next();
    rule.remaining -= 1;
    return rule.fault;
  }

  async function apply(fault: DeliveryFault, rcpt: string, signal?: AbortSignal): Promise<DeliveryResult | undefined> {
    report({ event: "notice", text: `Simulated next hop for ${rcpt}: ${textOf(fault)}` });
    if (fault.kind === "delay" || fault.kind === "timeout") await clock.sleep(fault.ms, signal).catch(() => {});
    const reply = replyOf(fault);
    return reply && { rcpt, ok: false, temporary: reply.code < 500, reply };
  }

  return {
    add: (rule) => void rules.push({ ...rule, matches: matcherOf(rule.to), remaining: rule.times ?? Infinity }),
    clear: () => void (rules = []),
    intercept: (transport) => ({
      async deliver(mail, signal) {
        const results = new Map<string, DeliveryResult>();
        await Promise.all(
          mail.to.map(async (rcpt) => {
            const fault = faultOf(rcpt);
            const result = fault && (await apply(fault, rcpt, signal));
            if (result !== undefined) results.set(rcpt, result);
          }),
        );
        const to = mail.to.filter((rcpt) => !results.has(rcpt));
        const delivered = to.length === 0 ? [] : await transport.deliver(restrict(mail, to), signal);
        for (const result of delivered) results.set(result.rcpt, result);
        return mail.to.map((rcpt) => results.get(rcpt)!);
      },
    }),
  };
}

const restrict = (mail: Outbound, to: string[]): Outbound => (to.length === mail.to.length ? mail : { ...mail, to });

function replyOf(fault: DeliveryFault): SmtpReply | undefined {
  if (fault.kind === "reply") return fault.reply;
  if (fault.kind === "drop") return { code: 451, enhanced: "4.4.2", text: "simulated: the connection was closed" };
  if (fault.kind === "timeout")
    return { code: 451, enhanced: "4.4.2", text: `simulated: took longer than ${fault.ms} ms` };
  return undefined;
}

function textOf(fault: DeliveryFault): string {
  if (fault.kind === "delay") return `delay of ${fault.ms} ms`;
  if (fault.kind === "timeout") return `no reply for ${fault.ms} ms`;
  if (fault.kind === "drop") return "connection closed";
  const { code, enhanced, text } = fault.reply;
  return `${code} ${enhanced} ${text}`;
}

function matcherOf(pattern: string | undefined): (address: string) => boolean {
  if (pattern === undefined) return () => true;
  const parts = pattern.toLowerCase().split("*");
  return (address) => matchesParts(address.toLowerCase(), parts);
}

/** Matches in linear time: each part between two asterisks is searched for once. */
function matchesParts(address: string, parts: readonly string[]): boolean {
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (parts.length === 1) return address === first;
  if (!address.startsWith(first) || !address.endsWith(last) || address.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = address.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= address.length - last.length;
}
