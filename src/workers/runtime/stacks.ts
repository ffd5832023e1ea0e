import { SourceMap } from "node:module";
import type { WorkerScript } from "../scripts/script.ts";
import type { ThrownException } from "./port.ts";

/** Rewrites the places in a stack from the bundle to the sources. */
export type StackMapper = (stack: string) => string;

const PLACE = /((?:file:\/\/\/|\.\/)?([^\s()]+)):(\d+):(\d+)/;

export function createStackMapper(script: Pick<WorkerScript, "main" | "sourceMap">): StackMapper {
  let map: SourceMap | undefined;
  const main = script.main.replace(/^\.\//, "");
  return (stack) => {
    const lines = stack.split("\n").filter((line) => !line.includes("__reelpost_"));
    if (script.sourceMap === undefined) return lines.join("\n");
    map ??= new SourceMap(JSON.parse(script.sourceMap));
    return lines.map((line) => mapLine(line, main, map!)).join("\n");
  };
}

function mapLine(line: string, main: string, map: SourceMap): string {
  if (!/^\s+at /.test(line)) return line;
  return line.replace(PLACE, (place, _path, file: string, row: string, column: string) => {
    if (file !== main) return place;
    // Stacks count from 1, source maps from 0.
    const origin = map.findEntry(Number(row) - 1, Number(column) - 1);
    return "originalSource" in origin ? `${origin.originalSource}:${origin.originalLine + 1}:${origin.originalColumn + 1}` : place;
  });
}

export const mapException = (exception: ThrownException, mapStack: StackMapper): ThrownException =>
  exception.stack === undefined ? exception : { ...exception, stack: mapStack(exception.stack) };
