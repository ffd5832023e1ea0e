import { z } from "@hono/zod-openapi";
import {
  activityErrors,
  mailErrors,
  type OutboundService,
  type QueuedMessage,
  type QueuedRecipient,
} from "../../../mail/index.ts";
import { respond, route, type Route } from "../../operation.ts";

interface QueueDeps {
  queue: Pick<OutboundService, "list" | "get" | "resend" | "cancel" | "pausesOf" | "resume">;
  /**
   * Resolves with the operator's account: its members also see mail that belongs to no account, such as verification
   * messages and delivery reports.
   */
  operator(): Promise<string | undefined>;
}

const tag = "Email queue";
const QUEUE_PATH = "/accounts/{account_id}/email/queue";
const QUEUED_MESSAGE_PATH = `${QUEUE_PATH}/{queue_id}`;
const STATES = ["queued", "delivering", "deferred", "delivered", "failed", "expired"] as const;
const time = z.iso.datetime();
const text = z.string().nullable();
const isoOf = (at: Date | undefined) => at?.toISOString() ?? null;

const recipientSchema = z.object({
  to: z.string(),
  state: z.enum(STATES),
  attempts: z.number().int(),
  next_attempt: time.nullable(),
  paused_until: time.nullable(),
  paused_because: text,
  host: text,
  code: z.number().int().nullable(),
  enhanced_code: text,
  response: text,
  finished: time.nullable(),
});
const messageSchema = z.object({
  id: z.string(),
  zone_id: text,
  cause: z.enum(["forward", "reply", "send"]),
  from: z.string(),
  message_id: z.string(),
  worker: text,
  size: z.number().int(),
  can_resend: z.boolean(),
  created: time,
  platform: z.boolean(),
});
const itemSchema = messageSchema.extend(recipientSchema.shape);
const wholeSchema = messageSchema.extend({ finished: time.nullable(), recipients: z.array(recipientSchema) });

const showRecipient = ({
  rcpt,
  state,
  attempts,
  nextTry,
  paused,
  reply,
  host,
  finishedAt,
}: QueuedRecipient): z.input<typeof recipientSchema> => ({
  to: rcpt,
  state,
  attempts,
  next_attempt: isoOf(nextTry),
  paused_until: isoOf(paused?.until),
  paused_because: paused?.why ?? null,
  host: host ?? null,
  code: reply?.code ?? null,
  enhanced_code: reply?.enhanced || null,
  response: reply?.text ?? null,
  finished: isoOf(finishedAt),
});
const showMessage = ({
  id,
  account,
  zone,
  cause,
  from,
  messageId,
  script,
  size,
  hasBody,
  createdAt,
}: QueuedMessage): z.input<typeof messageSchema> => ({
  id,
  zone_id: zone ?? null,
  cause,
  from,
  message_id: messageId,
  worker: script?.slice(script.indexOf("/") + 1) ?? null,
  size,
  can_resend: hasBody,
  created: createdAt.toISOString(),
  platform: account === undefined,
});

/** Outgoing mail: queued and failed messages, their reasons, and actions. Each recipient is a separate entry. */
export function outboundQueueRoutes({ queue, operator }: QueueDeps): Route[] {
  const isOperator = async (account: string) => (await operator()) === account;

  /** Throws outboundNotFound, also if the message belongs to another account. */
  async function findMessage({ account_id, queue_id }: Record<string, string>) {
    const queuedMessage = await queue.get(queue_id!);
    const isVisible =
      queuedMessage !== undefined &&
      (queuedMessage.message.account === account_id ||
        (queuedMessage.message.account === undefined && (await isOperator(account_id!))));
    if (!isVisible) throw mailErrors.outboundNotFound({ id: queue_id });
    return queuedMessage;
  }
  async function respondWithMessage(params: Record<string, string>) {
    const { message, recipients } = await findMessage(params);
    return respond({
      ...showMessage(message),
      finished: isoOf(message.finishedAt),
      recipients: recipients.map(showRecipient),
    });
  }

  return [
    route(
      {
        id: "email-queue-list",
        method: "get",
        path: QUEUE_PATH,
        tag,
        summary: "List queued outbound mail, newest first",
        permission: "Email Sending Read",
        result: z.array(itemSchema),
        query: z.object({
          state: z.enum(STATES).optional(),
          domain: z.string().min(1).max(255).optional(),
          platform: z.enum(["true", "false"]).default("false"),
          cursor: z.string().max(100).optional(),
          per_page: z.coerce
            .number()
            .int()
            .min(1)
            .transform((size) => Math.min(size, 1000))
            .pipe(z.number())
            .default(50),
        }),
      },
      async ({ params: { account_id: account }, query: { state, domain, platform, cursor, per_page: limit } }) => {
        if (cursor !== undefined && cursor !== "" && !/^\d{1,15}-[0-9a-f]{32}$/.test(cursor))
          throw activityErrors.badCursor();
        const isUnowned = platform === "true";
        if (isUnowned && !(await isOperator(account!)))
          return respond([], { info: { count: 0, per_page: limit, next_cursor: null } });
        const { items, next } = await queue.list({
          ...(!isUnowned && { account: account! }),
          ...(state && { state }),
          ...(domain !== undefined && { domain: domain.toLowerCase() }),
          ...(cursor && { after: cursor }),
          limit,
        });
        return respond(
          items.map((queuedRecipient) => ({
            ...showMessage(queuedRecipient.message),
            ...showRecipient(queuedRecipient),
          })),
          {
            info: {
              count: items.length,
              per_page: limit,
              ...(next !== undefined && { cursor: next }),
              next_cursor: next ?? null,
            },
          },
        );
      },
    ),
    route(
      {
        id: "email-queue-list-pauses",
        method: "get",
        path: `${QUEUE_PATH}/pauses`,
        tag,
        summary: "List paused destinations with queued mail of the account",
        permission: "Email Sending Read",
        result: z.array(z.object({ destination: z.string(), until: time, reason: z.string() })),
      },
      async ({ params }) =>
        respond(
          (await queue.pausesOf(params.account_id!)).map(({ destination, until, why }) => ({
            destination,
            until: until.toISOString(),
            reason: why,
          })),
        ),
    ),
    route(
      {
        id: "email-queue-resume",
        method: "post",
        path: `${QUEUE_PATH}/pauses/resume`,
        tag,
        summary: "Resume a paused destination with queued mail of the account; its mail is retried immediately",
        permission: "Email Sending Write",
        body: z.object({ destination: z.string().min(1).max(255) }),
        result: z.object({ destination: z.string() }),
      },
      async ({ params, body: { destination } }) => {
        const pauses = await queue.pausesOf(params.account_id!);
        if (!pauses.some((pause) => pause.destination === destination)) throw mailErrors.notPaused({ destination });
        queue.resume([destination]);
        return respond({ destination });
      },
    ),
    route(
      {
        id: "email-queue-get",
        method: "get",
        path: QUEUED_MESSAGE_PATH,
        tag,
        summary: "Get a queued message, with the reply of each next hop",
        permission: "Email Sending Read",
        result: wholeSchema,
      },
      async ({ params }) => respondWithMessage(params),
    ),
    route(
      {
        id: "email-queue-resend",
        method: "post",
        path: `${QUEUED_MESSAGE_PATH}/resend`,
        tag,
        summary: "Retry all undelivered recipients immediately and resume their paused destinations",
        permission: "Email Sending Write",
        result: wholeSchema,
      },
      async ({ params }) => {
        await findMessage(params);
        await queue.resend(params.queue_id!);
        return respondWithMessage(params);
      },
    ),
    route(
      {
        id: "email-queue-cancel",
        method: "post",
        path: `${QUEUED_MESSAGE_PATH}/cancel`,
        tag,
        summary: "Cancel the pending deliveries of a message; attempts in progress continue",
        permission: "Email Sending Write",
        result: wholeSchema,
      },
      async ({ params }) => {
        await findMessage(params);
        await queue.cancel(params.queue_id!);
        return respondWithMessage(params);
      },
    ),
  ];
}
