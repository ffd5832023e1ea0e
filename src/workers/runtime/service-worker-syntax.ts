import { Script } from "node:vm";
import type { WorkerScript } from "../scripts/script.ts";
import { mainSource } from "./capnp.ts";

/**
 * Adds the position to a syntax error in a script in service-worker format: the wrapper compiles it from text, so
 * workerd reports the wrapper's position. Node uses the same V8 parser; no code is run.
 */
export function withSyntaxErrorPosition(reason: string, script: WorkerScript): string {
  const main = script.main.replace(/^\.\//, "");
  // An error with a position in the script itself was thrown by running code.
  if (script.format !== "service-worker" || !reason.includes("SyntaxError: ") || reason.includes(`${main}:`))
    return reason;
  try {
    void new Script(mainSource(script), { filename: "script" });
  } catch (error) {
    // Node writes `script:<line>`, the line itself, and a marker under the column.
    const [place, , caretLine] = String((error as Error).stack).split("\n");
    const line = /^script:(\d+)$/.exec(place ?? "")?.[1];
    if (line !== undefined) return `${reason}\n  at ${main}:${line}:${Math.max(caretLine?.indexOf("^") ?? 0, 0) + 1}`;
  }
  return reason;
}
