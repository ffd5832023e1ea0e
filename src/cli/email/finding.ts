import type { Paint } from "../../kernel/paint.ts";
import { oneLine } from "../../kernel/text.ts";
import { plural } from "../print.ts";
import { shortenText } from "./log.ts";

/** Result of one check of the server's doctor. */
export interface ApiFinding {
  check: string;
  status: "ok" | "warning" | "error";
  found?: string;
  expected?: string;
  fix?: string;
}

const COLOURS = { ok: "green", warning: "yellow", error: "red" } as const;
const STATUS_WIDTH = "warning".length;

/** One line per passed check; failed checks with the expected value and the fix. A summary comes last. */
export function findingLines(findings: readonly ApiFinding[], paint: Paint): string[] {
  const formatDetail = (name: string, text: string | undefined) =>
    text === undefined
      ? []
      : [`${" ".repeat(STATUS_WIDTH)}  ${paint("dim", `${name}:`)} ${oneLine(shortenText(text, 1000), 1100)}`];
  const lines = findings.flatMap(({ check, status, found, expected, fix }) => [
    `${paint(COLOURS[status], status.padEnd(STATUS_WIDTH))}  ${oneLine(check)}${found === undefined ? "" : `: ${oneLine(shortenText(found, status === "ok" ? 100 : 400))}`}`,
    ...(status === "ok" ? [] : [...formatDetail("expected", expected), ...formatDetail("fix", fix)]),
  ]);
  const count = (status: ApiFinding["status"]) => findings.filter((item) => item.status === status).length;
  const [errors, warnings] = [count("error"), count("warning")];
  return [
    ...lines,
    "",
    errors + warnings === 0
      ? paint("green", "No problems found.")
      : `${plural(errors, "error")}, ${plural(warnings, "warning")}, ${count("ok")} passed`,
  ];
}
