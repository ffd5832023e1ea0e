import { Script } from "node:vm";
import type { WorkerScript } from "../scripts/script.ts";
import { mainSource } from "./capnp.ts";

/**
 * Adds the place to a syntax error in a script of service-worker format: it is text that code of ours compiles, and workerd tells where it was
 * compiled. Node's parser is the same V8's; nothing runs.
 */
export function withPlaceOfSyntaxError(reason: string, script: WorkerScript): string {
  const main = script.main.replace(/^\.\//, "");
  // With a place in the script itself, it is an error that running code has thrown.
  if (script.format !== "service-worker" || !reason.includes("SyntaxError: ") || reason.includes(`${main}:`))
    return reason;
  try {
    void new Script(mainSource(script), { filename: "script" });
  } catch (error) {
    // Node writes `script:<line>`, the line itself, and a mark below the place.
    const [place, , mark] = String((error as Error).stack).split("\n");
    const line = /^script:(\d+)$/.exec(place ?? "")?.[1];
    if (line !== undefined) return `${reason}\n  at ${main}:${line}:${Math.max(mark?.indexOf("^") ?? 0, 0) + 1}`;
  }
  return reason;
}
