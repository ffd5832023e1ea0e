import type { Paint } from "../../kernel/paint.ts";
import { formatUtcTime, table } from "../print.ts";

/** A DKIM key for signing forwarded mail. */
export interface ApiDkimKey {
  id: string;
  domain: string;
  selector: string;
  algorithm: string;
  state: string;
  created: string;
  retired: string | null;
}

export const dkimTable = (keys: readonly ApiDkimKey[], paint: Paint): string[] =>
  table(
    ["selector", "domain", "algorithm", "state", "created", "retired"],
    keys.map((key) => [
      key.selector,
      key.domain,
      key.algorithm,
      key.state,
      formatUtcTime(key.created),
      formatUtcTime(key.retired ?? undefined),
    ]),
    paint,
  );
