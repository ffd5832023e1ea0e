import type { Page, PageRequest } from "../../../kernel/index.ts";

/** The settings of a gateway. */
export interface AiGatewaySettings {
  /** Default lifetime of cached responses in seconds; 0 disables the cache. */
  cacheTtl: number;
  /** True if an update of the gateway deletes the cached responses. */
  cacheInvalidateOnUpdate: boolean;
  collectLogs: boolean;
  /** Maximum number of requests per interval; 0: no limit. */
  rateLimit: number;
  /** Seconds. */
  rateLimitInterval: number;
  rateLimitTechnique: "fixed" | "sliding";
  /** True if HTTP requests need an API token in `cf-aig-authorization`. */
  authentication: boolean;
  /** Maximum number of stored logs. */
  logLimit: number;
  /** Action taken when the number of logs reaches `logLimit`. */
  logStrategy: "STOP_INSERTING" | "DELETE_OLDEST";
}

export interface AiGateway extends AiGatewaySettings {
  /** Chosen by the user, unique in the account. */
  id: string;
  account: string;
  createdAt: Date;
  modifiedAt: Date;
}

export type LogMetadata = Record<string, string | number | boolean | null>;

/** One request to a provider, or its cached response. */
export interface AiGatewayLog {
  /** 32 hex digits. */
  id: string;
  createdAt: Date;
  provider: string;
  model: string;
  /** Relative to the provider: `chat/completions`. */
  path: string;
  /** Milliseconds. */
  duration: number;
  status: number;
  success: boolean;
  cached: boolean;
  tokensIn: number | null;
  tokensOut: number | null;
  requestType: string;
  requestSize: number;
  responseType: string;
  responseSize: number;
  /** The first `headChars` characters. */
  requestHead: string;
  requestComplete: boolean;
  responseHead: string;
  responseComplete: boolean;
  /** Index of the request in a universal request. */
  step: number;
  metadata: LogMetadata | null;
  feedback: number | null;
  score: number | null;
}

export interface LogFilter {
  success?: boolean | undefined;
  cached?: boolean | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  /** Default: newest first. */
  direction?: "asc" | "desc" | undefined;
}

interface CachedResponse {
  status: number;
  contentType: string;
  body: Uint8Array;
}

/** Gateways, their logs and their cached responses. Each belongs to one account. */
export interface AiGateways {
  /** Throws badSetting, gatewayExists, tooManyGateways. */
  create(account: string, id: string, settings: AiGatewaySettings): Promise<AiGateway>;
  /** Lists gateways in order of their ids; `search` matches a part of the id. */
  list(account: string, page: PageRequest, search?: string): Promise<Page<AiGateway>>;
  /** Throws gatewayMissing. */
  get(account: string, id: string): Promise<AiGateway>;
  /** Throws badSetting, gatewayMissing. */
  update(account: string, id: string, settings: AiGatewaySettings): Promise<AiGateway>;
  /**
   * Deletes a gateway with its logs and cached responses. Resolves with the deleted gateway. Throws gatewayMissing.
   */
  delete(account: string, id: string): Promise<AiGateway>;

  /** Stores a log within the limit of the gateway. */
  addLog(gateway: AiGateway, log: AiGatewayLog): Promise<void>;
  /** Throws gatewayMissing. */
  logs(account: string, gateway: string, page: PageRequest, filter?: LogFilter): Promise<Page<AiGatewayLog>>;
  /** Throws logMissing. */
  log(account: string, gateway: string, id: string): Promise<AiGatewayLog>;
  /** Throws badSetting, logMissing. */
  patchLog(
    account: string,
    gateway: string,
    id: string,
    change: Partial<Pick<AiGatewayLog, "feedback" | "score" | "metadata">>,
  ): Promise<AiGatewayLog>;
  /** Deletes the matching logs, at most `limit`. Throws gatewayMissing. */
  deleteLogs(account: string, gateway: string, filter: LogFilter, limit?: number): Promise<void>;

  /** Resolves with a cached response; undefined if it is absent or expired. */
  cached(gateway: Pick<AiGateway, "account" | "id">, key: string): Promise<CachedResponse | undefined>;
  /** Replaces an older response; evicts those that expire first if the account has too many. */
  cache(
    gateway: Pick<AiGateway, "account" | "id">,
    key: string,
    response: CachedResponse,
    ttlSeconds: number,
  ): Promise<void>;
  /** Deletes expired responses. */
  sweep(): Promise<void>;
}
