import type { Settings } from "../../kernel/settings.ts";
import { parsePostgresUrl } from "../../store/index.ts";
import { passedFinding, type Finding } from "./finding.ts";

/** Warns about failovers that lose acknowledged writes. */
export function databaseFindings({ url, replicated }: Pick<Settings["database"], "url" | "replicated">): Finding[] {
  if (url === "") return [];
  const { hosts } = parsePostgresUrl(url);
  if (hosts.length === 1) return [];
  const check = "database hosts";
  return [
    replicated
      ? passedFinding(check, `${hosts.length}, with synchronous replication`)
      : {
          check,
          status: "warning",
          found: `${hosts.length}, and database.replicated is false`,
          fix: "Set database.replicated to true. Otherwise, a failover to a standby without synchronous replication loses the newest writes, which the server has acknowledged.",
        },
  ];
}
