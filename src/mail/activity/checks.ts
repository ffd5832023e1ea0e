import { cleanText } from "./text.ts";
import type { AuthenticationCheck } from "./types.ts";

const MAX_SIGNATURES = 5;

/** Returns the authentication results in the detail of a step, reduced to a size that can be kept for every message. */
export function checksOf(details: unknown): AuthenticationCheck[] | undefined {
  if (!isRecord(details)) return undefined;
  const { spf, dkim, dmarc, arc } = details;
  return [
    ...checkOf("spf", spf, (result) => ({ domain: result["domain"] })),
    ...(Array.isArray(dkim) ? dkim : [])
      .slice(0, MAX_SIGNATURES)
      .flatMap((one) => checkOf("dkim", one, ({ domain, selector }) => ({ domain, selector }))),
    ...checkOf("dmarc", dmarc, ({ from, policy, aligned }) => ({
      domain: from,
      policy,
      aligned: alignmentOf(aligned),
    })),
    ...checkOf("arc", arc, ({ sealer }) => ({ domain: sealer })),
  ];
}

type Fields = Partial<Record<"domain" | "selector" | "policy" | "aligned", unknown>>;

function checkOf(
  method: AuthenticationCheck["method"],
  value: unknown,
  pick: (result: Record<string, unknown>) => Fields,
): AuthenticationCheck[] {
  if (!isRecord(value) || typeof value["result"] !== "string") return [];
  const texts = Object.entries({ ...pick(value), why: value["why"] }).flatMap(([name, text]) =>
    typeof text === "string" && text !== "" ? [[name, cleanText(text, 200)]] : [],
  );
  return [{ method, result: cleanText(value["result"], 20), ...Object.fromEntries(texts) }];
}

function alignmentOf(aligned: unknown): string | undefined {
  if (!isRecord(aligned)) return undefined;
  const methods = (["spf", "dkim"] as const).filter((method) => typeof aligned[method] === "string");
  return methods.length === 0 ? undefined : methods.map((method) => method.toUpperCase()).join(" and ");
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
