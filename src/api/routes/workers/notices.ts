import { type Script, type Version, type WorkerRouting } from "../../../workers/index.ts";
import { NEWEST_COMPATIBILITY_DATE } from "../../../workers/project/index.ts";

interface Notice {
  code: number;
  message: string;
}

const CODES = { newerDate: 100_301, noEffect: 100_302, undefinedBinding: 100_303, inactiveRoutes: 100_304 } as const;

/** `messages` of a successful upload: accepted parts that have no effect on this server. */
export const uploadNotices = (
  version: Pick<Version, "compatibilityDate" | "bindings">,
  { script, offersAi }: { script?: Pick<Script, "logpush" | "placement" | "observability">; offersAi: boolean },
): Notice[] => [
  ...(version.compatibilityDate > NEWEST_COMPATIBILITY_DATE
    ? [
        {
          code: CODES.newerDate,
          message: `The runtime of this server supports compatibility dates up to ${NEWEST_COMPATIBILITY_DATE}: the Worker runs with that date instead of ${version.compatibilityDate}.`,
        },
      ]
    : []),
  ...(script?.logpush === true ? [noEffect("logpush", "Use `wrangler tail` or the log of the server.")] : []),
  ...(script?.placement != null ? [noEffect("placement", "Workers run on this server.")] : []),
  ...(script?.observability?.["enabled"] === true
    ? [noEffect("observability", "Use `wrangler tail` or the log of the server.")]
    : []),
  ...version.bindings
    .filter(({ type }) => type === "ai" && !offersAi)
    .map(({ name }) => ({
      code: CODES.undefinedBinding,
      message: `env.${name} is undefined because no AI server is configured. Set \`workers.ai_url\` to the URL of an OpenAI-compatible server.`,
    })),
];

/** `messages` of a successful change of routes or custom domains. */
export const routingNotices = ({ isActive }: Pick<WorkerRouting, "isActive">): Notice[] =>
  isActive
    ? []
    : [
        {
          code: CODES.inactiveRoutes,
          message:
            "Routes and custom domains are stored, but requests do not reach the Worker through them, because the host name of the API is not configured. Set `http.public_url` or `api.hosts` on the server.",
        },
      ];

const noEffect = (field: string, instead: string): Notice => ({
  code: CODES.noEffect,
  message: `\`${field}\` is stored, but has no effect on this server. ${instead}`,
});
