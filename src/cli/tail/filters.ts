import { commandErrors } from "../errors.ts";

export const STATUSES = ["ok", "error", "canceled"] as const;

interface FilterValues {
  status: (typeof STATUSES)[number][];
  method: string[];
  header: string[];
  "sampling-rate": string | undefined;
  search: string | undefined;
  "version-id": string | undefined;
}

const OUTCOMES: Record<(typeof STATUSES)[number], string[]> = {
  ok: ["ok"],
  error: ["exception", "exceededCpu", "exceededMemory", "unknown"],
  canceled: ["canceled"],
};

/** Returns the filters for `POST …/tails`: the server applies them, so that only matching records are sent. */
export function filtersOf(values: FilterValues): Record<string, unknown>[] {
  const rate = values["sampling-rate"];
  if (rate !== undefined && !(Number(rate) > 0 && Number(rate) <= 1))
    throw commandErrors.badContent({
      what: `--sampling-rate ${rate}`,
      reason: "it is not a number above 0 and at most 1",
      fix: "For example --sampling-rate 0.1 for every tenth record",
    });
  return [
    ...(rate === undefined ? [] : [{ sampling_rate: Number(rate) }]),
    ...(values.status.length === 0
      ? []
      : [{ outcome: [...new Set(values.status.flatMap((status) => OUTCOMES[status]))] }]),
    ...(values.method.length === 0 ? [] : [{ method: values.method.map((method) => method.toUpperCase()) }]),
    ...values.header.map((header) => ({ header: headerOf(header) })),
    ...(values.search === undefined ? [] : [{ query: values.search }]),
    ...(values["version-id"] === undefined ? [] : [{ scriptVersion: values["version-id"] }]),
  ];
}

/** `NAME` or `NAME:text` */
function headerOf(header: string): { key: string; query?: string } {
  const [, key = header, query = ""] = /^([^:]+):(.*)$/s.exec(header) ?? [];
  return { key: key.trim(), ...(query.trim() !== "" && { query: query.trim() }) };
}
