import type { Page, PageRequest } from "../../kernel/index.ts";
import type { Video } from "../videos/index.ts";

/** What an endpoint is told of: videos that have ended their processing, live inputs that are connected, disconnected or in error. */
export type WebhookTopic = "videos" | "live";
export type LiveEventType = "live_input.connected" | "live_input.disconnected" | "live_input.errored";

/** Where an account wants to be told of something. Times are epoch milliseconds. */
export interface WebhookEndpoint {
  /** 32 hex digits. */
  id: string;
  account: string;
  url: string;
  /** What deliveries are signed with: 32 hex digits. */
  secret: string;
  /** The one of the hosted service's API; the others are additional. */
  main: boolean;
  /** The main one is told of videos. */
  topics: WebhookTopic[];
  /** Of live, only these inputs; empty: all. */
  liveInputs: string[];
  created: number;
  modified: number;
}

export interface WebhookDelivery {
  id: string;
  endpoint: string;
  /** The uid; of a test none that exists, of live events that of the input. */
  video: string;
  event: "ready" | "error" | "test" | LiveEventType;
  status: "waiting" | "delivered" | "failed";
  /** The first one first. */
  attempts: WebhookAttempt[];
  created: number;
  /** What is sent: the video as it was, or the notification. JSON. */
  payload: string;
}

export interface WebhookAttempt {
  at: number;
  ms: number;
  /** HTTP status; null: there was no answer. */
  status: number | null;
  error: string | null;
  /** The beginning of the answer's body. */
  response: string;
}

export interface Webhooks {
  /** Makes the main endpoint, or sends it elsewhere: its secret stays. Throws invalidUrl. */
  setMain(account: string, url: string): Promise<WebhookEndpoint>;
  /** Throws webhookNotFound. */
  main(account: string): Promise<WebhookEndpoint>;
  deleteMain(account: string): Promise<void>;

  /** All of them, the main one first, then the oldest first. */
  list(account: string): Promise<WebhookEndpoint[]>;
  /** One more, told of videos unless `topics` says otherwise. Throws invalidUrl, badParameter, tooManyWebhooks. */
  create(
    account: string,
    url: string,
    about?: { topics?: readonly WebhookTopic[]; liveInputs?: readonly string[] },
  ): Promise<WebhookEndpoint>;
  /** Throws webhookNotFound, as all that follow. */
  get(account: string, id: string): Promise<WebhookEndpoint>;
  delete(account: string, id: string): Promise<void>;

  /** Newest first. Of those that are over, the last hundred are kept. */
  deliveries(account: string, id: string, page: PageRequest): Promise<Page<WebhookDelivery>>;
  /** Sends the same once more, as a delivery of its own. Throws deliveryNotFound. */
  replay(account: string, id: string, delivery: string): Promise<WebhookDelivery>;
  /** Sends an example while the caller waits, once. */
  test(account: string, id: string): Promise<WebhookDelivery>;

  /** Tells every endpoint of the account, by and by: resolved once it is certain to be tried. May be called twice for one end of a video. */
  settled(video: Video): Promise<void>;
  /** The same of a live input, to those who want to hear of it. Each `occasion` is told once. */
  liveEvent(event: {
    account: string;
    input: string;
    type: LiveEventType;
    occasion: string;
    payload: string;
  }): Promise<void>;
  /** Enqueues deliveries that lost their job in a crash, and fails those that have waited too long. */
  recover(): Promise<void>;
  /** Runs the job `stream.webhook`, and `recover` every minute, until closed. */
  start(): void;
  close(): Promise<void>;
}
