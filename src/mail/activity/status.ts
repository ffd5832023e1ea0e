import type { EntryDelivery, Entry, EntryStatus } from "./types.ts";

/** Derives the status of a message for one recipient from its entry. */
export function entryStatus(entry: Entry): EntryStatus {
  const copies = entry.deliveries.filter(({ reply }) => entry.kind === "sending" || reply === undefined);
  const states = new Set(copies.map(({ state }) => state));
  if (entry.answer !== null) return refusalStatusOf(entry, states);
  if (states.has("failed")) return "deliveryFailed";
  if (states.has("deferred")) return "deferred";
  if (states.has("queued")) return "queued";
  if (entry.kind === "sending") return states.has("delivered") ? "delivered" : "sent";
  if (states.size > 0) return "delivered";
  return ended(entry) ?? "received";
}

/** The sender got a rejection from either the next hop or this server. */
function refusalStatusOf({ answer }: Entry, states: Set<EntryDelivery["state"]>): EntryStatus {
  const { temporary, accepted } = answer!;
  if (!temporary) return accepted || states.has("failed") ? "deliveryFailed" : "rejected";
  return accepted || states.has("deferred") || states.has("failed") ? "deferred" : "error";
}

function ended({ events }: Entry): EntryStatus | undefined {
  const last = events.findLast(({ step }) => step === "handled" || step === "dropped" || step === "interrupted");
  if (last === undefined) return undefined;
  if (last.step === "dropped") return "dropped";
  if (last.step === "interrupted") return "unknown";
  if (last.detail["rejected"] !== undefined) return "rejected";
  return last.detail["outcome"] === undefined || last.detail["outcome"] === "ok" ? "handled" : "error";
}

/** Returns the current error, or undefined if there was none or it has been resolved. */
export function errorOf(entry: Entry): { cause: string | null; text: string } | undefined {
  const handled = entry.events.findLast(({ step }) => step === "handled");
  const exceptionName = handled?.detail["exception"];
  if (entry.answer !== null)
    return {
      cause: entry.answer.enhanced || null,
      text: `${replyTextOf(entry.answer)}${exceptionName === undefined ? "" : ` (${String(exceptionName)})`}`,
    };
  const lastFailure = entry.deliveries.findLast(
    ({ state, reply }) =>
      (state === "failed" || state === "deferred") && (entry.kind === "sending" || reply === undefined),
  );
  if (lastFailure !== undefined)
    return {
      cause: lastFailure.enhanced ?? null,
      text: `${lastFailure.to}: ${replyTextOf(lastFailure)}${lastFailure.host === undefined ? "" : ` (${lastFailure.host})`}`,
    };
  if (entry.status === "error" && handled !== undefined)
    return { cause: null, text: `the worker ended with: ${String(exceptionName ?? handled.detail["outcome"])}` };
  if (entry.status === "unknown") return { cause: null, text: "the server stopped before the outcome was logged" };
  if (entry.status === "rejected" && handled !== undefined)
    return { cause: null, text: String(handled.detail["rejected"]) };
  return undefined;
}

const replyTextOf = ({ code, enhanced, text }: { code?: number; enhanced?: string; text?: string }) =>
  [code, enhanced, text].filter((part) => part !== undefined && part !== "").join(" ");
