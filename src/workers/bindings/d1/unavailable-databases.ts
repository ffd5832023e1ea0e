import { Readable } from "node:stream";
import type { D1Databases } from "./databases.ts";
import { d1Errors } from "./errors.ts";
import { d1Limits } from "./limits.ts";

/**
 * D1 databases for processes that share the ports of a machine: each process would have its own file for the same
 * database. Every call rejects with `d1Errors.severalProcesses`.
 */
export function createUnavailableDatabases(): D1Databases {
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
