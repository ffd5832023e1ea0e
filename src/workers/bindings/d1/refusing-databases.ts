import { Readable } from "node:stream";
import type { D1Databases } from "./databases.ts";
import { d1Errors } from "./errors.ts";
import { d1Limits } from "./limits.ts";

/**
 * For one of several processes on a machine, which share all ports: a database would be a different file in each of them.
 * Every use is rejected with `d1Errors.severalProcesses`.
 */
export function createRefusingDatabases(): D1Databases {
  const refuse = () => Promise.reject(d1Errors.severalProcesses());
  return {
    limits: d1Limits,
    query: refuse,
    script: refuse,
    exchange: refuse,
    import: refuse,
    export: () =>
      new Readable({
        read() {
          this.destroy(d1Errors.severalProcesses());
        },
      }),
    replace: refuse,
    size: async () => 0,
    delete: async () => {},
    close: async () => {},
  };
}
