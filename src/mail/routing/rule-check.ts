import { isWithin } from "../../protocol/dns/index.ts";
import { routingErrors } from "./errors.ts";
import { readRecipient } from "./recipient.ts";
import type { Action, Matcher, RuleRequest, RuleSource } from "./types.ts";

export const MAX_NAME = 256;
export const MAX_VALUE = 90;
/** That of the catch-all rule, which is looked at last. */
export const MAX_PRIORITY = 2 ** 31 - 1;
export const MAX_TAG = 32;

/** The parts of a rule, in order by themselves: whether a worker or an address is there is not asked here. */
export interface RuleParts {
  name: string;
  enabled: boolean;
  priority: number;
  matcher: Matcher;
  action: Action;
  source: RuleSource;
  owner: string | null;
}

const refuse = (reason: string) => routingErrors.invalidInput({ reason });

/** Throws invalidInput, and invalidOperation for a second catch-all rule. `zone` is the zone's name. */
export function checkRule(request: RuleRequest, { zone, catchAll }: { zone: string; catchAll: boolean }): RuleParts {
  const { name = "", enabled = true, priority = 0, source = "api", owner } = request;
  if ([...name].length > MAX_NAME) throw refuse(`The name has more than ${MAX_NAME} characters.`);
  // PostgreSQL keeps no such character, and nobody can see the others.
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(name)) throw refuse("The name has a control character.");
  if (!Number.isInteger(priority) || priority < 0 || priority > MAX_PRIORITY) throw refuse(`The priority is a whole number from 0 to ${MAX_PRIORITY}.`);
  if (source !== "api" && source !== "wrangler") throw refuse("The source is api or wrangler.");
  if (source === "wrangler" && (owner === undefined || owner === "")) throw refuse("owner_worker_tag is required when the source is wrangler.");
  if (owner !== undefined && owner.length > MAX_TAG) throw refuse(`owner_worker_tag has more than ${MAX_TAG} characters.`);
  return { name, enabled, priority: catchAll ? MAX_PRIORITY : priority, matcher: checkMatcher(request.matchers, zone, catchAll), action: checkAction(request.actions), source, owner: source === "wrangler" ? owner! : null };
}

export function checkMatcher(matchers: RuleRequest["matchers"], zone: string, catchAll: boolean): Matcher {
  const [matcher] = matchers;
  if (matcher === undefined || matchers.length > 1) throw refuse(`A rule has one matcher; this has ${matchers.length}.`);
  const { type, field = "to", value } = matcher;
  if (type === "all") {
    if (!catchAll) throw routingErrors.invalidOperation();
    return { type };
  }
  if (type !== "literal") throw refuse("The type of a matcher is literal or all.");
  if (catchAll) throw refuse("The matcher of the catch-all rule is of type all.");
  if (field !== "to") throw refuse("The field of a matcher is to.");
  return { type, field, value: checkRecipient(value, zone) };
}

function checkRecipient(value: string | undefined, zone: string): string {
  const text = (value ?? "").trim();
  if (text.length > MAX_VALUE) throw refuse(`The value of a matcher has at most ${MAX_VALUE} characters.`);
  if (text.startsWith("*@")) throw refuse(`${text} is no address: use the catch-all rule for all recipients.`);
  const recipient = readRecipient(text);
  if (recipient === undefined || recipient.domain === "") throw refuse(`The value of a literal matcher is an address like user@${zone}.`);
  if (!isWithin(recipient.domain, zone)) throw refuse(`${text} is not an address of the zone ${zone}.`);
  return text;
}

export function checkAction(actions: RuleRequest["actions"]): Action {
  const [action] = actions;
  if (action === undefined || actions.length > 1) throw refuse(`A rule has one action; this has ${actions.length}.`);
  const { type, value = [] } = action;
  if (type === "drop") {
    if (value.length > 0) throw refuse("Drop actions take no value.");
    return { type };
  }
  if (type !== "forward" && type !== "worker") throw refuse("The type of an action is forward, worker or drop.");
  if (value.length !== 1) throw refuse(type === "forward" ? "Forward actions must contain exactly one destination address." : "Worker actions must contain exactly one Worker name.");
  const only = value[0]!.trim();
  if (only === "" || only.length > MAX_VALUE) throw refuse(`The value of an action has 1 to ${MAX_VALUE} characters.`);
  if (type === "forward" && (readRecipient(only)?.domain ?? "") === "") throw refuse(`${only} is not an address to forward to.`);
  return { type, value: [only] };
}
