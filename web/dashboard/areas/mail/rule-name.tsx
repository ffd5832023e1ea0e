import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { mailKeys } from "./queries.ts";
import { ruleName } from "./rule-text.ts";

/** Name of a rule; without one, the addresses that it matches. The id if the rule has been deleted. */
export function RuleName({
  zoneId,
  rule: { id, name },
}: {
  zoneId: string;
  rule: { id: string; name: string | null };
}) {
  const isNamed = name !== null && name !== "";
  const { data } = useQuery({
    queryKey: [...mailKeys.rules(zoneId), "rule", id],
    queryFn: () =>
      api.get("/zones/{zone_id}/email/routing/rules/{rule_identifier}", {
        path: { zone_id: zoneId, rule_identifier: id },
      }),
    enabled: !isNamed,
    retry: false,
  });
  if (isNamed) return name;
  return data === undefined ? id : ruleName(data);
}
