import { z } from "@hono/zod-openapi";

const rate = z.number().min(0).max(1).nullish();
const destinations = z.array(z.string()).optional();

/** `observability` in a request; clients may omit fields that a response must have. */
export const observability = z.looseObject({
  enabled: z.boolean().optional(),
  head_sampling_rate: rate,
  logs: z
    .looseObject({
      enabled: z.boolean().optional(),
      head_sampling_rate: rate,
      invocation_logs: z.boolean().optional(),
      persist: z.boolean().optional(),
      destinations,
    })
    .nullish(),
  traces: z
    .looseObject({
      enabled: z.boolean().optional(),
      head_sampling_rate: rate,
      persist: z.boolean().optional(),
      destinations,
    })
    .nullish(),
});

export const placement = z.looseObject({
  mode: z.enum(["smart", "targeted", "off"]).optional(),
  region: z.string().optional(),
  hostname: z.string().optional(),
  host: z.string().optional(),
});

type Loose = Record<string, unknown>;
const isObject = (value: unknown): value is Loose => typeof value === "object" && value !== null;
const withoutNulls = (value: Loose): Loose =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));

/** `observability` in a response, with all required fields. */
export function shownObservability(sentSettings: Loose | null): Loose {
  if (sentSettings === null) return { enabled: false };
  const { logs, traces, ...rest } = withoutNulls(sentSettings);
  return {
    enabled: false,
    ...rest,
    ...(isObject(logs) && { logs: { enabled: rest.enabled ?? false, invocation_logs: true, ...withoutNulls(logs) } }),
    ...(isObject(traces) && { traces: withoutNulls(traces) }),
  };
}

/** Returns the placement as shown by the API; empty for the default placement. */
export function shownPlacement(sentSettings: Loose | null): {
  placement?: Loose;
  placement_mode?: "smart" | "targeted";
} {
  if (sentSettings === null || sentSettings.mode === "off") return {};
  return {
    placement: sentSettings,
    ...((sentSettings.mode === "smart" || sentSettings.mode === "targeted") && { placement_mode: sentSettings.mode }),
  };
}
