/** Query parameters of the HTTP endpoints for mail. */
interface ReceiveQuery {
  from?: string;
  to?: string;
  format?: string;
  worker?: string;
}

const NAMES = new Set<keyof ReceiveQuery>(["from", "to", "format", "worker"]);

/**
 * Returns the first value of each known name. Unlike in a web form, a plus sign is not decoded to a space: addresses
 * have no spaces, and users type `to=user+tag@example.com`.
 */
export function queryOf(query: string): ReceiveQuery {
  const parsedQuery: ReceiveQuery = {};
  if (query === "") return parsedQuery;
  for (const part of query.split("&", 64)) {
    const equals = part.indexOf("=");
    if (equals < 0) continue;
    const name = part.slice(0, equals) as keyof ReceiveQuery;
    if (NAMES.has(name)) parsedQuery[name] ??= decode(part.slice(equals + 1));
  }
  return parsedQuery;
}

function decode(value: string): string {
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    // A stray percent sign is left unchanged.
    return value;
  }
}
