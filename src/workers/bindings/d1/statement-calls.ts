import type { StatementInput } from "./database.ts";
import type { D1Databases, D1QueryResult } from "./port.ts";
import { d1Errors } from "./errors.ts";

/** The calls that encode their statements as JSON and decode the response. */
export function createStatementCalls(exchange: D1Databases["exchange"]): Pick<D1Databases, "query" | "script"> {
  const toBytes = (statements: StatementInput[]) => Buffer.from(JSON.stringify(statements));
  return {
    async query(id, statements, { script = false, signal } = {}) {
      return parseResponse(await exchange(id, { format: "ROWS_AND_COLUMNS", script }, toBytes(statements), signal));
    },
    async script(id, statements, { format, signal }) {
      const answer = await exchange(id, { format, script: true, binds: true }, toBytes(statements), signal);
      // Every successful result ends with its `meta`, a failure with its message, so successful responses need not be
      // parsed.
      if (answer.toString("latin1", answer.length - 3) !== "}}]") parseResponse(answer);
      return answer;
    },
  };
}

/** Throws d1Errors.sql for a response that is a failure or contains one. */
function parseResponse(answer: Buffer): D1QueryResult[] {
  const parsed = JSON.parse(answer.toString()) as { error?: string } | ({ error?: string } & D1QueryResult)[];
  const failure = Array.isArray(parsed) ? parsed.find(({ error }) => error !== undefined) : parsed;
  if (failure) throw d1Errors.sql({ text: failure.error });
  return parsed as D1QueryResult[];
}
