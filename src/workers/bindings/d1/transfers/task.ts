import type { D1Limits } from "../limits.ts";
import type { ExportOptions } from "./export-sql.ts";
import type { ImportRequest } from "./import-sql.ts";

/** The argument of a transfer process. */
export type TransferTask =
  | { kind: "import"; request: ImportRequest; limits: D1Limits }
  | { kind: "export"; file: string; options: ExportOptions; limits: D1Limits };

/** The outcome that a transfer process reports on descriptor 3. */
export type TransferOutcome = { done: object } | { refused: string } | { fault: string };
