import { SourceMap } from "node:module";
import type { WorkerScript } from "../scripts/script.ts";
import type { ThrownException } from "./port.ts";

/** Maps the positions in a stack from the bundle to the sources. */
export type StackMapper = (stack: string) => string;

const PLACE = /((?:file:\/\/\/|\.\/)?([^\s()]+)):(\d+):(\d+)/;

/** Stack frames of the code that this server adds to the worker's. */
const INTERNAL_FRAME = /^\s*at .*(__reelpost_|\breelpost-internal:)/;

export function createStackMapper(script: Pick<WorkerScript, "main" | "sourceMap">): StackMapper {
  const map = readMap(script.sourceMap);
  const main = script.main.replace(/^\.\//, "");
  return (stack) => {
    const lines = stack.split("\n").filter((line) => !INTERNAL_FRAME.test(line));
    const parsedMap = map();
    return lines.map((line) => (parsedMap === undefined ? line : mapLine(line, main, parsedMap))).join("\n");
  };
}

/** Parsed on first use. An invalid source map maps nothing. */
function readMap(json: string | undefined): () => SourceMap | undefined {
  let map: SourceMap | undefined;
  let isParsed = json === undefined;
  return () => {
    if (isParsed) return map;
    isParsed = true;
    try {
      map = new SourceMap(JSON.parse(json!));
    } catch {
      // Without a map, stacks keep the positions in the bundle.
    }
    return map;
  };
}

function mapLine(line: string, main: string, map: SourceMap): string {
  if (!/^\s+at /.test(line)) return line;
  return line.replace(PLACE, (place, _path, file: string, row: string, column: string) => {
    if (file !== main) return place;
    // Stacks count from 1, source maps from 0.
    const origin = map.findEntry(Number(row) - 1, Number(column) - 1);
    return "originalSource" in origin
      ? `${origin.originalSource}:${origin.originalLine + 1}:${origin.originalColumn + 1}`
      : place;
  });
}

/** A worker can replace the stack (Error.prepareStackTrace), so it need not be text. */
export const mapException = (exception: ThrownException, mapStack: StackMapper): ThrownException =>
  exception.stack === undefined ? exception : { ...exception, stack: mapStack(String(exception.stack)) };
