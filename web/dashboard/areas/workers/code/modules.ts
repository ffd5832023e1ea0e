import { queryOptions } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { workersKeys } from "../queries.ts";
import type { ScriptPath } from "../queries.ts";

export interface Module {
  name: string;
  size: number;
  /** Undefined if the module is not text. */
  text: string | undefined;
  isMain: boolean;
}

const BINARY = /^application\/(?:wasm|octet-stream)/;

/**
 * Returns the modules of a version; without `version`, of the version that receives the most requests. The main module
 * is first.
 */
export const modulesQuery = (path: ScriptPath, version: string) =>
  queryOptions({
    queryKey: [...workersKeys.worker(path), "modules", version],
    // Versions do not change, but the deployed version does.
    staleTime: version === "" ? 0 : Infinity,
    queryFn: async ({ signal }): Promise<Module[]> => {
      const response = await api.raw("GET", "/accounts/{account_id}/workers/scripts/{script_name}/content/v2", {
        path,
        query: { version },
        signal,
      });
      const main = decodeURI(response.headers.get("cf-entrypoint") ?? "");
      if (!(response.headers.get("content-type") ?? "").startsWith("multipart/")) {
        const text = await response.text();
        return [{ name: main || "index.js", size: text.length, text, isMain: true }];
      }
      const form = await response.formData();
      const modules = await Promise.all([...form].map(([name, value]) => moduleOf(name, value, main)));
      return modules.sort((a, b) => Number(b.isMain) - Number(a.isMain) || a.name.localeCompare(b.name));
    },
  });

async function moduleOf(name: string, value: File | string, main: string): Promise<Module> {
  const isMain = name === main;
  if (typeof value === "string") return { name, size: value.length, text: value, isMain };
  return { name, size: value.size, text: BINARY.test(value.type) ? undefined : await value.text(), isMain };
}
