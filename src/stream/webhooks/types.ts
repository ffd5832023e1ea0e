import type { Page, PageRequest } from "../../kernel/index.ts";
import type { Video } from "../videos/index.ts";

/**
 * Events sent to an endpoint: videos that have finished processing, and live inputs that are connected, disconnected or
 * in error.
 */
export type WebhookTopic = "videos" | "live";
export type LiveEventType = "live_input.connected" | "live_input.disconnected" | "live_input.errored";

/** An endpoint for notifications of an account. Times are epoch milliseconds. */
export interface WebhookEndpoint {
  /** 32 hex digits. */
  id: string;
  account: string;
  url: string;
  /** Key that signs deliveries: 32 hex digits. */
  secret: string;
  /** The endpoint in the hosted service's API; all others are additional. */
  main: boolean;
  /** The main endpoint receives video events. */
  topics: WebhookTopic[];
  /** Limits live events to these inputs; empty: all. */
  liveInputs: string[];
  created: number;
  modified: number;
}

export interface WebhookDelivery {
  id: string;
  endpoint: string;
  /** Uid of the video; for a test, a nonexistent uid; for live events, the uid of the input. */
  video: string;
  event: "ready" | "error" | "test" | LiveEventType;
  status: "waiting" | "delivered" | "failed";
  /** Oldest first. */
  attempts: WebhookAttempt[];
  created: number;
  /** The body as JSON: the video at that time, or the notification. */
  payload: string;
}

export interface WebhookAttempt {
  at: number;
  ms: number;
  /** HTTP status; null if there was no response. */
  status: number | null;
  error: string | null;
  /** The beginning of the response body. */
  response: string;
}

export interface Webhooks {
  /** Creates the main endpoint, or changes its URL and keeps its secret. Throws invalidUrl. */
  setMain(account: string, url: string): Promise<WebhookEndpoint>;
  /** Throws webhookNotFound. */
  main(account: string): Promise<WebhookEndpoint>;
  deleteMain(account: string): Promise<void>;

  /** Resolves with all endpoints, the main one first, then oldest first. */
  list(account: string): Promise<WebhookEndpoint[]>;
  /**
   * Creates an additional endpoint, for videos unless `topics` specifies otherwise. Throws invalidUrl, badParameter,
   * tooManyWebhooks.
   */
  create(
    account: string,
    url: string,
    subscription?: { topics?: readonly WebhookTopic[]; liveInputs?: readonly string[] },
  ): Promise<WebhookEndpoint>;
  /** Throws webhookNotFound, like all methods below. */
  get(account: string, id: string): Promise<WebhookEndpoint>;
  delete(account: string, id: string): Promise<void>;

  /** Newest first. Only the last hundred completed ones are stored. */
  deliveries(account: string, id: string, page: PageRequest): Promise<Page<WebhookDelivery>>;
  /** Sends the same payload again, as a new delivery. Throws deliveryNotFound. */
  replay(account: string, id: string, delivery: string): Promise<WebhookDelivery>;
  /** Sends an example once, and waits for the result. */
  test(account: string, id: string): Promise<WebhookDelivery>;

  /**
   * Notifies every endpoint of the account in the background: resolves once delivery is guaranteed to be attempted. May
   * be called twice for the same video.
   */
  onVideoSettled(video: Video): Promise<void>;
  /** Notifies the endpoints subscribed to a live input. Each `occasion` is sent once. */
  liveEvent(event: {
    account: string;
    input: string;
    type: LiveEventType;
    occasion: string;
    payload: string;
  }): Promise<void>;
  /** Enqueues deliveries whose job was lost in a crash, and fails those that have been waiting too long. */
  recover(): Promise<void>;
  /** Runs the job `stream.webhook`, and `recover` every minute, until closed. */
  start(): void;
  close(): Promise<void>;
}
