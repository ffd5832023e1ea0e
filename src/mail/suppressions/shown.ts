import type { SuppressionRow } from "./suppressions-table.ts";
import type { Suppression } from "./types.ts";

export const isReadOnly = ({ reason }: Pick<SuppressionRow, "reason">): boolean => reason === "policy";

export const showSuppression = (row: SuppressionRow): Suppression => ({
  id: row.id,
  account: row.account_id,
  email: row.email,
  scope: suppressionScopeOf(row),
  reason: row.reason,
  note: row.note,
  readOnly: isReadOnly(row),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

export const suppressionScopeOf = ({ scope }: Pick<SuppressionRow, "scope">): Suppression["scope"] =>
  scope === "" ? { type: "account" } : { type: "sending_domain", value: scope };
