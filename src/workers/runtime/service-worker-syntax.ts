import { Script } from "node:vm";
import type { WorkerScript } from "../scripts/script.ts";
import { mainSource } from "./capnp.ts";

/**
 * Adds the position to a syntax error in a script of service-worker format: the wrapper compiles it from text, so
 * workerd reports the wrapper's position. Node's parser is the same V8 parser; no code runs.
 */
export function withPlaceOfSyntaxError(reason: string, script: WorkerScript): string {
  const main = script.main.replace(/^\.\//, "");
  // With a position in the script itself, it is an error thrown by running code.
  if (script.format !== "service-worker" || !reason.includes("SyntaxError: ") || reason.includes(`${main}:`))
    return reason;
  try {
    void new Script(mainSource(script), { filename: "script" });
  } catch (error) {
    // Node writes `script:<line>`, the line itself, and a marker below the column.
    const [place, , mark] = String((error as Error).stack).split("\n");
    const line = /^script:(\d+)$/.exec(place ?? "")?.[1];
    if (line !== undefined) return `${reason}\n  at ${main}:${line}:${Math.max(mark?.indexOf("^") ?? 0, 0) + 1}`;
  }
  return reason;
}
