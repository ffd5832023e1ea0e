import type { Caller, Permission, Resource } from "../accounts/index.ts";
import type { Operation } from "./operation.ts";

/** Any one of these permissions allows receiving the changes of a topic. */
const READERS = {
  mail: ["Email Routing Rules Read", "Email Sending Read", "Account Analytics Read"],
  queue: ["Email Sending Read"],
  routing: ["Email Routing Rules Read", "Email Routing Addresses Read", "Zone Settings Read"],
  sending: ["Email Sending Read"],
  videos: ["Stream Read"],
  live: ["Stream Read"],
  live_metrics: ["Stream Read"],
  webhooks: ["Stream Read"],
  stream: ["Stream Read"],
  workers: ["Workers Scripts Read"],
  deployments: ["Workers Scripts Read"],
  routes: ["Workers Routes Read", "Workers Scripts Read"],
  queues: ["Workers Scripts Read"],
  kv: ["Workers KV Storage Read"],
  r2: ["Workers R2 Storage Read"],
  d1: ["D1 Read"],
  dns: ["DNS Read"],
  zones: ["Zone Read"],
  tokens: ["Account API Tokens Read", "API Tokens Read"],
  members: ["Account Settings Read"],
  account: ["Account Settings Read"],
  secrets: ["Secrets Store Read"],
  ai_gateway: ["AI Gateway Read"],
} as const satisfies Record<string, readonly Permission[]>;

/** The kind of a changed resource, as the event stream names it. */
export type LiveTopic = keyof typeof READERS;

export const LIVE_TOPICS = Object.keys(READERS) as LiveTopic[];

export const mayReceive = (caller: Caller, topic: LiveTopic, resource: Resource): boolean =>
  READERS[topic].some((permission) => caller.allows(permission, resource));

export const isLiveTopic = (topic: string): topic is LiveTopic => Object.hasOwn(READERS, topic);

/** The first pattern that matches the path of an operation determines its topic. */
const TOPICS_BY_PATH: [pattern: RegExp, topic: LiveTopic][] = [
  [/\/email\/queue/, "queue"],
  [/\/email\/activity/, "mail"],
  [/\/email\/(sending|suppression)/, "sending"],
  [/\/email\//, "routing"],
  [/\/stream\/live_inputs/, "live"],
  [/\/stream\/webhook/, "webhooks"],
  [/\/stream\/(keys|watermarks)/, "stream"],
  [/\/stream/, "videos"],
  [/\/deployments/, "deployments"],
  [/^\/zones\/[^/]+\/workers/, "routes"],
  [/\/workers\/domains/, "routes"],
  [/\/workers\//, "workers"],
  [/\/storage\/kv/, "kv"],
  [/\/r2\//, "r2"],
  [/\/d1\//, "d1"],
  [/\/queues/, "queues"],
  [/\/dns_records/, "dns"],
  [/\/secrets_store/, "secrets"],
  [/\/ai-gateway/, "ai_gateway"],
  [/\/tokens/, "tokens"],
  [/\/(members|invites|roles)/, "members"],
  [/^\/zones/, "zones"],
  [/^\/accounts/, "account"],
];

/** Operations on data instead of resources: too frequent to publish, or without a lasting effect. */
const DATA_OPERATION =
  /\/(values|bulk|objects|query|raw|messages|send|send_raw|token|tails|import|plan|preview|assets|assets-upload-session|scan|graphql)(\/|$)/;

/** Returns the topic of the changes that an operation makes; undefined if its changes are not published. */
export function topicOfOperation({ method, path }: Pick<Operation, "method" | "path">): LiveTopic | undefined {
  if (method === "get" || (DATA_OPERATION.test(path) && !path.endsWith("/dns_records/import"))) return undefined;
  return TOPICS_BY_PATH.find(([pattern]) => pattern.test(path))?.[1];
}
