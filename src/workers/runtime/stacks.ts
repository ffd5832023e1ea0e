import { SourceMap } from "node:module";
import type { WorkerScript } from "../scripts/script.ts";
import type { ThrownException } from "./port.ts";

/** Rewrites the places in a stack from the bundle to the sources. */
export type StackMapper = (stack: string) => string;

const PLACE = /((?:file:\/\/\/|\.\/)?([^\s()]+)):(\d+):(\d+)/;

/** A script in service-worker format has no modules; workerd names it by its service, and our prelude is its first line. */
const SCRIPT_PLACE = /\buser:(\d+):(\d+)/;

export function createStackMapper(script: Pick<WorkerScript, "main" | "sourceMap"> & { format?: WorkerScript["format"] }): StackMapper {
  const map = readMap(script.sourceMap);
  const main = script.main.replace(/^\.\//, "");
  return (stack) => {
    const all = stack.split("\n");
    const lines = script.format === "service-worker" ? withoutPrelude(all, main) : all.filter((line) => !line.includes("__reelpost_"));
    const found = map();
    return lines.map((line) => (found === undefined ? line : mapLine(line, main, found))).join("\n");
  };
}

/** Read when first needed. One that cannot be read maps nothing. */
function readMap(json: string | undefined): () => SourceMap | undefined {
  let map: SourceMap | undefined;
  let tried = json === undefined;
  return () => {
    if (tried) return map;
    tried = true;
    try {
      map = new SourceMap(JSON.parse(json!));
    } catch {
      // Whoever uploaded it sees the places in the bundle.
    }
    return map;
  };
}

const withoutPrelude = (lines: string[], main: string) =>
  lines.filter((line) => SCRIPT_PLACE.exec(line)?.[1] !== "1").map((line) => line.replace(SCRIPT_PLACE, (_place, row: string, column: string) => `${main}:${Number(row) - 1}:${column}`));

function mapLine(line: string, main: string, map: SourceMap): string {
  if (!/^\s+at /.test(line)) return line;
  return line.replace(PLACE, (place, _path, file: string, row: string, column: string) => {
    if (file !== main) return place;
    // Stacks count from 1, source maps from 0.
    const origin = map.findEntry(Number(row) - 1, Number(column) - 1);
    return "originalSource" in origin ? `${origin.originalSource}:${origin.originalLine + 1}:${origin.originalColumn + 1}` : place;
  });
}

/** What a worker put in place of the stack (Error.prepareStackTrace) need not be text. */
export const mapException = (exception: ThrownException, mapStack: StackMapper): ThrownException =>
  exception.stack === undefined ? exception : { ...exception, stack: mapStack(String(exception.stack)) };
