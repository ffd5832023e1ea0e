import { findReachable, type Sources } from "../imports.ts";

/** Preparations that take seconds. A run performs only those that its files need. */
interface Needs {
  /** The real clients of `test/clients`. */
  clients: boolean;
  postgres: boolean;
  /** The bundled program. */
  program: boolean;
  s3: boolean;
}

export function needsOf(sources: Sources, files: readonly string[]): Needs {
  const reached = new Set(files.flatMap((file) => [...findReachable(sources, file)]));
  return {
    clients: [...reached].some((path) => path.startsWith("test/") && sources.get(path)?.text.includes('"clients"')),
    postgres: reached.has("test/support/postgres.ts"),
    program: reached.has("test/support/program.ts"),
    s3: reached.has("test/support/radosgw.ts"),
  };
}
