import { isWithin } from "../../protocol/dns/index.ts";
import { routingErrors } from "./errors.ts";
import { compilePattern } from "./patterns.ts";
import { recipientKey, readRecipient } from "../recipient.ts";
import type { RuleAction, Matcher, PatternMatcher, RuleRequest, RuleSource } from "./types.ts";

const MAX_NAME_LENGTH = 256;
const MAX_VALUE_LENGTH = 90;
/** Priority of the catch-all rule, which is evaluated last. */
export const MAX_PRIORITY = 2 ** 31 - 1;
const MAX_TAG_LENGTH = 32;

/** The validated fields of a rule. Whether its worker or address exists has not been checked. */
export interface ValidatedRule {
  name: string;
  enabled: boolean;
  priority: number;
  matcher: Matcher;
  action: RuleAction;
  source: RuleSource;
  owner: string | null;
}

/** Maximum number of destination addresses of a forward. */
const MAX_DESTINATIONS = 10;

const refuse = (reason: string) => routingErrors.invalidInput({ reason });

/**
 * Throws invalidInput, and invalidOperation for a second catch-all rule. `zone` is the zone's name. `extended` allows
 * glob and regex matchers and several destinations.
 */
export function checkRule(
  request: RuleRequest,
  { zone, catchAll, extended }: { zone: string; catchAll: boolean; extended: boolean },
): ValidatedRule {
  const { name = "", enabled = true, priority = 0, source = "api", owner } = request;
  if ([...name].length > MAX_NAME_LENGTH) throw refuse(`The name has more than ${MAX_NAME_LENGTH} characters.`);
  // PostgreSQL cannot store NUL, and the other control characters are invisible.
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(name)) throw refuse("The name has a control character.");
  if (!Number.isInteger(priority) || priority < 0 || priority > MAX_PRIORITY)
    throw refuse(`The priority must be a whole number from 0 to ${MAX_PRIORITY}.`);
  if (source !== "api" && source !== "wrangler") throw refuse("The source must be api or wrangler.");
  if (source === "wrangler" && (owner === undefined || owner === ""))
    throw refuse("owner_worker_tag is required when the source is wrangler.");
  if (owner !== undefined && owner.length > MAX_TAG_LENGTH)
    throw refuse(`owner_worker_tag has more than ${MAX_TAG_LENGTH} characters.`);
  return {
    name,
    enabled,
    priority: catchAll ? MAX_PRIORITY : priority,
    matcher: checkMatcher(request.matchers, zone, catchAll, extended),
    action: checkAction(request.actions, extended),
    source,
    owner: source === "wrangler" ? owner! : null,
  };
}

export function checkMatcher(
  matchers: RuleRequest["matchers"],
  zone: string,
  catchAll: boolean,
  extended = false,
): Matcher {
  const [matcher] = matchers;
  if (matcher === undefined || matchers.length > 1)
    throw refuse(`A rule must have exactly one matcher; this one has ${matchers.length}.`);
  const { type, field = "to", value } = matcher;
  if (type === "all") {
    if (!catchAll) throw routingErrors.invalidOperation();
    return { type };
  }
  const isPattern = type === "glob" || type === "regex";
  if (type !== "literal" && !(isPattern && extended))
    throw refuse(
      `The type of a matcher must be literal or all.${isPattern ? " Set email.extended_rules on the server to use glob and regex." : ""}`,
    );
  if (catchAll) throw refuse("The matcher of the catch-all rule must be of type all.");
  if (field !== "to") throw refuse("The field of a matcher must be to.");
  if (isPattern) return checkPattern({ type, field, value: (value ?? "").trim() }, zone);
  return { type, field, value: checkRecipient(value, zone) };
}

function checkPattern(matcher: PatternMatcher, zone: string): Matcher {
  if (matcher.value === "" || matcher.value.length > MAX_VALUE_LENGTH)
    throw refuse(`The value of a matcher must have 1 to ${MAX_VALUE_LENGTH} characters.`);
  compilePattern(matcher, zone);
  return matcher;
}

function checkRecipient(value: string | undefined, zone: string): string {
  const text = (value ?? "").trim();
  if (text.length > MAX_VALUE_LENGTH)
    throw refuse(`The value of a matcher can have at most ${MAX_VALUE_LENGTH} characters.`);
  if (text.startsWith("*@")) throw refuse(`${text} is not an address: use the catch-all rule for all recipients.`);
  const recipient = readRecipient(text);
  if (recipient === undefined || recipient.domain === "")
    throw refuse(`The value of a literal matcher must be an address such as user@${zone}.`);
  if (!isWithin(recipient.domain, zone)) throw refuse(`${text} is not an address of the zone ${zone}.`);
  return text;
}

export function checkAction(actions: RuleRequest["actions"], extended = false): RuleAction {
  const [action] = actions;
  if (action === undefined || actions.length > 1)
    throw refuse(`A rule must have exactly one action; this one has ${actions.length}.`);
  const { type, value = [] } = action;
  if (type === "drop") {
    if (value.length > 0) throw refuse("Drop actions take no value.");
    return { type };
  }
  if (type !== "forward" && type !== "worker") throw refuse("The type of an action must be forward, worker or drop.");
  if (type === "forward" && extended && value.length > 1) return { type, value: checkDestinations(value) };
  if (value.length !== 1)
    throw refuse(
      type === "forward"
        ? "Forward actions must contain exactly one destination address."
        : "Worker actions must contain exactly one Worker name.",
    );
  return { type, value: [type === "forward" ? checkDestination(value[0]!) : checkActionValue(value[0]!)] };
}

function checkActionValue(value: string): string {
  const text = value.trim();
  if (text === "" || text.length > MAX_VALUE_LENGTH)
    throw refuse(`The value of an action must have 1 to ${MAX_VALUE_LENGTH} characters.`);
  return text;
}

function checkDestination(value: string): string {
  const text = checkActionValue(value);
  if ((readRecipient(text)?.domain ?? "") === "") throw refuse(`${text} is not a valid address to forward to.`);
  return text;
}

function checkDestinations(values: readonly string[]): string[] {
  if (values.length > MAX_DESTINATIONS)
    throw refuse(
      `A forward action can have at most ${MAX_DESTINATIONS} destination addresses; this one has ${values.length}.`,
    );
  const addresses = values.map(checkDestination);
  if (new Set(addresses.map((address) => recipientKey(readRecipient(address)!))).size < addresses.length)
    throw refuse("A destination address is listed twice.");
  return addresses;
}
