import { painter } from "../kernel/paint.ts";
import type { Problem } from "../kernel/config/index.ts";
import { UserError, messageOf } from "../kernel/index.ts";
import { EXIT, type CommandContext } from "./command.ts";

type ErrorOutput = Pick<CommandContext, "json" | "stdout" | "stderr" | "version">;

/** Reports an error: as text on stderr (message, reason, fix), or as JSON on stdout. Returns the exit code. */
export function reportError(thrown: unknown, { json, stdout, stderr, version }: ErrorOutput): number {
  const allErrors: unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown];
  const errors = allErrors.filter((error) => error instanceof UserError);
  if (errors.length < allErrors.length) return reportFault(thrown, { json, stdout, stderr, version });
  if (json)
    stdout.line(
      JSON.stringify(errors.length === 1 ? { error: errorJson(errors[0]!) } : { errors: errors.map(errorJson) }),
    );
  else for (const error of errors) stderr.line(errorText(error, stderr.colour));
  return errors.every(({ domain }) => domain === "usage") ? EXIT.usage : EXIT.failed;
}

function errorText({ message, fix }: UserError, colour: boolean): string {
  const paint = painter({ colour });
  return `${paint("red", "error:")} ${message}${fix === undefined ? "" : `\n${paint("green", "fix:")} ${fix}`}`;
}

interface ErrorJson {
  code: number | string;
  message: string;
  fix?: string;
  problems?: Problem[];
  /** The errors as the server sent them. */
  errors?: unknown;
}

function errorJson({ domain, code, message, fix, details }: UserError): ErrorJson {
  if (domain === "server")
    return { code, message: String(details.message), ...(fix !== undefined && { fix }), errors: details.errors };
  // If there are problems, the message repeats them as text; its first line is the summary.
  const problems = Array.isArray(details.problems) ? (details.problems as Problem[]) : undefined;
  return {
    code,
    message: problems === undefined ? message : message.split("\n")[0]!,
    ...(fix === undefined ? {} : { fix }),
    ...(problems === undefined ? {} : { problems }),
  };
}

function reportFault(thrown: unknown, { json, stdout, stderr, version }: ErrorOutput): number {
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : messageOf(thrown);
  if (json) stdout.line(JSON.stringify({ error: { code: "E_FAULT", message: messageOf(thrown), stack } }));
  else {
    stderr.line(`Internal error (this is a bug in reelpost): ${messageOf(thrown)}`);
    stderr.line();
    stderr.line(stack);
    stderr.line();
    stderr.line(
      `Please report this with the lines above and what you did (reelpost ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}).`,
    );
  }
  return EXIT.fault;
}
