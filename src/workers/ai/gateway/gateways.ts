import { offsetOf, type Clock } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import { createCacheTable } from "./cache-table.ts";
import { checkGatewayId, checkMetadata, checkSettings } from "./checks.ts";
import { aiGatewayErrors } from "./errors.ts";
import { createGatewaysTable } from "./gateways-table.ts";
import { aiGatewayLimits } from "./limits.ts";
import { createLogsTable } from "./logs-table.ts";
import type { AiGateway, AiGatewayLog, AiGateways, AiGatewaySettings } from "./port.ts";
import type { GatewayRow, LogRow } from "./schema.ts";

/** The settings of a gateway that was created without any. */
export const defaultAiGatewaySettings: AiGatewaySettings = {
  cacheTtl: 0,
  cacheInvalidateOnUpdate: false,
  collectLogs: true,
  rateLimit: 0,
  rateLimitInterval: 0,
  rateLimitTechnique: "fixed",
  authentication: true,
  logLimit: aiGatewayLimits.logsPerGateway,
  logStrategy: "DELETE_OLDEST",
};

/** Maximum number of logs that one call deletes. */
const DELETED_LOGS = aiGatewayLimits.logsPerGateway;

interface AiGatewaysDeps {
  db: Db;
  clock: Clock;
  /** Maximum number of cached responses per account. */
  cacheEntries?: number;
}

export function createAiGateways({
  db,
  clock,
  cacheEntries = aiGatewayLimits.cacheEntriesPerAccount,
}: AiGatewaysDeps): AiGateways {
  const gateways = createGatewaysTable(db);
  const logs = createLogsTable(db);
  const responses = createCacheTable(db);

  async function requireGateway(account: string, id: string): Promise<GatewayRow> {
    const row = await gateways.get(account, id);
    if (row === undefined) throw aiGatewayErrors.gatewayMissing({ gateway: id, account });
    return row;
  }

  async function requireLog(account: string, gateway: string, id: string): Promise<LogRow> {
    const row = await logs.get({ account_id: account, gateway_id: gateway }, id);
    if (row === undefined) throw aiGatewayErrors.logMissing({ log: id, gateway, account });
    return row;
  }

  return {
    async create(account, id, settings) {
      checkGatewayId(id);
      checkSettings(settings);
      const now = clock.now();
      const row: GatewayRow = {
        account_id: account,
        id,
        settings: JSON.stringify(settings),
        created_at: now,
        modified_at: now,
      };
      const result = await gateways.add(row, aiGatewayLimits.gatewaysPerAccount);
      if (result === "exists") throw aiGatewayErrors.gatewayExists({ gateway: id });
      if (result === "too many") throw aiGatewayErrors.tooManyGateways({ limit: aiGatewayLimits.gatewaysPerAccount });
      return gatewayOf(row);
    },
    async list(account, page, search = "") {
      const found = (await gateways.all(account)).filter(({ id }) => id.includes(search)).map(gatewayOf);
      return { items: found.slice(offsetOf(page), offsetOf(page) + page.perPage), total: found.length };
    },
    get: async (account, id) => gatewayOf(await requireGateway(account, id)),
    async update(account, id, settings) {
      checkSettings(settings);
      const values = { settings: JSON.stringify(settings), modified_at: clock.now() };
      const row = await gateways.update({ account_id: account, id }, values);
      if (row === undefined) throw aiGatewayErrors.gatewayMissing({ gateway: id, account });
      if (settings.cacheInvalidateOnUpdate) await responses.clear(account, id);
      return gatewayOf(row);
    },
    async delete(account, id) {
      const row = await gateways.delete(account, id);
      if (row === undefined) throw aiGatewayErrors.gatewayMissing({ gateway: id, account });
      return gatewayOf(row);
    },

    async addLog({ account, id, logLimit, logStrategy }, log) {
      const row = rowOf({ account_id: account, gateway_id: id }, log);
      await logs.add(row, logLimit, logStrategy === "STOP_INSERTING" ? "drop" : "delete oldest");
    },
    async logs(account, gateway, page, filter = {}) {
      await requireGateway(account, gateway);
      const { rows, total } = await logs.page({ account_id: account, gateway_id: gateway }, filter, page);
      return { items: rows.map(logOf), total };
    },
    log: async (account, gateway, id) => logOf(await requireLog(account, gateway, id)),
    async patchLog(account, gateway, id, change) {
      if (change.metadata != null) checkMetadata(change.metadata);
      const row = await requireLog(account, gateway, id);
      const changed = { ...logOf(row), ...change };
      await logs.setDetails(id, rowOf(row, changed).details);
      return changed;
    },
    async deleteLogs(account, gateway, filter, limit = DELETED_LOGS) {
      await requireGateway(account, gateway);
      await logs.delete({ account_id: account, gateway_id: gateway }, filter, Math.min(limit, DELETED_LOGS));
    },

    async cached({ account, id }, key) {
      const row = await responses.get(account, id, key, clock.now());
      return row && { status: row.status, contentType: row.content_type, body: row.body };
    },
    async cache({ account, id }, key, { status, contentType, body }, ttlSeconds) {
      const row = { account_id: account, gateway_id: id, key, status, content_type: contentType, body };
      const lifetimeMs = Math.min(ttlSeconds, aiGatewayLimits.cacheTtlSeconds) * 1000;
      await responses.put({ ...row, expires_at: clock.now() + lifetimeMs }, cacheEntries);
    },
    sweep: () => responses.deleteExpired(clock.now()),
  };
}

const gatewayOf = ({ account_id, id, settings, created_at, modified_at }: GatewayRow): AiGateway => ({
  ...(JSON.parse(settings) as AiGatewaySettings),
  id,
  account: account_id,
  createdAt: new Date(created_at),
  modifiedAt: new Date(modified_at),
});

/** PostgreSQL rejects U+0000 in text; in JSON text it is escaped. */
const withoutNul = (text: string) => text.replaceAll("\0", "");

function rowOf(
  { account_id, gateway_id }: Pick<LogRow, "account_id" | "gateway_id">,
  { id, createdAt, provider, model, success, cached, ...details }: AiGatewayLog,
): LogRow {
  return {
    id,
    account_id,
    gateway_id,
    created_at: createdAt.getTime(),
    provider: withoutNul(provider),
    model: withoutNul(model),
    success: Number(success),
    cached: Number(cached),
    details: JSON.stringify(details),
  };
}

const logOf = ({ id, created_at, provider, model, success, cached, details }: LogRow): AiGatewayLog => ({
  ...(JSON.parse(details) as Omit<AiGatewayLog, "id" | "createdAt" | "provider" | "model" | "success" | "cached">),
  id,
  createdAt: new Date(created_at),
  provider,
  model,
  success: success === 1,
  cached: cached === 1,
});
