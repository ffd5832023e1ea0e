import type { DevServer } from "../server/index.ts";
import type { FaultOptions } from "./api.ts";
import { testHelperErrors } from "./errors.ts";

type Rule = Parameters<DevServer["control"]["deliveries"]["add"]>[0];

type FaultParams = FaultOptions &
  ({ kind: "reply"; reply: string } | { kind: "delay" | "timeout"; ms: number } | { kind: "drop" });

const REPLY = /^([45]\d\d)(?:[ -]([45]\.\d{1,3}\.\d{1,3}))?(?:\s+(\S.*))?$/s;

/** Throws replyInvalid, faultInvalid. */
export function faultRule({ to, times, ...fault }: FaultParams): Rule {
  if (times !== undefined && !(Number.isInteger(times) && times > 0))
    throw testHelperErrors.faultInvalid({ name: "number of recipients (`times`)", value: times });
  const rule = { to, times };
  if (fault.kind === "drop") return { ...rule, fault };
  if (fault.kind === "reply") return { ...rule, fault: { kind: "reply", reply: parseReply(fault.reply) } };
  if (!(Number.isInteger(fault.ms) && fault.ms > 0))
    throw testHelperErrors.faultInvalid({ name: "number of milliseconds", value: fault.ms });
  return { ...rule, fault };
}

function parseReply(reply: string) {
  const [, code, enhanced, text] = REPLY.exec(String(reply).trim()) ?? [];
  if (code === undefined) throw testHelperErrors.replyInvalid({ reply: JSON.stringify(String(reply).slice(0, 100)) });
  return {
    code: Number(code),
    enhanced: enhanced ?? `${code[0]}.0.0`,
    text: text?.replace(/\s+/g, " ") ?? "simulated",
  };
}
