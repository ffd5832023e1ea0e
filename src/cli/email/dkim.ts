import { formatTime, table, type Paint } from "../print.ts";

/** A DKIM key for signing forwarded mail. */
export interface DkimKey {
  id: string;
  domain: string;
  selector: string;
  algorithm: string;
  state: string;
  created: string;
  retired: string | null;
}

export const dkimTable = (keys: readonly DkimKey[], paint: Paint): string[] =>
  table(
    ["selector", "domain", "algorithm", "state", "created", "retired"],
    keys.map((key) => [
      key.selector,
      key.domain,
      key.algorithm,
      key.state,
      formatTime(key.created),
      formatTime(key.retired ?? undefined),
    ]),
    paint,
  );
