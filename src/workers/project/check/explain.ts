import { relative } from "node:path";
import type { ThrownException } from "../../runtime/port.ts";
import { hasNodeCompat } from "../config/compatibility.ts";
import type { Project } from "../project.ts";
import type { EnvUse } from "./env-uses.ts";
import { declarationHint } from "./unknown-bindings.ts";

/**
 * Explains an exception in the worker's code in a few lines; undefined if the exception is clear without an
 * explanation. `unknownUses` are the uses found by `inspectProject`.
 */
export function explainException(
  exception: Pick<ThrownException, "name" | "message" | "stack">,
  project: Project,
  unknownUses: readonly EnvUse[] = [],
): string | undefined {
  return (
    explainMissingBinding(exception, project, unknownUses) ??
    explainDestination(exception.message, project) ??
    explainMissingNodeModule(exception, project) ??
    explainMissingHandler(exception)
  );
}

/** Explains the message of workerd about a worker that does not start; undefined if it is clear. */
export function explainStartError(
  message: string,
  project: Project,
  unknownUses: readonly EnvUse[] = [],
): string | undefined {
  // The message of an exception at the top level of a module follows this prefix.
  const [, name = "Error", thrownMessage = message] = /Uncaught (?:(\w*Error): )?([^\n]*)/.exec(message) ?? [];
  return explainException({ name, message: thrownMessage, stack: message }, project, unknownUses);
}

/** Explains a missing fetch or email handler. The message for fetch is workerd's own. */
function explainMissingHandler({ message }: Pick<ThrownException, "message">): string | undefined {
  const [, handler] = /^(?:Error: )?Handler does not export an? (fetch|email)\(\) function/.exec(message) ?? [];
  if (handler === undefined) return undefined;
  return handler === "fetch"
    ? "The worker handles mail but no requests.\nFix: To handle requests, add async fetch(request, env, ctx) to the default export."
    : "The worker handles requests but no mail.\nFix: To handle mail, add async email(message, env, ctx) to the default export.";
}

function explainMissingBinding(
  { message, stack = "" }: Pick<ThrownException, "message" | "stack">,
  project: Project,
  unknownUses: readonly EnvUse[],
): string | undefined {
  const [, global] = /^([\w$]+) is not defined/.exec(message) ?? [];
  if (project.bindings.some(({ name }) => name === global))
    return `${global} is a binding, which must be read from the environment.\nFix: Use env.${global}.`;
  const use = findSuspect(message, stack, project, unknownUses);
  if (use === undefined) return undefined;
  const unsupportedBinding = project.missingBindings.find(({ name }) => name === use.name);
  if (unsupportedBinding !== undefined)
    return `Binding not supported: ${relative(project.root, use.file)}:${use.line} reads env.${use.name}, which is undefined because reelpost does not support ${unsupportedBinding.product}.\nFix: Check that the binding exists before using it, for example if (env.${use.name}) { … }.`;
  const members = unknownUses.filter(({ name }) => name === use.name).flatMap((other) => other.members);
  return `Binding not found: ${relative(project.root, use.file)}:${use.line} reads env.${use.name}, but the configuration does not declare "${use.name}".\nFix: ${declarationHint(project, use.name, members)}`;
}

/**
 * Returns the read of an undeclared name in the line that threw; otherwise the only such read that fits the message.
 */
function findSuspect(
  message: string,
  stack: string,
  project: Project,
  unknownUses: readonly EnvUse[],
): EnvUse | undefined {
  const [, member] = /^Cannot read properties of undefined \(reading '([^']+)'\)/.exec(message) ?? [];
  const top = /^\s+at .*$/m.exec(stack)?.[0] ?? "";
  const usesInLine = unknownUses.filter(({ file, line }) => top.includes(`${relative(project.root, file)}:${line}:`));
  const matchingUses = member === undefined ? [] : unknownUses.filter((use) => use.members.includes(member));
  const names = new Set(matchingUses.map(({ name }) => name));
  return (
    usesInLine.find((use) => matchingUses.includes(use)) ??
    usesInLine[0] ??
    (names.size === 1 ? matchingUses[0] : undefined)
  );
}

function explainDestination(message: string, project: Project): string | undefined {
  const file = relative(project.root, project.configFile);
  if (/destination address not verified|invalid destination/i.test(message))
    return `Invalid destination: mail can be sent only to verified addresses.\nFix: Verify it in Email Routing, or list it under reelpost.verified_addresses in ${file}.`;
  if (/^(Error: )?destination address is invalid/i.test(message))
    return "Invalid destination: this is not an email address.\nFix: Pass forward() one plain address, such as someone@example.com.";
  const [, direction] = /\bemail (to|from) .+ not allowed/i.exec(message) ?? [];
  if (direction === undefined) return undefined;
  return direction.toLowerCase() === "to"
    ? `The send_email binding does not allow this recipient.\nFix: Add it to destination_address or allowed_destination_addresses of the binding in ${file}, or use a binding without them.`
    : `The send_email binding does not allow this sender.\nFix: Add it to allowed_sender_addresses of the binding in ${file}.`;
}

function explainMissingNodeModule({ message }: Pick<ThrownException, "message">, project: Project): string | undefined {
  const missingModule =
    /No such module "(node:[^"]+)"/.exec(message)?.[1] ??
    /^(Buffer|process|global|setImmediate|__dirname|__filename) is not defined/.exec(message)?.[1];
  if (missingModule === undefined) return undefined;
  const what = `The worker uses ${missingModule} of Node.js, which this runtime does not have `;
  if (!hasNodeCompat(project))
    return `${what}without Node compatibility.\nFix: Add "nodejs_compat" to compatibility_flags.`;
  return `${what}at the compatibility date ${project.compatibilityDate}.\nFix: Set compatibility_date to a later date, or use a package that does not need it.`;
}
